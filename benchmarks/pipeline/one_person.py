"""Cost of the facts stage for a person with many facts: one more statement, and one consolidation.

Everything is of one slot that holds many values, and of one partition.  Vectors are drawn.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import numpy as np

from models import ids
from models.consolidation import ConsolidationStep, Step
from models.facts import FactCandidate, Provenance
from models.statements import Kind
from models.vectors import EmbeddingResult, VectorKind
from processors.retrieval.embedding.vectors import pack
from streams.agents.memory.consolidation_records import CONSOLIDATION
from streams.agents.memory.facts import FACTS, Facts
from streams.agents.vectors.requests import EMBEDDINGS
from streams.clients.records import Record
from streams.config.settings import Settings
from streams.runtime.testing import StageHarness

_WHO, _BATCH, _DIMENSIONS = "ada", 500, 384
_BEGAN = datetime(2026, 1, 1, tzinfo=UTC)

#: Statements, and vectors, that are timed.
_MEASURED = 100


class Took(NamedTuple):
    """Seconds: one more statement, and its vector (medians), and one consolidation."""

    candidate: float
    vector: float
    consolidation: float


def measure(known: int) -> Took:
    """Return the seconds per operation next to ``known`` facts."""
    stage = StageHarness(Facts(Settings()).stage(), start=_BEGAN)
    drawn = np.random.default_rng(known)
    for first in range(0, known, _BATCH):
        numbers = range(first, min(first + _BATCH, known))
        stage.feed(*[stage.record(_candidate(number), key=_WHO.encode()) for number in numbers])
        stage.feed(*[stage.record(drawn_vector(name, _WHO, drawn), EMBEDDINGS) for name in _learned(stage)])
        stage.changelog.clear()
    candidates = [stage.record(_candidate(known + number), key=_WHO.encode()) for number in range(_MEASURED)]
    candidate = _median_seconds(stage, candidates)
    vectors = [stage.record(drawn_vector(name, _WHO, drawn), EMBEDDINGS) for name in _learned(stage)]
    vector = _median_seconds(stage, vectors)
    step = ConsolidationStep(step_id="s-1", step=Step.CONSOLIDATE, at=_BEGAN, by="command", user_id=_WHO)
    return Took(candidate, vector, _median_seconds(stage, [stage.record(step, CONSOLIDATION)]))


def _learned(stage: StageHarness) -> list[str]:
    """Return the facts that were learned since this was asked last."""
    found = [each.key.decode() for each in stage.outputs if each.topic == FACTS and each.key is not None]
    stage.outputs.clear()
    return found


def _median_seconds(stage: StageHarness, records: Sequence[Record]) -> float:
    seconds = []
    for record in records:
        began = time.perf_counter()
        stage.feed(record)
        seconds.append(time.perf_counter() - began)
    return statistics.median(seconds)


def drawn_vector(fact_id: str, user_id: str, drawn: np.random.Generator) -> EmbeddingResult:
    """Return a vector of a fact, as the embedder would give one."""
    vector = drawn.standard_normal(_DIMENSIONS, dtype=np.float32)
    return EmbeddingResult(
        kind=VectorKind.FACT,
        id=fact_id,
        user_id=user_id,
        text_hash=ids.text_hash(fact_id),
        model="drawn",
        dimensions=_DIMENSIONS,
        vector=pack(vector / np.linalg.norm(vector)),
    )


def _candidate(number: int) -> FactCandidate:
    value, name = f"the soup called number {number}", f"m-{number}"
    return FactCandidate(
        candidate_id=ids.text_fact_id("default", "candidate", name),
        user_id=_WHO,
        kind=Kind.PREFERENCE,
        statement=f"Likes {value}",
        confidence=0.8,
        source_message_ids=(name,),
        provenance=Provenance(
            conversation_id="c-1",
            window_id=ids.text_fact_id("default", "window", name),
            window_end_id=name,
            message_ids=(name,),
            quote=f"I like {value}.",
            topic="chat.messages.v1",
            partition=0,
            offsets=(number,),
            sent_at=_BEGAN + timedelta(minutes=number),
            arrived_at=_BEGAN + timedelta(minutes=number),
        ),
        extractor="builtin-1",
        attribute="like",
        value=value,
    )
