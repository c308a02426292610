"""How long consolidation takes: the stage of facts alone, with all the steps that it writes to itself.

``python -m benchmarks.pipeline.consolidation PEOPLE``: first 300 new facts of one person, then a day's changes
(three facts each) of PEOPLE in one partition.  A tenth of the facts say what the one before says.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np

from models import ids
from models.consolidation import ConsolidationStep, Step
from models.facts import FactCandidate, Provenance
from models.statements import Kind
from models.vectors import EmbeddingResult, VectorKind
from processors.embedding.vectors import pack
from streams.agents.memory.consolidation_records import CONSOLIDATION
from streams.agents.memory.facts import Facts
from streams.runtime.records import Record
from streams.runtime.testing import StageHarness
from streams.settings import load_settings
from streams.vectors.requests import EMBEDDINGS

#: New facts of the one person, and of each of many.
FACTS, FACTS_EACH = 300, 3

_NOW = datetime(2026, 3, 1, 10, tzinfo=UTC)
_DIMENSIONS = 384
_BATCH = 500


def learn(harness: StageHarness, user: str, count: int, chance: np.random.Generator) -> None:
    """Have the stage know facts of a person, with their vectors."""
    vectors = chance.standard_normal((count, _DIMENSIONS)).astype(np.float32)
    vectors[1::10] = vectors[: len(vectors[1::10]) * 10 : 10]
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    said, made = [], []
    for number in range(count):
        verb, thing = ("Loves", number - 1) if number % 10 == 1 else ("Likes", number)
        statement = f"{verb} thing{thing}"
        said.append(harness.record(_candidate(user, statement, number)))
        result = EmbeddingResult(
            kind=VectorKind.FACT,
            id=ids.text_fact_id("default", user, statement),
            user_id=user,
            text_hash=ids.text_hash(statement),
            model="bench-1",
            dimensions=_DIMENSIONS,
            vector=pack(vectors[number]),
        )
        made.append(harness.record(result, EMBEDDINGS))
    for records in (said, made):
        for at in range(0, count, _BATCH):
            harness.feed(*records[at : at + _BATCH])


def _candidate(user: str, statement: str, number: int) -> FactCandidate:
    name = f"{user}-{number}"
    said = Provenance(
        conversation_id=f"c-{user}",
        window_id=f"w-{name}",
        window_end_id=f"m-{name}",
        message_ids=(f"m-{name}",),
        quote=statement,
        topic="chat.messages.v1",
        partition=0,
        offsets=(number,),
        sent_at=_NOW,
        arrived_at=_NOW,
    )
    return FactCandidate(
        candidate_id=name,
        user_id=user,
        kind=Kind.PREFERENCE,
        statement=statement,
        confidence=0.8,
        source_message_ids=(f"m-{name}",),
        provenance=said,
        extractor="bench",
    )


def consolidate(harness: StageHarness, people: Sequence[str]) -> float:
    """Consolidate these people, one record each, with all that follows; return how long it took (seconds)."""
    left = [_asked(harness, user) for user in people]
    began = time.perf_counter()
    while left:
        before = len(harness.outputs)
        harness.feed(*left[:_BATCH])
        steps = [each for each in harness.outputs[before:] if each.topic == CONSOLIDATION]
        left = left[_BATCH:] + [harness.record(each.value, CONSOLIDATION, key=each.key) for each in steps]
    return time.perf_counter() - began


def _asked(harness: StageHarness, user: str) -> Record:
    step = ConsolidationStep(step_id=f"bench-{user}", step=Step.CONSOLIDATE, at=_NOW, by="bench", user_id=user)
    return harness.record(step, CONSOLIDATION)


def main(people: int) -> None:
    """Measure, and print the figures."""
    chance = np.random.default_rng(1)
    one = StageHarness(Facts(load_settings()).stage())
    learn(one, "one", FACTS, chance)
    seconds = consolidate(one, ["one"])
    many, names = StageHarness(Facts(load_settings()).stage()), [f"p-{number}" for number in range(people)]
    for name in names:
        learn(many, name, FACTS_EACH, chance)
    rate = people / consolidate(many, names)
    print(json.dumps({"facts": FACTS, "seconds": seconds, "people": people, "people_a_second": rate}))


if __name__ == "__main__":
    main(int(sys.argv[1]))
