"""The sentences of a range that may be told, and what stands around them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from models.messages import Role
from models.windows import WindowMessage
from processors.extraction.units import LONGEST_SENTENCE, Unit, is_question, leans, question_before, units_in
from processors.text.sentences import sentences

#: Sentences that the models read.
MOST_READ = 64
#: Characters of a line with the sentence that explains it.
_LONGEST_LINE = 360
#: An answer of fewer words is shown behind its question; one of fewer still behind a statement, too.
_SHORT_ANSWER, _REACTION = 6, 4
#: A sentence of fewer words says nothing alone: "Let me check."
_LONG_ENOUGH = 4

_JOINS = re.compile(
    r"(?:and|but|so|also|plus|then|because|und|aber|denn|y|pero|et|mais|e|mas)\b[\s,]*", re.IGNORECASE
)
_WORD = re.compile(r"[぀-ヿ㐀-鿿가-힯]|[^\W_]{3,}|\d+")
_OWN_CLAUSE = re.compile(
    r"(?:i|i['’]\w+|im|ive|my|we|ich|mein\w*|wir|mi|mis|je|j['’]\w+|mon|ma|eu|meu|minha)\b", re.IGNORECASE
)
_PERSONAL = re.compile(
    r"\b(?:i|i['’]?m|i['’]?ve|i['’]?d|i['’]?ll|im|ive|me|myself|ich|mir|mich|yo|me|je|j['’]\w+|moi|eu)\b",
    re.IGNORECASE,
)


def read(messages: Sequence[WindowMessage]) -> list[Unit]:
    """Return the sentences that may be told, in their order: at most :data:`MOST_READ`.

    They are what people say in their own words, and what the assistant asks at the end.  Of more than that those
    in which somebody speaks of himself, the earlier first.
    """
    own = [at for at, each in enumerate(messages) if each.role is Role.USER]
    found = [unit for at in own for unit in units_in(messages[at], question_before(messages, at))]
    spoken = [each for each in messages if each.role in (Role.USER, Role.ASSISTANT)]
    if spoken and spoken[-1].role is Role.ASSISTANT:
        found += [unit for unit in units_in(spoken[-1], "") if is_question(unit.text)]
    found = [unit for unit in found if len(unit.text) < LONGEST_SENTENCE]
    # A stable sort: of equals the earlier.
    chosen = {id(unit) for unit in sorted(found, key=lambda unit: not _PERSONAL.search(unit.text))[:MOST_READ]}
    return [unit for unit in found if id(unit) in chosen]


def is_open(messages: Sequence[WindowMessage], unit: Unit) -> bool:
    """Tell whether nobody answers a question in the rest of the range; a question is no answer."""
    asker = unit.message
    after = [each for each in messages if each.index > asker.index and each.role in (Role.USER, Role.ASSISTANT)]
    others = [each for each in after if (each.role, each.user_id) != (asker.role, asker.user_id)]
    if asker.role is Role.ASSISTANT:
        return not others
    said = (text for each in others for text in sentences(each.content[:2000]))
    return not any(not is_question(text) and is_long(text) for text in said)


def is_long(text: str) -> bool:
    """Tell whether a sentence says something alone."""
    return len(text.split()) >= _LONG_ENOUGH or (not text.isascii() and " " not in text and len(text) > 1)


def line_of(unit: Unit, *, is_alone: bool) -> str:
    """Return a quotation with its speaker, and with the question or the sentence that it needs.

    ``is_alone``: nobody but one person and the assistant speaks.
    """
    role = unit.message.role
    speaker = role.value if is_alone or role is not Role.USER else unit.message.user_id
    text, size = unit.text, len(unit.text.split())
    is_answer = size < _SHORT_ANSWER and not _OWN_CLAUSE.match(text)
    if unit.asked and (size < _REACTION or is_answer):
        return f"{Role.ASSISTANT.value}: {unit.asked} – {speaker}: {text}"
    stripped = unit._replace(text=_JOINS.sub("", text, count=1))
    if leans(stripped) and not is_question(unit.before) and len(unit.before) + len(text) < _LONGEST_LINE:
        text = f"{unit.before} {text}"
    return f"{speaker}: {text}"


def words(text: str) -> frozenset[str]:
    """Return the content words of a line: folded, without short words and the speaker; CJK by characters."""
    return frozenset(_WORD.findall(text.casefold())) - {"user", "assistant"}
