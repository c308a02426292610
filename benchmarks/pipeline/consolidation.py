"""How long consolidation takes: the stage of facts alone, with all the steps that it writes to itself; and
whether the stage of conversations keeps its rate beside it.

``python -m benchmarks.pipeline.consolidation PEOPLE``: first 300 new facts of one person, then a day's changes
(three facts each) of PEOPLE in one partition.  A tenth of the facts say what the one before says.  Ingest runs
in a process of its own, as it does in a deployment: before and after that alone, and all the while beside it;
and beside people whose turns are spread as the schedule spreads those of ten thousand over its hour.
"""

from __future__ import annotations

import json
import multiprocessing
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

import numpy as np

from benchmarks.pipeline.workload import chat_message
from models import ids
from models.consolidation import ConsolidationStep, Step
from models.facts import FactCandidate, Provenance
from models.statements import Kind
from models.vectors import EmbeddingResult, VectorKind
from processors.retrieval.embedding.vectors import pack
from streams.agents.ingest.conversations import Conversations
from streams.agents.memory.consolidation_records import CONSOLIDATION
from streams.agents.memory.facts import Facts
from streams.agents.vectors.requests import EMBEDDINGS
from streams.clients.records import Record, RecordBatch
from streams.clients.topics import MESSAGES
from streams.config.settings import load_settings
from streams.llm.tokenizer import cl100k_counter
from streams.runtime.stored import StoredPartition
from streams.runtime.table import PartitionState
from streams.runtime.testing import StageHarness

#: New facts of the one person, and of each of many.
FACTS, FACTS_EACH = 300, 3

#: People a second, when ten thousand are spread over an hour.
AT_NIGHT = 10_000 / 3_600

_NOW = datetime(2026, 3, 1, 10, tzinfo=UTC)
_DIMENSIONS = 384
_BATCH = 500

#: Of ingest: conversations that go on at once, and when their messages arrive (epoch ms).
_CONVERSATIONS = 500
_ARRIVED_MS = 1_772_400_000_000

#: How long the other process is waited for (seconds).
_PATIENCE = 120.0


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


def spread(harness: StageHarness, people: Sequence[str]) -> None:
    """Consolidate these people one after the other, each at its time."""
    began = time.perf_counter()
    for number, user in enumerate(people):
        time.sleep(max(0.0, began + number / AT_NIGHT - time.perf_counter()))
        consolidate(harness, [user])


class Ingest(NamedTuple):
    """Work of the conversations stage: messages, and how long its steps took, by the clock and in CPU."""

    messages: int
    seconds: float
    cpu_seconds: float

    @property
    def rate(self) -> float:
        """Messages a second of the clock."""
        return self.messages / self.seconds

    @property
    def cpu_rate(self) -> float:
        """Messages a second of a core: what of a lower rate is not for want of one."""
        return self.messages / self.cpu_seconds


class IngestBeside:
    """The stage of conversations in another process: it folds messages while a block runs."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._ours, theirs = context.Pipe()
        self._process = context.Process(target=_ingest, args=(theirs,), daemon=True)
        self._process.start()

    @contextmanager
    def running(self, into: list[Ingest]) -> Iterator[None]:
        """Let it run for as long as the block does; what it did is appended to ``into``."""
        self._ours.send("begin")
        assert self._heard() == "begun"
        yield
        self._ours.send("end")
        into.append(Ingest(*self._heard()))

    def close(self) -> None:
        """End it."""
        self._ours.send("over")
        self._process.join(_PATIENCE)

    def _heard(self) -> Any:
        if not self._ours.poll(_PATIENCE):
            raise TimeoutError("the process that ingests does not answer")
        return self._ours.recv()


def _ingest(told: Connection) -> None:
    """Fold batches of messages when told so, until told otherwise."""
    stage = Conversations(load_settings(), cl100k_counter()).stage()
    assert stage.step is not None
    state = PartitionState(StoredPartition(stage.sources))
    sent = 0
    while told.recv() == "begin":
        told.send("begun")
        messages, seconds, cpu = 0, 0.0, 0.0
        while not (messages and told.poll()):
            records = []
            for number in range(sent, sent + _BATCH):
                key, value = chat_message(number, _CONVERSATIONS)
                records.append(Record(value, key, number, MESSAGES, 0, timestamp=_ARRIVED_MS + number))
            sent += _BATCH
            # The texts are ours to make: what counts is what the stage does with them.
            clock, core = time.perf_counter(), time.process_time()
            effects = stage.step(RecordBatch(records, source=MESSAGES), state)
            state.confirm(state.store(effects.changes))
            seconds, cpu = seconds + time.perf_counter() - clock, cpu + time.process_time() - core
            messages += _BATCH
        told.recv()
        told.send((messages, seconds, cpu))


def beside(
    harness: StageHarness, people: Sequence[str], night: Sequence[str], alone_seconds: float
) -> dict[str, float]:
    """Consolidate these people with ingest beside it, those of the ``night`` each in turn, and let ingest run
    alone before and after that.
    """
    alone, busy, quiet, ingest = list[Ingest](), list[Ingest](), list[Ingest](), IngestBeside()
    try:
        with ingest.running([]):  # the first messages of each conversation, and all that is made once
            time.sleep(alone_seconds / 4)
        with ingest.running(alone):
            time.sleep(alone_seconds / 2)
        with ingest.running(busy):
            cpu = time.process_time()
            seconds = consolidate(harness, people)
            cpu = time.process_time() - cpu
        with ingest.running(quiet):
            spread(harness, night)
        with ingest.running(alone):
            time.sleep(alone_seconds / 2)
    finally:
        ingest.close()
    before, after, during, at_night = *alone, *busy, *quiet
    return {
        "people_a_second": len(people) / seconds,
        "cpu_seconds_of_10000": cpu / len(people) * 10_000,
        "ingest_alone": (before.rate + after.rate) / 2,
        "ingest_beside": during.rate,
        "ingest_kept": 2 * during.rate / (before.rate + after.rate),
        "ingest_kept_at_night": 2 * at_night.rate / (before.rate + after.rate),
        "ingest_kept_of_a_core": 2 * during.cpu_rate / (before.cpu_rate + after.cpu_rate),
    }


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
    alone_seconds = min(20.0, max(2.0, people / 500))
    night = [f"n-{number}" for number in range(max(1, round(AT_NIGHT * alone_seconds)))]
    for name in (*names, *night):
        learn(many, name, FACTS_EACH, chance)
    figures = beside(many, names, night, alone_seconds)
    print(json.dumps({"facts": FACTS, "seconds": seconds, "people": people, **figures}))


if __name__ == "__main__":
    main(int(sys.argv[1]))
