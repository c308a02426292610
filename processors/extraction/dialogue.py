"""What takes two to say: an answer, a completion, a correction of what was said before.

An answer in a word is put into a first-person sentence and read like any other.
"""

from __future__ import annotations

import re
from dataclasses import replace

from models.statements import SELF
from models.windows import WindowMessage
from processors.extraction.clauses import read
from processors.extraction.drafts import Draft
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
_ANNOUNCED = re.compile(
    r"(?:(?:do )?you (?:wanna |want to )?know|guess) what (?P<c>i (?:really )?(?:like|love|hate|prefer|enjoy)|my favou?rite [\w ]{2,20} is)\W*$",
    re.IGNORECASE,
)
_HANDED_BACK = re.compile(
    r"(?:\w+[,.!]* ){0,3}(?:what|who|where|which(?: one)?|tell me|do tell|go on)(?: is it)?[?!. ]*$",
    re.IGNORECASE,
)
_FILLER = re.compile(
    r"(?:(?:well|oh|um+|uh|hm+|so|i think|i guess|i'd say|it's|it is|that would be|just|mainly|mostly|in|at|on|from|as|"
    r"definitely|probably|currently|right now|yes|yeah)\b,? )+",
    re.IGNORECASE,
)
_NO_ANSWER = re.compile(
    r"(?:yes|yeah|no|nope|none|nothing|ok(?:ay)?|sure|thanks?|what|why|how|who|when|where|i|i'm|i've|my|we|you|it|that|this|they|idk|not|"
    r"depends|dunno|maybe|guess|secret|lol|haha|can|could|would|will|do|does|is|are|let|let's|please|never|"
    r"same|both|neither|either|any|anything|hello|hi|hey|bye|good|great|fine|wow|cool|nice|sorry|hmm+|nowhere|everywhere|everything|don't|too|skip|pass|none)\b",
    re.IGNORECASE,
)
_LONGEST_ANSWER = 6
_COMPLETES = re.compile(
    r"(?:and |but |well,? )?(?P<rest>(?:especially|particularly|preferably|except|but only|but not)\b [^?]{2,60}?)\W*$",
    re.IGNORECASE,
)
_PRAISE = re.compile(
    r"(?:(?:oh|ah|wow|haha|yum|mm+)[,!.]* )*(?:that'?s |sounds |how |so |very |really )*"
    r"(?:great|good|nice|cool|awesome|lovely|delicious|tasty|amazing|wonderful|fantastic|perfect|yum(?:my)?|sweet|healthy)\b",
    re.IGNORECASE,
)


def bare(reply: str) -> str:
    """The answer in a short reply ("Berlin, I think!" gives "Berlin"); ``""`` if there is none."""
    core = re.split(r"[,.!;](?:\s|$)", reply.strip(), maxsplit=1)[0]
    filler = _FILLER.match(core)
    core = (core[filler.end() :] if filler else core).strip(" .!\"'")
    if not core or "?" in reply or len(core.split()) > _LONGEST_ANSWER or _NO_ANSWER.match(core):
        return ""
    return core


def answer(question: str, reply: str, announced: str = "") -> str:
    """The sentence that ``reply`` stands for after ``question``; ``announced`` is what the person said before it."""
    core = bare(reply)
    if core.lower() in question:
        core = core.lower()  # "Sweet" is no name where "sweet or savoury" was asked
    if announced and core and _HANDED_BACK.match(question) and (match := _ANNOUNCED.search(announced)):
        return f"{match['c']} {core}"
    for pattern, said in _FORMS:
        if (match := pattern.match(question[-300:])) is None:
            continue
        x = (match.groupdict().get("x") or "").strip()
        return said.format(a=core, x=x) if core else ""
    return ""


def completion(text: str) -> str:
    """Words that go on with what was said before ("especially in smoothies"); ``""`` if they do not."""
    match = _COMPLETES.match(text)
    if match is None or re.search(
        r"\b(?:i|you|he|she|we|it|that|this|they|please)\b", match["rest"], re.IGNORECASE
    ):
        return ""
    return match["rest"][0].lower() + match["rest"][1:]


#: A longer message is not quoted as the question that was answered.
_LONGEST_QUOTED = 300


class Found:
    """A draft, the messages that it rests on, and its words."""

    __slots__ = ("draft", "messages", "quote")

    def __init__(self, draft: Draft, messages: list[WindowMessage], quote: str) -> None:
        self.draft, self.messages, self.quote = draft, messages, quote


def answered(
    message: WindowMessage,
    asking: WindowMessage,
    own: WindowMessage | None,
    first: str,
    context: dict[str, str],
) -> list[Found]:
    announced = own.content.replace("’", "'") if own is not None else ""
    sentence = answer(asking.content.strip().replace("’", "'"), first, announced)
    if not sentence:
        return []
    clause = read(sentence)
    drafts = interpret(clause, message.sent_at, sentence) if clause is not None else []
    is_announced = sentence.lower().startswith("i ") and "what" in announced
    used = [each for each in (own if is_announced else None, asking, message) if each is not None]
    quote = "\n".join(
        each.content.strip() for each in used if len(each.content) <= _LONGEST_QUOTED or each is message
    )
    return [Found(draft, list(used), quote) for draft in drafts]


def completed(
    rest: str,
    mine: Found | None,
    message: WindowMessage,
    asking: WindowMessage | None,
    own: WindowMessage | None,
    quote: str,
) -> Found | None:
    """What was said before with ``rest`` added, if it was something liked."""
    if mine is not None:
        old = mine.draft
        if old.attribute != "like" or message.index - mine.messages[-1].index > 2:
            return None
        value, sentence = f"{old.value}, {rest}", f"{old.sentence}, {rest}"
        draft = replace(old, value=value, sentence=sentence, completes=old.value)
        if mine.messages[-1] is message:
            return Found(draft, mine.messages, f"{mine.quote}\n{quote}")
        between = [asking] if asking is not None else []
        return Found(draft, [*mine.messages, *between, message], f"{mine.quote}\n{quote}")
    # The question is out of sight; nobody goes on with "especially" about what is praised, unless he likes it.
    if own is None or asking is None or not _PRAISE.match(asking.content) or not (core := bare(own.content)):
        return None
    draft = Draft("like", f"{core}, {rest}", f"Likes {core}, {rest}", 0.55, completes=core)
    return Found(draft, [own, asking, message], f"{own.content.strip()}\n{quote}")


_CORRECTION = re.compile(
    r"(?:(?:oh|ah|no|oops),? )*(?:sorry|no wait|wait,? no|wait|actually,? no|no,? actually|correction|scratch that|i meant?|make that|my mistake)[,:.!]* "
    r"(?:i meant? |it's |it is |to say |in )*(?P<v>[\w'-]+(?: [\w'-]+){0,3})\W*$",
    re.IGNORECASE,
)


def corrected(text: str, mine: Found | None, message: WindowMessage, quote: str) -> Found | None:
    """ "Sorry, Munich": the statement before with another value."""
    match = _CORRECTION.match(text)
    if match is None or mine is None or message.index - mine.messages[-1].index > 2:
        return None
    value = clean(match["v"], words=4)
    if not value or re.match(r"(?:i|my|we|no|yes|not|about|for|to|but|the)\b", match["v"], re.IGNORECASE):
        return None
    old = mine.draft
    if old.value not in old.sentence or not old.value or (old.subject != SELF and old.attribute == "name"):
        return None
    earlier = [each for each in mine.messages if each is not message]
    return Found(old.corrected(value), [*earlier, message], f"{mine.quote}\n{quote}")
