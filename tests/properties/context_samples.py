"""Turns and candidates of a context, for the tests of its packing and ranking."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
import samples

from models.context import Context, FoundBy
from processors.retrieval.context.packing import Packed
from processors.retrieval.context.ranking import Candidate
from processors.retrieval.recall.question import words_of

NOW = datetime(2026, 3, 1, 10, 0, tzinfo=UTC)


def candidate(name: str, text: str, similarity: float = 0.5, **replace: Any) -> Candidate:
    made = Candidate(
        id=name,
        text=text,
        found_by=FoundBy.MEANING,
        similarity=similarity,
        at=NOW,
        words=tuple(words_of(text)),
        confidence=0.9,
    )
    return msgspec.structs.replace(made, **replace)


def context_of(packed: Packed, budget: int) -> Context:
    shown = {"tokens": packed.tokens, "tiers": packed.tiers, "items": packed.items}
    return samples.context(samples.turn(0, at=NOW), budget=budget, **shown)
