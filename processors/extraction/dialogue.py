"""What takes two to say: an answer, a completion, a correction of what was said before."""

from __future__ import annotations

import re
from dataclasses import replace

from models.statements import SELF
from models.windows import WindowMessage
from processors.extraction.answers import PRAISE, answer, bare
from processors.extraction.drafts import Draft
from processors.extraction.interpreting import interpret
from processors.extraction.parsing import read
from processors.extraction.values import clean

#: A longer message is not quoted as the question that was answered.
LONGEST_QUOTED = 300


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
        each.content.strip() for each in used if len(each.content) <= LONGEST_QUOTED or each is message
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
    if own is None or asking is None or not PRAISE.match(asking.content) or not (core := bare(own.content)):
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
