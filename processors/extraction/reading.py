"""From a window to its statements: the built-in extractor's whole work, pure.

Only what a person says about himself in English is read; what the assistant says is never a statement, but its
question tells what a short answer means.
"""

from __future__ import annotations

import re
from dataclasses import replace

from models.messages import Role
from models.statements import Assertion, Kind, Polarity, Statement
from models.windows import Window, WindowMessage
from processors.extraction.assistant import to_assistant
from processors.extraction.clauses import read
from processors.extraction.dialogue import INLINE, Found, answered, completed, corrected
from processors.extraction.drafts import Draft
from processors.extraction.english import is_english
from processors.extraction.favourites import named
from processors.extraction.interpreting import interpret
from processors.extraction.parts import KIDDING, Part, mask_quotes, parts, without_opener
from processors.extraction.requests import asked_for
from processors.extraction.tastes import first_topic, topic_of
from processors.extraction.wordings import plainer, presupposed, turned
from processors.text.sentences import sentence_spans

#: Sentences of one message that are read: what is longer was pasted.
_MOST_SENTENCES = 60
#: How many words back "that's my favourite" may point.
_REMEMBERED_WORDS = 40
#: The end of an answer that may ask, in characters, and the words of a reply that is about what it asks.
_LONGEST_QUESTION, _LONGEST_REPLY = 200, 15
#: Words of a message that may be no more than what is wanted.
_LONGEST_WISH = 6


def read_window(window: Window) -> list[Statement]:
    """Return what the people of a window say about themselves, in its order; the same thing once a message."""
    found: list[Found] = []
    context: dict[str, str] = {}
    for at, message in enumerate(window.messages):
        if message.role is not Role.USER:
            continue
        before = window.messages[at - 1] if at else None
        earlier = reversed(window.messages[: max(0, at - 1)])
        own = next(
            (each for each in earlier if (each.user_id, each.role) == (message.user_id, Role.USER)), None
        )
        new = _message(message, before, own, found, context)
        after = next(iter(window.messages[at + 1 : at + 2]), None)
        if after is not None and after.role is Role.ASSISTANT:
            for each in new:
                each.draft = _as_answered(each.draft, after.content)
        found.extend(new)
    kept: dict[tuple[str, ...], Found] = {}
    for each in found:
        draft, said_in = each.draft, each.messages[-1].message_id
        says = said_in, draft.subject, draft.attribute, draft.value.lower(), draft.polarity, draft.assertion
        kept[says] = max(kept.get(says, each), each, key=_weight)
    # What a message turns down comes before what it puts there: the one ended, whatever took its place.
    ordered = sorted(kept.values(), key=lambda each: (each.messages[-1].index, not _turns_down(each.draft)))
    return [_statement(each) for each in ordered]


def _turns_down(draft: Draft) -> bool:
    return draft.polarity is Polarity.NEGATED or draft.assertion is Assertion.ENDED


def _weight(found: Found) -> tuple[float, bool]:
    return found.draft.confidence, found.draft.date is not None


def _statement(found: Found) -> Statement:
    draft, is_event = found.draft, found.draft.kind is Kind.EVENT
    at, precision = (draft.date.at, draft.date.precision) if draft.date is not None else (None, None)
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
        event_at=at if is_event else None,
        event_precision=precision if is_event else None,
        since=None if is_event else at,
        since_precision=None if is_event else precision,
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
    is_reply = asking is not None and len(masked.split()) <= _LONGEST_REPLY
    if asking is not None and is_reply and "?" in (question := asking.content[-_LONGEST_QUESTION:]):
        context[message.user_id] = topic_of(question, context.get(message.user_id, ""))
    spans = sentence_spans(masked)[:_MOST_SENTENCES]
    if not spans or not is_english(masked):
        return []
    new: list[Found] = []
    first = masked[spans[0][0] : spans[0][1]]
    if asking is not None and (replies := answered(message, asking, own, first)):
        new.extend(replies)
        spans = spans[1:]
    for start, end in spans:
        text, quote = " ".join(masked[start:end].split()), message.content[start:end]
        if KIDDING.fullmatch(text):
            new = [each for each in new if each.messages != [message]]
            continue
        mine = _last_of(message.user_id, found + new)
        longer = completed(text, mine, message, asking, own, quote)
        if (other := longer or corrected(text, mine, message, quote)) is not None:
            new = [*(each for each in new if each is not mine), other]
            continue
        inline = INLINE.search(text)
        said_before = " ".join(masked[:start].split()[-_REMEMBERED_WORDS:])
        after_answer = asking is not None and start == spans[0][0]
        sentence = text[: inline.start()] if inline else text
        drafts = _sentence(sentence, message, context, before=said_before, after_answer=after_answer)
        for draft in drafts:
            if draft.assertion is Assertion.CORRECTED:
                slot = draft.subject, draft.attribute
                new = [each for each in new if (each.draft.subject, each.draft.attribute) != slot]
            new.append(Found(draft, [message], quote))
        if (
            inline
            and drafts
            and (other := corrected(text[inline.end() :], new[-1], message, quote)) is not None
        ):
            new[-1] = other
    return new


def _last_of(person: str, found: list[Found]) -> Found | None:
    return next((each for each in reversed(found) if each.messages[-1].user_id == person), None)


# --- one sentence ----------------------------------------------------------------------------------------


def _sentence(
    text: str, message: WindowMessage, context: dict[str, str], *, before: str = "", after_answer: bool
) -> list[Draft]:
    text = turned(plainer(text), before)
    pieces = list(parts(text))
    if not pieces:
        return []
    command = text if len(pieces) > 1 or not pieces[0].asked else pieces[0].text
    told = to_assistant(command, after_answer=after_answer)
    if told is not None:
        return [told]
    drafts: list[Draft] = []
    for piece in pieces:
        drafts.extend(_piece(piece, text, message, context))
        context[message.user_id] = topic_of(piece.text, context.get(message.user_id, ""))
    if (by_name := named(text, before, context[message.user_id])) is not None:
        name = by_name.value.lower()
        drafts = [each for each in drafts if each.value.lower() not in name and name not in each.value.lower()]
        drafts.append(by_name)
    return drafts


def _piece(piece: Part, sentence: str, message: WindowMessage, context: dict[str, str]) -> list[Draft]:
    text = piece.text
    for told in ("" if piece.asked else text, presupposed(text)):
        clause = read(told, joint=piece.joint)
        if clause is not None and (found := interpret(clause, message.sent_at, text)):
            return [_in_context(each, context.get(message.user_id, "")) for each in found]
    alone = text == sentence and not piece.asked and "!" not in message.content
    alone = alone and len(message.content.split()) <= _LONGEST_WISH
    asked = asked_for(without_opener(text) or text, context.get(message.user_id, ""), alone=alone)
    return [asked] if asked is not None else []


def _in_context(draft: Draft, topic: str) -> Draft:
    """ "I prefer Nordwind" is of what was spoken of, where a name is preferred."""
    is_name = draft.sentence.startswith("Prefers ") and _NAME.fullmatch(draft.value) is not None
    is_of_it = topic and draft.attribute == "like" and is_name
    return replace(draft, attribute=f"favourite/{topic}") if is_of_it else draft


_SENTENCE_END = re.compile(r"[.!?](?:\s|$)")
#: What a name that nothing was said of is taken for, and what it may be instead.
_MAY_BE = {
    "music": {"news", "podcast", "radio station", "streaming"},
    "radio station": {"news", "podcast"},
    "news": {"podcast"},
    "station": {"charging"},
    "shop": {"charging", "restaurant"},
}


def _as_answered(draft: Draft, answer: str) -> Draft:
    """ "Find Voltway" asks for a charging station where "the nearest Voltway charger" is the answer."""
    may_be = _MAY_BE.get(draft.attribute.partition("/")[2])
    _, _, behind = answer.partition(draft.value) if may_be and _NAME.fullmatch(draft.value) else ("", "", "")
    of = first_topic(_SENTENCE_END.split(behind, maxsplit=1)[0])
    return replace(draft, attribute=f"favourite/{of}") if may_be and of in may_be else draft


#: No day is one.
_NAME = re.compile(
    r"(?!(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)days?\b)[A-Z][\w&'-]*(?: (?:[A-Z][\w&'-]*|\d+(?:\.\d+)?))*"
)
