"""The sentences of a range that may be told, and what stands around them."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec
import numpy as np

from models.messages import Role
from models.windows import WindowMessage
from processors.extraction.cues import CUES
from processors.extraction.units import LONGEST_SENTENCE, Unit, leans, question_before
from processors.summaries.acts import Act, acts
from processors.text.authorship import own_words
from processors.text.sentences import sentence_spans

#: Sentences that are embedded, two texts each, and those that are looked at to choose them.
MOST_EMBEDDED = 64
MOST_READ = 400

#: Sentences of one message that are read, and characters from its beginning and from its end: more was pasted.
_MOST_OF_MESSAGE = 40
_READ_FROM_EACH_END = 3000

#: Characters of a line with all that explains it, and of a question that is shown before its answer.
_LONGEST_LINE = 360
_LONGEST_QUESTION = 160

#: An answer of fewer words is shown behind its question; one of fewer still behind a statement, too.
_SHORT_ANSWER, _REACTION = 6, 4
#: A reply of fewer words answers nothing: "Let me check."
_SHORT_REPLY = 4

_JOINS = re.compile(
    r"(?:and|but|so|also|plus|then|because|und|aber|denn|y|pero|et|mais|e|mas)\b[\s,]*", re.IGNORECASE
)
_WORD = re.compile(r"[぀-ヿ㐀-鿿가-힯]|[^\W_]{3,}|\d+")
_OWN_CLAUSE = next(cue.pattern for cue in CUES if cue.name == "begins with I")
_PERSONAL = next(cue.pattern for cue in CUES if cue.name == "first person")


def read(messages: Sequence[WindowMessage]) -> list[Unit]:
    """Return the sentences that may be told, in their order: at most :data:`MOST_EMBEDDED`.

    They are what people say in their own words, and what the assistant asks at the end.  Of more than that those
    with the most cues of a person, of a decision and the like.
    """
    shortened = [_shortened(message) for message in messages]
    own = [at for at, each in enumerate(messages) if each.role is Role.USER]
    if len(own) > MOST_READ:
        own = sorted(own, key=lambda at: not _PERSONAL.search(shortened[at].content))[:MOST_READ]
    looked_at = frozenset(own)
    last = max((at for at, each in enumerate(messages) if each.role in (Role.USER, Role.ASSISTANT)), default=-1)
    found: list[Unit] = []
    for at, message in enumerate(shortened):
        if at in looked_at:
            found += _units(message, question_before(shortened, at))
        elif message.role is Role.ASSISTANT and at == last:
            found += [unit for unit in _units(message, ("", "")) if asks(unit.text)]
    if len(found) <= MOST_EMBEDDED:
        return found
    # Stable sorts: of equals the earlier.
    some = sorted(found, key=lambda unit: not _PERSONAL.search(unit.text))[:MOST_READ]
    shares = acts(some, np.zeros((2 * len(some), 384), dtype=np.float32))
    weighed = sorted(zip(shares, some, strict=True), key=lambda pair: pair[0][Act.NONE])
    chosen = {id(unit) for _, unit in weighed[:MOST_EMBEDDED]}
    return [unit for unit in found if id(unit) in chosen]


def _shortened(message: WindowMessage) -> WindowMessage:
    """Return a message without the middle of a very long text."""
    text = message.content
    if len(text) <= 2 * _READ_FROM_EACH_END:
        return message
    head, tail = text[:_READ_FROM_EACH_END], text[-_READ_FROM_EACH_END:]
    # Cut between sentences: a part of one would be quoted as if it were all.
    ends, begins = sentence_spans(head)[:-1], sentence_spans(tail)[1:]
    parts = [head[: ends[-1][1]] if ends else "", tail[begins[0][0] :] if begins else ""]
    return msgspec.structs.replace(message, content="\n".join(filter(None, parts)))


def _units(message: WindowMessage, question: tuple[str, str]) -> list[Unit]:
    own = own_words(message.content) if message.role is Role.USER else message.content
    found: list[Unit] = []
    before = ""
    for number, (start, end) in enumerate(sentence_spans(own)[:_MOST_OF_MESSAGE]):
        text = " ".join(message.content[start:end].split())
        asked, asked_id = (
            question if number == 0 or (number == 1 and len(before.split()) < _REACTION) else ("", "")
        )
        if len(text) <= LONGEST_SENTENCE:
            found.append(
                Unit(message, start, end, text, number, asked, asked_id, before, own != message.content)
            )
        before = text
    return found


def asks(text: str) -> bool:
    """Tell whether a text is a question."""
    return text.rstrip("\"'”’)]*… ").endswith(("?", "？"))


def is_open(messages: Sequence[WindowMessage], unit: Unit) -> bool:
    """Tell whether nobody answers a question in the rest of the range; a question is no answer."""
    asker = unit.message
    after = [each for each in messages if each.index > asker.index and each.role in (Role.USER, Role.ASSISTANT)]
    others = [each for each in after if (each.role, each.user_id) != (asker.role, asker.user_id)]
    if asker.role is Role.ASSISTANT:
        return not others
    said = (each.content[start:end] for each in others for start, end in sentence_spans(each.content[:2000]))
    return not any(not asks(text) and _is_long(text) for text in said)


def _is_long(text: str) -> bool:
    return len(text.split()) >= _SHORT_REPLY or (not text.isascii() and " " not in text and len(text) > 1)


def line_of(unit: Unit, *, is_alone: bool) -> str:
    """Return a quotation with its speaker, and with the question or the sentence that it needs.

    ``is_alone``: nobody but one person and the assistant speaks.
    """
    role = unit.message.role
    speaker = role.value if is_alone or role is not Role.USER else unit.message.user_id
    text, size = unit.text, len(unit.text.split())
    is_answer = asks(unit.asked) and size < _SHORT_ANSWER and not _OWN_CLAUSE.search(text)
    if unit.asked and (size < _REACTION or is_answer):
        return f"{Role.ASSISTANT.value}: {_end_of(unit.asked)} – {speaker}: {text}"
    stripped = unit._replace(text=_JOINS.sub("", text, count=1))
    if leans(stripped) and not asks(unit.before) and len(unit.before) + len(text) < _LONGEST_LINE:
        text = f"{unit.before} {text}"
    return f"{speaker}: {text}"


def _end_of(question: str) -> str:
    """Return a question, or its last words where it is long."""
    question = " ".join(question.split())
    cut = question.find(" ", len(question) - _LONGEST_QUESTION) if len(question) > _LONGEST_QUESTION else -1
    return question if cut < 0 else f"…{question[cut + 1 :]}"


def words(text: str) -> frozenset[str]:
    """Return what a line is about: its words of some length, folded, without who speaks; CJK by characters."""
    return frozenset(_WORD.findall(text.casefold())) - {"user", "assistant"}
