"""Readings: what the built-in reader model says of a sentence, as scores before any threshold."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from models.statements import Kind


class Act(StrEnum):
    """Act of a sentence: what is done by saying it."""

    NONE = "none"
    DECISION = "decision"
    TODO = "todo"
    QUESTION = "question"
    CONSTRAINT = "constraint"


KINDS, ACTS = tuple(Kind), tuple(Act)
#: Classes of a note: none, and importance 1, 2 and 3.
LEVELS = 4


class Sentence(NamedTuple):
    """A sentence to read; ``context`` is the question that it answers and the rest of its message."""

    context: str
    text: str


class Reading(NamedTuple):
    """Scores of a sentence.

    ``levels``: the probabilities that it tells no note, or one of importance 1, 2 and 3.  ``kinds``: those of
    :data:`KINDS`; ``acts``: those of :data:`ACTS`.  ``words``: what each word of the text adds to the log odds
    of a note; ``around``: what the context adds.
    """

    levels: tuple[float, ...]
    kinds: tuple[float, ...]
    acts: tuple[float, ...]
    words: tuple[float, ...] = ()
    around: float = 0.0
