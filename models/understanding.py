"""Meaning of a question: whether it must be clarified, its readings, what it refers to (requirement 5.3)."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Protocol

import msgspec


class Reason(StrEnum):
    """Why a question cannot be answered as it stands."""

    REFERENCE = "reference"  #: "she", "that one": it is open who or what is meant
    MEANINGS = "meanings"  #: a name or word has several meanings
    UNKNOWN_NAME = "unknown_name"  #: something is named that may not exist
    WHAT = "what"  #: which one, of what kind, or by which measure
    WHEN = "when"
    WHERE = "where"
    WHO = "who"  #: for whom or about whom


class Reference(msgspec.Struct, frozen=True):
    """Words of the question that stand for something else, and what that may be, likeliest first."""

    words: str
    meanings: tuple[str, ...]


class QueryUnderstanding(msgspec.Struct, frozen=True, kw_only=True):
    """A question, understood: the fields of requirement 5.3 by their names, with reasons and references."""

    query: str
    is_ambiguous: bool
    #: Probability that the question needs to be clarified, 0 to 1, before memory was looked at; rules: 0 or 1.
    score: float
    reasons: tuple[Reason, ...] = ()
    #: Two or three readings if it is ambiguous, else none.
    possible_interpretations: tuple[str, ...] = ()
    #: The question with what "she" or "there" refers to in its place; ``None``: nothing to replace, or open.
    rewritten_query: str | None = None
    #: Two to four if it is ambiguous, else none.
    clarifying_questions: tuple[str, ...] = ()
    #: What is remembered and bears on the question, as statements.
    needed_context_from_memory: tuple[str, ...] = ()
    references: tuple[Reference, ...] = ()
    #: The question as a model should read it: rewritten, with what is remembered.
    final_augmented_context: str = ""


class QuestionAsked(msgspec.Struct, frozen=True, kw_only=True):
    """A question, what was said before it, oldest first, and the statements that were found for it.

    ``speakers``: who said each turn, a letter ("A" asks) or a role; ``days``: when each statement was said, as
    it is shown.  Each is empty if that is not known.
    """

    query: str
    user_id: str
    tenant_id: str
    conversation_id: str = ""
    turns: Sequence[str] = ()
    remembered: Sequence[str] = ()
    speakers: Sequence[str] = ()
    days: Sequence[str] = ()


class Understander(Protocol):
    """Says what questions mean."""

    @property
    def name(self) -> str:
        """Name and version."""
        ...

    async def understand(self, asked: QuestionAsked) -> QueryUnderstanding:
        """Return the meaning of a question.

        Raises:
            DependencyUnavailable: it cannot be said now.
        """
        ...
