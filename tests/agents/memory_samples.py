"""Windows, statements, candidates and an extractor and embedder of a few lines, for the memory stages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from random import Random
from typing import Any

import msgspec
import numpy as np
import samples

from models import ids
from models.facts import Fact, FactCandidate
from models.messages import Role
from models.ports import Extracted, Extraction
from models.statements import Kind, Statement
from models.vectors import EmbeddingResult, VectorKind
from models.windows import Window, WindowMessage, WindowReason
from processors.retrieval.embedding.vectors import pack
from streams.agents.memory.consolidation_records import CONSOLIDATION
from streams.agents.memory.facts import CANDIDATES, FACTS, Facts
from streams.clients.records import Record
from streams.config.settings import Settings
from streams.runtime.stage import Stage
from streams.runtime.testing import PARTITION, START, StageHarness
from streams.runtime.trial import Trial

MESSAGES = "chat.messages.v1"


def said(*lines: str, user: str = "ada", first: int = 0, conversation: str = "c") -> list[WindowMessage]:
    """Turn lines into messages: the person and the assistant take turns, or ``assistant: text`` says who."""
    found = []
    for n, line in enumerate(lines, first):
        by_assistant = line.startswith("assistant: ")
        found.append(
            samples.window_message(
                n,
                line.removeprefix("assistant: "),
                at=START + timedelta(seconds=n),
                message_id=f"{conversation}-m{n}",
                user_id=user,
                role=Role.ASSISTANT if by_assistant else Role.USER,
            )
        )
    return found


def window(messages: Sequence[WindowMessage], *, overlap: int = 0, conversation: str = "c") -> Window:
    """Return the window over these messages."""
    first, last = messages[0], messages[-1]
    return samples.window(
        messages,
        partition=PARTITION,
        window_id=ids.window_id("default", conversation, first.message_id, last.message_id, overlap),
        conversation_id=conversation,
        reason=WindowReason.FULL,
        overlap=overlap,
    )


def statement(
    text: str,
    *message_ids: str,
    user: str = "ada",
    quote: str = "",
    confidence: float = 0.8,
) -> Statement:
    """Return what an extractor finds; unless told otherwise, it quotes what it states."""
    return Statement(
        user_id=user,
        kind=Kind.PREFERENCE,
        statement=text,
        confidence=confidence,
        source_message_ids=message_ids,
        quote=quote or text,
    )


def candidate(
    text: str,
    number: int = 0,
    *,
    user: str = "ada",
    conversation: str = "c",
    confidence: float = 0.8,
) -> FactCandidate:
    """Return a candidate for ``text`` that rests on message ``number``, alone in window ``number``."""
    said = samples.evidence(
        f"“{text}”",
        at=START + timedelta(minutes=number),
        conversation_id=conversation,
        window_id=f"w{number}",
        window_end_id=f"m{number}",
        message_ids=(f"m{number}",),
        partition=PARTITION,
        offsets=(100 + number,),
        arrived_at=START + timedelta(seconds=number),
    )
    name = ids.candidate_id(ids.text_fact_id("default", user, text), conversation, said.message_ids)
    return samples.candidate(text, said, candidate_id=name, user_id=user, confidence=confidence)


def vector_of(kind: VectorKind, name: str, numbers: Sequence[float], **changes: Any) -> EmbeddingResult:
    """Return the vector of something of Ada's."""
    made = EmbeddingResult(
        kind=kind,
        id=name,
        user_id="ada",
        text_hash="0" * 32,
        model="test-1",
        dimensions=len(numbers),
        vector=pack(np.array(numbers, dtype=np.float32)),
    )
    return msgspec.structs.replace(made, **changes)


def fact(text: str = "likes blueberries", **changes: Any) -> Fact:
    """Return the fact that the facts stage makes of :func:`candidate`."""
    harness = StageHarness(Facts(Settings()).stage())
    harness.feed(harness.record(candidate(text)))
    (found,) = harness.values(FACTS, Fact)
    return msgspec.structs.replace(found, **changes)


def calmly(stage: Stage, log: Sequence[Record], *, causal: bool = False) -> Trial:
    """Read the log record by record, without a crash."""
    calm = Trial(stage, log, Random(0), latencies=[0.0], batches=[1], causal=causal)
    calm.run()
    return calm


def crashing(
    stage: Stage, log: Sequence[Record], chance: Random, crashes: int, *, causal: bool = False
) -> Trial:
    """Read the log in batches of any size, with crashes, to its end."""
    trial = Trial(stage, log, chance, batches=(1, 4, 100), causal=causal)
    for _ in range(crashes):
        trial.run(chance.randint(1, 8))
    trial.run()
    return trial


class FactsHarness(StageHarness):
    """The facts stage; steps and candidates that it writes are read by it until it writes none any more."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(Facts(settings).stage())
        self.log: list[Record] = []

    def take(self, *records: Record) -> None:
        for record in records:
            self.log.append(record)
            before = len(self.outputs)
            self.feed(record)
            for output in self.outputs[before:]:
                if output.topic in (CONSOLIDATION, CANDIDATES):
                    assert output.value is not None
                    self.arrived += timedelta(seconds=1)
                    self.take(self.record(output.value, output.topic, key=output.key))


class ScriptedExtractor:
    """Finds what ``script`` says; remembers which windows it was asked about."""

    name = "scripted-1"

    def __init__(self, script: Callable[[Window], Sequence[Statement]]) -> None:
        self._script = script
        self.asked: list[Window] = []

    async def extract(self, windows: Sequence[Window]) -> list[Extraction]:
        self.asked += windows
        return [Extracted(tuple(self._script(each))) for each in windows]
