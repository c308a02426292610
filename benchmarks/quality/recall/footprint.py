"""What a turn and a fact weigh: ``python -m benchmarks.quality.recall.footprint [--turns N] [--json FILE]``.

One person says something that they like, and is answered, again and again; the project's own stages make
turns and facts of it.  Prints bytes for each turn and each fact: of state (keys and values as the changelog has
them), on the topics, in Redis, and of the folders of the embedded index with vectors, as the disk counts them.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from collections.abc import Sequence
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import numpy as np

from benchmarks.quality.recall.memory import opened
from models.facts import Fact
from models.index import SearchIndex
from models.messages import ChatMessage, Role
from models.turns import Turn
from streams.adapters.conversation_log import ConversationLog
from streams.adapters.local_valkey import LocalValkey
from streams.agents.memory.facts import FACTS
from streams.agents.recall.turns import TURNS as TURNS_TOPIC
from streams.runtime.testing import StageHarness
from streams.settings import Settings

Item = TypeVar("Item", Turn, Fact)

_CONVERSATION, _BATCH = 200, 1_000
#: Seconds after which the index has written what it holds.
_FLUSHED = 2.0
_BEGAN = datetime(2026, 1, 1, tzinfo=UTC)


def _said(count: int) -> list[ChatMessage]:
    return [
        ChatMessage(
            message_id=f"m-{number}",
            conversation_id=f"c-{number // _CONVERSATION}",
            user_id="ada",
            role=Role.ASSISTANT if number % 2 else Role.USER,
            content=f"Noted, dish number {number - 1} it is; shall I look for a recipe?"
            if number % 2
            else f"I really like the soup called garden {number}, most of all in the evening.",
            sent_at=_BEGAN + timedelta(minutes=number),
        )
        for number in range(count)
    ]


def _state(harness: StageHarness) -> int:
    return sum(len(key) + len(value) for key, value in harness.state.items())


def _on_topic(harness: StageHarness, topic: str) -> int:
    return sum(len(each.key or b"") + len(each.value or b"") for each in harness.outputs if each.topic == topic)


def _on_disk(folder: Path) -> int:
    return sum(each.stat().st_blocks * 512 for each in folder.rglob("*") if each.is_file())


async def measure(count: int) -> dict[str, dict[str, float]]:
    """Return the bytes of each turn and each fact, by where they are."""
    async with AsyncExitStack() as resources:
        place = Path(resources.enter_context(tempfile.TemporaryDirectory(prefix="switchboard-footprint-")))
        memory = await resources.enter_async_context(opened(place))
        learned, said = await memory.learn(_said(count)), memory.say(_said(count))
        turns = [*_records(said, TURNS_TOPIC, Turn, "turn_id").values()]
        facts = [*_records(learned, FACTS, Fact, "fact_id").values()]
        print(f"{len(turns):,} turns, {len(facts):,} facts")
        return {
            "turn": {
                "state": _state(said) / len(turns),
                "topic": _on_topic(said, TURNS_TOPIC) / len(turns),
                "redis": await _in_redis(place, turns) / len(turns),
                "qdrant": await _in_index(memory.turns, [turn.turn_id for turn in turns], turns, place),
            },
            "fact": {
                "state": _state(learned) / len(facts),
                "topic": _on_topic(learned, FACTS) / len(facts),
                "qdrant": await _in_index(memory.facts, [fact.fact_id for fact in facts], facts, place),
            },
        }


def _records(harness: StageHarness, topic: str, kind: type[Item], id_field: str) -> dict[str, Item]:
    """Return the last record of each thing on a topic."""
    found = (msgspec.json.decode(each.value, type=kind) for each in harness.outputs if each.topic == topic)
    return {getattr(item, id_field): item for item in found}


async def _in_redis(place: Path, turns: Sequence[Turn]) -> int:
    """Return what the conversation log weighs in a Valkey of its own."""
    settings = Settings(data_dir=place / "valkey")
    valkey = LocalValkey(settings.folder, settings.instance_id)
    client: Any = valkey.client()
    log = ConversationLog(client, settings.namespace, ready=valkey.ensure)
    try:
        await log.write([])
        await valkey.ensure()
        before = (await client.info("memory"))["used_memory"]
        for at in range(0, len(turns), _BATCH):
            await log.write([(turn, turn.source.offset) for turn in turns[at : at + _BATCH]])
        return int((await client.info("memory"))["used_memory"] - before)
    finally:
        await client.aclose()
        await valkey.close()


async def _in_index(
    index: SearchIndex[Any, Any], names: Sequence[str], items: Sequence[Any], place: Path
) -> float:
    """Return what each weighs on the disk, with its vector."""
    before, drawn = _on_disk(place), np.random.default_rng(0)
    for at in range(0, len(items), _BATCH):
        part = names[at : at + _BATCH]
        await index.upsert(items[at : at + _BATCH])
        vectors = drawn.standard_normal((len(part), index.space.dimensions), dtype=np.float32)
        await index.store_vectors(part, vectors, index.space.model)
    await asyncio.sleep(_FLUSHED)
    return (_on_disk(place) - before) / len(items)


def main(arguments: list[str]) -> int:
    """Measure."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality.recall.footprint")
    parser.add_argument("--turns", type=int, default=10_000)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args(arguments)
    found = asyncio.run(measure(given.turns))
    for kind, of in found.items():
        print(f"bytes of a {kind}: " + ", ".join(f"{where} {size:,.0f}" for where, size in of.items()))
    if given.json:
        given.json.write_bytes(msgspec.json.encode(found))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
