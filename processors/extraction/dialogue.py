"""What takes two to say: an answer, a completion, a correction of what was said before.

An answer in a word is put into a first-person sentence and read like any other.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from models.statements import SELF
from models.windows import WindowMessage
from processors.extraction.clauses import read
from processors.extraction.drafts import CORRECTED, Draft
from processors.extraction.english import anycase
from processors.extraction.interpreting import interpret
from processors.extraction.values import clean

# fmt: off
_FORMS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (
        re.compile(
            rf"(?:.*[.,!;] )?(?:(?:and|so|oh|by the way|btw|well|just curious),? )*{question}\?\W*$",
            re.IGNORECASE | re.DOTALL,
        ),
        said,
    )
    for question, said in (
        (r"where (?:do you live|are you (?:based|living)|is home)(?: (?:now|these days|currently))?", "I live in {a}"),
        (r"where (?:are you|do you come) from(?: originally)?", "I'm from {a}"),
        (r"where do you work", "I work at {a}"),
        (r"what(?:'s| is) your name|(?:what|how) (?:should|can|may) i call you|who am i (?:speaking|talking) (?:to|with)", "My name is {a}"),
        (r"how old are you|what(?:'s| is) your age", "I'm {a} years old"),
        (r"what do you do(?: for (?:a living|work))?|what(?:'s| is) your (?:job|profession|occupation)", "I work as {a}"),
        (r"what are you allergic to|(?:do you have )?any (?:food )?allergies|do you have any (?:food )?allergies", "I'm allergic to {a}"),
        (r"what(?:'s| is| are) your (?P<x>fav[\w]+ [\w -]{2,30}|birthday)", "My {x} is {a}"),
        (r"(?:what|which)(?: (?:kinds?|types?|sorts?) of)? (?P<x>[\w -]{2,30}) do you (?:like|prefer|enjoy|love)(?: (?:best|most|the most))?", "My favourite {x} is {a}"),
    )
)
# fmt: on
_ANNOUNCED = anycase(
    r"(?:(?:do )?you (?:wanna |want to )?know|guess) what (?P<c>i (?:really )?(?:like|love|hate|prefer|enjoy)|my favou?rite [\w ]{2,20} is)\W*$"
)
_HANDED_BACK = anycase(
    r"(?:\w+[,.!]* ){0,3}(?:what|who|where|which(?: one)?|tell me|do tell|go on)(?: is it)?[?!. ]*$"
)
_FILLER = anycase(
    r"(?:(?:well|oh|um+|uh|hm+|so|i think|i guess|i'd say|it's|it is|that would be|just|mainly|mostly|in|at|on|from|as|"
    r"definitely|probably|currently|right now|yes|yeah)\b,? )+"
)
_NO_ANSWER = anycase(
    r"(?:yes|yeah|no|nope|none|nothing|ok(?:ay)?|sure|thanks?|what|why|how|who|when|where|i|i'm|i've|my|we|you|it|that|this|they|idk|not|"
    r"depends|dunno|maybe|guess|secret|lol|haha|can|could|would|will|do|does|is|are|let|let's|please|never|"
    r"same|both|neither|either|any|anything|hello|hi|hey|bye|good|great|fine|wow|cool|nice|sorry|hmm+|nowhere|everywhere|everything|don't|too|skip|pass|none)\b"
)
_LONGEST_ANSWER = 6
_COMPLETES = anycase(
    r"(?:and |but |well,? )?(?!.*\b(?:i|you|he|she|we|it|that|this|they|please)\b)"
    r"(?P<rest>(?:especially|particularly|preferably|except|but only|but not)\b [^?]{2,60}?)\W*$"
)
_PRAISE = anycase(
    r"(?:(?:oh|ah|wow|haha|yum|mm+)[,!.]* )*(?:that'?s |sounds |how |so |very |really )*"
    r"(?:great|good|nice|cool|awesome|lovely|delicious|tasty|amazing|wonderful|fantastic|perfect|yum(?:my)?|sweet|healthy)\b"
)


@dataclass(slots=True)
class Found:
    """A draft, the messages that it rests on, and its words."""

    draft: Draft
    messages: list[WindowMessage]
    quote: str


def answered(
    message: WindowMessage, asking: WindowMessage, own: WindowMessage | None, first: str
) -> list[Found]:
    """What the first sentence of ``message`` states as an answer; ``own``: what the person said before it was asked."""
    question, announced = (each.content.strip().replace("’", "'") if each else "" for each in (asking, own))
    core = _bare(first)
    if core.lower() in question:
        core = core.lower()  # "Sweet" is no name where "sweet or savoury" was asked
    hint = _ANNOUNCED.search(announced) if _HANDED_BACK.match(question) else None
    sentence = f"{hint['c']} {core}" if hint else ""
    for pattern, says in _FORMS if not hint else ():
        if (asked := pattern.match(question[-_LONGEST_QUOTED:])) is not None:
            sentence = says.format(**{"x": "", **asked.groupdict()}, a=core)
            break
    if not core or not sentence or (clause := read(sentence)) is None:
        return []
    used = [own, asking, message] if hint and own else [asking, message]
    quote = "\n".join(
        each.content.strip() for each in used if len(each.content) <= _LONGEST_QUOTED or each is message
    )
    return [Found(draft, used, quote) for draft in interpret(clause, message.sent_at, sentence)]


def _bare(reply: str) -> str:
    """The answer in a short reply ("Berlin, I think!" gives "Berlin"); ``""`` if there is none."""
    core = re.split(r"[,.!;](?:\s|$)", reply.strip(), maxsplit=1)[0]
    filler = _FILLER.match(core)
    core = (core[filler.end() :] if filler else core).strip(" .!\"'")
    if "?" in reply or len(core.split()) > _LONGEST_ANSWER or _NO_ANSWER.match(core):
        return ""
    return core


#: A longer message is not quoted as the question that was answered.
_LONGEST_QUOTED = 300


def completed(
    text: str,
    mine: Found | None,
    message: WindowMessage,
    asking: WindowMessage | None,
    own: WindowMessage | None,
    quote: str,
) -> Found | None:
    """What was said before with what ``text`` adds to it ("especially in smoothies"), if it was something liked."""
    if (added := _COMPLETES.match(text)) is None:
        return None
    # The question is out of sight; nobody goes on with "especially" about what is praised, unless he likes it.
    if mine is None and own and asking and _PRAISE.match(asking.content) and (core := _bare(own.content)):
        mine = Found(Draft("like", core, f"Likes {core}", 0.55), [own], own.content.strip())
    if mine is None or mine.draft.attribute != "like" or message.index - mine.messages[-1].index > 2:
        return None
    old, rest = mine.draft, added["rest"][0].lower() + added["rest"][1:]
    draft = replace(old, value=f"{old.value}, {rest}", sentence=f"{old.sentence}, {rest}", completes=old.value)
    between = [asking] if asking is not None else []
    used = mine.messages if mine.messages[-1] is message else [*mine.messages, *between, message]
    return Found(draft, used, f"{mine.quote}\n{quote}")


_CORRECTION = anycase(
    r"(?:(?:oh|ah|no|oops),? )*(?:sorry|no wait|wait,? no|wait|actually,? no|no,? actually|correction|scratch that|i meant?|make that|my mistake)[,:.!]* "
    r"(?:i meant? |it's |it is |to say |in )*(?P<v>(?!(?:i|my|we|no|yes|not|about|for|to|but|the)\b)[\w'-]+(?: [\w'-]+){0,3})\W*$"
)


#: "I live in Berlin, sorry, Munich": the same within a sentence.
INLINE = anycase(
    r"(?:,|\s-+|\.{2,}|—)?\s+(?=(?:oh )?(?:sorry|no wait|no,? i mean|i mean|actually no|correction|scratch that)[, —-]+"
    r"(?:i mean |in |it's )?[\w'-]+(?: [\w'-]+){0,2}\W*$)"
)


def corrected(text: str, mine: Found | None, message: WindowMessage, quote: str) -> Found | None:
    """ "Sorry, Munich": the statement before with another value."""
    match = _CORRECTION.match(text)
    if match is None or mine is None or message.index - mine.messages[-1].index > 2:
        return None
    value, old = clean(match["v"], words=4), mine.draft
    if (
        not value
        or not old.value
        or old.value not in old.sentence
        or (old.subject != SELF and old.attribute == "name")
    ):
        return None
    sentence = old.sentence.replace(old.value, value)
    draft = replace(old, value=value, sentence=sentence, assertion=CORRECTED, completes="")
    earlier = [each for each in mine.messages if each is not message]
    return Found(draft, [*earlier, message], quote if quote == mine.quote else f"{mine.quote}\n{quote}")
