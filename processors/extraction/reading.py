"""From a window to its statements: the built-in extractor's whole work, pure.

Only what a person says about himself in English is read; what the assistant says is never a statement, but its
question tells what a short answer means.
"""

from __future__ import annotations

import re
from dataclasses import replace

from models.messages import Role
from models.statements import Assertion, Polarity, Statement
from models.windows import Window, WindowMessage
from processors.extraction import predicates
from processors.extraction.answers import completion
from processors.extraction.assistant import to_assistant
from processors.extraction.dialogue import Found, answered, completed, corrected
from processors.extraction.drafts import Draft, say
from processors.extraction.english import is_english
from processors.extraction.interpreting import interpret
from processors.extraction.owning import favourite_of
from processors.extraction.parsing import KIDDING, Part, mask_quotes, parts, read, without_opener
from processors.extraction.requests import asked_for
from processors.extraction.tastes import taste_of, topic_of
from processors.extraction.values import clean
from processors.text.sentences import sentence_spans

#: Sentences of one message that are read: what is longer was pasted.
_MOST_SENTENCES = 60


def read_window(window: Window) -> list[Statement]:
    """Return what the people of a window say about themselves, in its order; the same thing once."""
    found: list[Found] = []
    context: dict[str, str] = {}
    for at, message in enumerate(window.messages):
        if message.role is not Role.USER:
            continue
        before = window.messages[at - 1] if at else None
        own = next(
            (
                each
                for each in reversed(window.messages[: max(0, at - 1)])
                if each.user_id == message.user_id and each.role is Role.USER
            ),
            None,
        )
        found.extend(_message(message, before, own, found, context))
    kept: dict[tuple[str, ...], Found] = {}
    for each in found:
        draft = each.draft
        key = (
            each.messages[-1].user_id,
            draft.subject,
            draft.attribute,
            draft.value.lower(),
            draft.polarity,
            draft.assertion,
        )
        if key not in kept:
            kept[key] = each
        else:
            _join(kept[key], each)
    return [_statement(each) for each in kept.values()]


def _join(first: Found, again: Found) -> None:
    if again.draft.confidence > first.draft.confidence:
        first.draft = again.draft
        first.quote = again.quote
    first.messages = sorted(
        {each.index: each for each in (*first.messages, *again.messages)}.values(), key=lambda each: each.index
    )


def _statement(found: Found) -> Statement:
    draft = found.draft
    return Statement(
        user_id=found.messages[-1].user_id,
        kind=draft.kind,
        statement=draft.sentence,
        confidence=round(draft.confidence, 3),
        source_message_ids=tuple(each.message_id for each in found.messages),
        quote=found.quote,
        subject=draft.subject,
        attribute=draft.attribute,
        value=draft.value,
        polarity=draft.polarity,
        assertion=draft.assertion,
        event_at=draft.date.at if draft.date is not None else None,
        event_precision=draft.date.precision if draft.date is not None else None,
        completes=draft.completes,
    )


def _message(
    message: WindowMessage,
    before: WindowMessage | None,
    own: WindowMessage | None,
    found: list[Found],
    context: dict[str, str],
) -> list[Found]:
    masked = mask_quotes(message.content).replace("’", "'")
    asking = before if before is not None and before.role is Role.ASSISTANT else None
    spans = sentence_spans(masked)[:_MOST_SENTENCES]
    if not spans or not is_english(masked):
        return []
    new: list[Found] = []
    first = masked[spans[0][0] : spans[0][1]]
    if asking is not None and (replies := answered(message, asking, own, first, context)):
        new.extend(replies)
        spans = spans[1:]
    for start, end in spans:
        text, quote = " ".join(masked[start:end].split()), message.content[start:end]
        if KIDDING.fullmatch(text):
            new = [each for each in new if each.messages != [message]]
            continue
        said = found + new
        mine = next((each for each in reversed(said) if each.messages[-1].user_id == message.user_id), None)
        if (rest := completion(text)) and (
            longer := completed(rest, mine, message, asking, own, quote)
        ) is not None:
            if mine is not None and longer.draft.completes == mine.draft.value and mine in new:
                new.remove(mine)
            new.append(longer)
            continue
        if (other := corrected(text, mine, message, quote)) is not None:
            if mine in new:
                new.remove(mine)
            new.append(other)
            continue
        drafts = _sentence(text, message, context, after_answer=asking is not None and start == spans[0][0])
        for draft in drafts:
            if draft.assertion is Assertion.CORRECTED:
                new = [
                    each
                    for each in new
                    if (each.draft.subject, each.draft.attribute) != (draft.subject, draft.attribute)
                ]
            new.append(Found(draft, [message], quote))
            if (taste := _of_taste(draft)) is not None:
                new.append(Found(taste, [message], quote))
    return new


def _of_taste(draft: Draft) -> Draft | None:
    """What ends a liking ends the preference of that kind too: "I'm over Italian food"."""
    if draft.attribute != "like" or (
        draft.assertion is not Assertion.ENDED and draft.polarity is not Polarity.NEGATED
    ):
        return None
    taste = taste_of(draft.value)
    return (
        replace(draft, attribute=f"favourite/{taste.topic}", value=taste.value)
        if taste is not None and taste.topic
        else None
    )


# --- one sentence ----------------------------------------------------------------------------------------

#: Relative clauses that say no more than a preposition does.
_HAVING = re.compile(
    r" (?:that|which) (?:has|have|offers?|serves?|includes?|accepts?) (?!been|to\b)", re.IGNORECASE
)
_ABOUT = re.compile(
    r" (?:that|which) (?:focus(?:es)? on|covers?|talks? about|(?:is|are) about|discuss(?:es)?) ", re.IGNORECASE
)
_MAY_STATE = re.compile(r"\b(?:i|i'[a-z]+|we|we'[a-z]+|my|our|me|im)\b", re.IGNORECASE)
_MINE = re.compile(
    r"(?!(?:it|that|this|these|those|he|she|they|there|here|what|who|which|one|so|and|but|to|if|when|is|are)\b)"
    r"(?P<v>[\w'& -]{2,50}?)(?:'s| is| are|,? that's) (?:still |definitely |always |actually )?my (?P<x>(?:all-time |absolute )?"
    r"(?:fav(?:ou?rite|e)?s?|go-to|preferred|usual)(?: [\w-]+){0,3})\W*$",
    re.IGNORECASE,
)
_THAT_ONE = re.compile(
    r"(?P<v>[\w'&. -]{2,40}?)(?:,| -|;)? (?:that's|it's|is) (?:the (?:one|place|only one)|what|where|who|how) i (?:always|usually|normally|prefer|like|love)\b",
    re.IGNORECASE,
)
_FOR_ME = re.compile(
    r"(?!(?:it|that|this|these|those|what|which|he|she|they|there|and|but|so)\b)(?P<v>[\w'& -]{2,40}?) (?:works? best|(?:is|are) (?:(?:very|really|so|always|just|more) )*(?:important|essential|crucial|best|perfect|a must|key|ideal|better)) (?:for|to) me\b",
    re.IGNORECASE,
)
_NO_MATTER = re.compile(
    r"(?:and |but )*(?P<v>(?:the )?[\w-]+(?: [\w-]+){0,2}?)(?: (?:really|just))? (?:(?:doesn't|does not|don't|do not) (?:really )?matter|(?:is|are) (?:irrelevant|no object|not (?:important|an issue)))\b",
    re.IGNORECASE,
)
_NOT_FOR_ME = re.compile(
    r"(?:remember,? |but |and )*no (?P<v>[\w-]+(?: (?:or|and) [\w-]+)?) for me\b", re.IGNORECASE
)
_ELIDED = re.compile(
    r"(?:(?:always|never|really|just|absolutely|definitely|also|still) )*(?P<v>(?:(?:love|hate|adore|dislike|enjoy|can't stand|don't (?:like|eat|drink))(?! (?:the|that|this|your|all|how|it|these|those|seeing|hearing)\b)|allergic to|not a fan of|(?:big |huge )?fan of)\b .*)",
    re.IGNORECASE,
)


_INLINE = re.compile(
    r"(?P<a>.+?)(?:,|\s-+|\.{2,}|—)?\s+(?:oh )?(?:sorry|no wait|no,? i mean|i mean|actually no|correction|scratch that)[, —-]+(?:i mean |in |it's )?(?P<v>[\w'-]+(?: [\w'-]+){0,2})\W*$",
    re.IGNORECASE,
)


def _sentence(text: str, message: WindowMessage, context: dict[str, str], *, after_answer: bool) -> list[Draft]:
    text = _ABOUT.sub(" about ", _HAVING.sub(" with ", text))
    pieces = list(parts(text))
    if not pieces:
        return []
    if (
        told := to_assistant(
            text if len(pieces) > 1 or not pieces[0].asked else pieces[0].text, after_answer=after_answer
        )
    ) is not None:
        polarity = Polarity.NEGATED if told.denied else Polarity.AFFIRMED
        return [Draft(told.attribute, told.value, told.sentence, predicates.LIKED, polarity=polarity)]
    if (inline := _INLINE.match(text)) is not None and (value := clean(inline["v"], words=3)):
        first = _sentence(inline["a"], message, context, after_answer=False)
        return [
            replace(
                each,
                value=value,
                sentence=each.sentence.replace(each.value, value),
                assertion=Assertion.CORRECTED,
            )
            for each in first[-1:]
        ]
    drafts: list[Draft] = []
    if (
        (one := _THAT_ONE.match(without_opener(text))) is not None
        and (value := clean(one["v"], words=4))
        and value[0].isupper()
    ):
        drafts.append(Draft("like", value, f"Prefers {value}", predicates.LIKED))
    for piece in pieces:
        drafts.extend(_piece(piece, text, message, context))
        context[message.user_id] = topic_of(piece.text) or context.get(message.user_id, "")
    return drafts


def _piece(piece: Part, sentence: str, message: WindowMessage, context: dict[str, str]) -> list[Draft]:
    text = piece.text
    if not piece.asked and _MAY_STATE.search(text):
        if (mine := _MINE.match(without_opener(text))) is not None and (value := clean(mine["v"], words=6)):
            topic = re.sub(
                r"^(?:all-time |absolute )?(?:fav\w+|go-to|preferred|usual) ?", "", mine["x"].lower()
            )
            return [favourite_of(topic, value)]
        clause = read(text, joint=piece.joint)
        if clause is not None and (found := interpret(clause, message.sent_at, text)):
            return found
    if (
        not piece.asked
        and (suits := _FOR_ME.match(without_opener(text))) is not None
        and (value := clean(suits["v"], words=5))
    ):
        return [Draft("like", value, f"Likes {value}", predicates.LIKED)]
    if (
        not piece.asked
        and (any_ := _NO_MATTER.match(without_opener(text))) is not None
        and (value := clean(any_["v"], words=3))
    ):
        return [Draft("", value, f"Does not care about {value}", predicates.LIKED, polarity=Polarity.NEGATED)]
    if not piece.asked and (unwanted := _NOT_FOR_ME.match(text)) is not None:
        return [Draft("constraint", unwanted["v"], f"Avoids {unwanted['v']}", predicates.LIKED)]
    if (
        not piece.asked
        and not _MAY_STATE.search(text)
        and (short := _ELIDED.match(without_opener(text))) is not None
    ):
        words = short["v"]
        subject = "I'm" if words.split(" ", 1)[0].lower() in ("allergic", "not", "big", "huge", "fan") else "I"
        clause = read(
            f"{subject} {'a ' if 'fan of' in words.lower() and not words.lower().startswith('not a') else ''}{words}"
        )
        if clause is not None and (found := interpret(clause, message.sent_at, text)):
            return found
    asked = asked_for(
        without_opener(text) or text,
        context.get(message.user_id, ""),
        reply=text == sentence
        and not piece.asked
        and len(message.content.split()) <= 6
        and "!" not in message.content,
    )
    if asked is None:
        return []
    polarity = Polarity.NEGATED if asked.denied else Polarity.AFFIRMED
    ended = (
        asked.denied and re.search(r"\bany ?more\b|\bno longer\b|\bno more\b", text, re.IGNORECASE) is not None
    )
    attribute = f"favourite/{asked.what.topic}" if asked.what.topic else "like"
    confidence = predicates.LIKED if asked.lasting else predicates.ASKED
    return [
        Draft(
            attribute,
            asked.what.value,
            say(f"{asked.says} {asked.what.phrase}"),
            confidence,
            polarity=polarity,
            assertion=Assertion.ENDED if ended else Assertion.HOLDS,
        )
    ]
