"""Storage per turn and per fact with their vectors: in service state, Redis and Qdrant (bytes each).

The stages run as they are deployed, on a Valkey and an embedded index of their own; vectors are drawn.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import sys
import tempfile
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.pipeline.one_person import drawn_vector
from benchmarks.pipeline.workload import chat_message
from models import ids
from models.facts import Fact, FactCandidate, Provenance
from models.index import SearchIndex, VectorSpace
from models.statements import Kind
from models.turns import Turn
from streams.agents.memory.facts import FACTS as FACTS_TOPIC
from streams.agents.memory.facts import Facts
from streams.agents.recall.turn_log import TurnLog
from streams.agents.recall.turns import TURNS as TURNS_TOPIC
from streams.agents.recall.turns import Turns
from streams.agents.vectors.requests import EMBEDDINGS
from streams.clients.local_valkey import LocalValkey
from streams.clients.topics import CANDIDATES, MESSAGES
from streams.config.settings import Settings
from streams.runtime.testing import StageHarness
from streams.stores.conversation_log import ConversationLog
from streams.stores.index_factory import edge_folder, open_index
from streams.stores.qdrant_kinds import FACTS, TURNS

DIMENSIONS = 384

#: Turns of a conversation, and facts of a person.
LENGTH = 30

_BATCH = 256
_BEGAN = datetime(2026, 3, 1, tzinfo=UTC)


async def main(count: int) -> None:
    """Make ``count`` turns and facts, and print what each takes."""
    folder = Path(tempfile.mkdtemp(prefix="switchboard-footprint-"))
    try:
        async with AsyncExitStack() as resources:
            turns = await _turns(count, folder / "turns", resources)
            facts = await _facts(count, folder / "facts", resources)
        print(json.dumps({"count": count, "turn": turns, "fact": facts}))
    finally:
        shutil.rmtree(folder)


async def _turns(count: int, folder: Path, resources: AsyncExitStack) -> dict[str, float]:
    settings = Settings(data_dir=folder)
    made = StageHarness(Turns(settings).stage())
    for number in range(count):
        key, value = chat_message(number, count // LENGTH)
        made.feed(made.record(value, MESSAGES, key=key))
    turns = made.values(TURNS_TOPIC, Turn)
    valkey = LocalValkey(folder, "footprint")
    resources.push_async_callback(valkey.close)
    log = ConversationLog(valkey.client(), settings.namespace, ready=valkey.ensure)
    resources.push_async_callback(log.close)
    index = open_index(settings, TURNS, VectorSpace("random", DIMENSIONS))
    resources.push_async_callback(index.close)
    await valkey.ensure()
    client = valkey.client()
    resources.push_async_callback(client.aclose)
    redis, disk = await _used(client), _disk(edge_folder(settings, TURNS))
    stage = StageHarness(TurnLog(settings, log, index).stage())
    for first in range(0, len(turns), _BATCH):
        await stage.call(*[stage.record(turn) for turn in turns[first : first + _BATCH]])
    await _embed(index, [turn.turn_id for turn in turns])
    return {
        "state": _state(made) / count,
        "redis": (await _used(client) - redis) / count,
        "qdrant": await _grown(index, edge_folder(settings, TURNS), disk) / count,
    }


async def _facts(count: int, folder: Path, resources: AsyncExitStack) -> dict[str, float]:
    settings = Settings(data_dir=folder)
    made = StageHarness(Facts(settings).stage())
    for number in range(count):
        made.feed(made.record(_candidate(number), CANDIDATES))
    facts = made.values(FACTS_TOPIC, Fact)
    drawn = np.random.default_rng(7)
    for fact in facts:
        made.feed(made.record(drawn_vector(fact.fact_id, fact.user_id, drawn), EMBEDDINGS))
    index = open_index(settings, FACTS, VectorSpace("random", DIMENSIONS))
    resources.push_async_callback(index.close)
    disk = _disk(edge_folder(settings, FACTS))
    for first in range(0, len(facts), _BATCH):
        await index.upsert(facts[first : first + _BATCH])
    await _embed(index, [fact.fact_id for fact in facts])
    return {
        "state": _state(made) / count,
        "qdrant": await _grown(index, edge_folder(settings, FACTS), disk) / count,
    }


def _candidate(number: int) -> FactCandidate:
    user, said = f"user-{number // LENGTH}", f"Likes the {number}th walk along the old harbour in the evening"
    at = _BEGAN + timedelta(seconds=number)
    fact = ids.text_fact_id("default", user, said)
    return FactCandidate(
        candidate_id=ids.candidate_id(fact, f"c-{number}", [f"m-{number}"]),
        user_id=user,
        kind=Kind.PREFERENCE,
        statement=said,
        confidence=0.8,
        source_message_ids=(f"m-{number}",),
        provenance=Provenance(
            conversation_id=f"c-{number}",
            window_id=ids.deterministic_id("window", number),
            window_end_id=f"m-{number}",
            message_ids=(f"m-{number}",),
            quote=said,
            topic=MESSAGES,
            partition=0,
            offsets=(number,),
            sent_at=at,
            arrived_at=at,
        ),
        extractor="benchmark",
    )


async def _embed(index: SearchIndex[Any, Any], names: list[str]) -> None:
    chance = np.random.default_rng(7)
    for first in range(0, len(names), _BATCH):
        part = names[first : first + _BATCH]
        rows = chance.standard_normal((len(part), DIMENSIONS)).astype(np.float32)
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        await index.store_vectors(part, rows, "random")


def _state(harness: StageHarness) -> int:
    """Bytes of keys and values, with their marks, as the changelog holds them after compaction."""
    return sum(len(key) + len(value) for key, value in dict(harness.changelog).items())


async def _used(client: Any) -> int:
    return int((await client.info("memory"))["used_memory_dataset"])


def _disk(folder: Path) -> int:
    """Bytes that the files of a folder take on the disk."""
    return sum(path.stat().st_blocks * 512 for path in folder.rglob("*") if path.is_file())


async def _grown(index: SearchIndex[Any, Any], folder: Path, before: int) -> int:
    await index.close()  # flushed, so that the write-ahead log is cut
    return _disk(folder) - before


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))
