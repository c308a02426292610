"""Cost of looking up one conversation of many: ``python -m benchmarks.pipeline.lookup [CONVERSATIONS]``.

As JSON: milliseconds (median) for a conversation's state and for its log, by a process that asks for the first
time (it reads whole partitions, as every question did before there were places) and by one that has asked
before, and how many times as long the first takes.
"""

from __future__ import annotations

import asyncio
import json
import logging
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from aiokafka import AIOKafkaProducer

from benchmarks.pipeline.workload import chat_message
from deploy.local.kafka import LocalKafka
from processors.conversations.state import ConversationState
from streams.admin.topics import admin
from streams.agents.ingest.conversations import STATE
from streams.clients.catalog import Catalog, catalog_for
from streams.clients.kafka.lookup import Lookup
from streams.clients.partitioner import partition_of
from streams.config.settings import Settings
from streams.queries.conversations import states as conversation_states
from streams.queries.live.history import History
from streams.queries.live.interest import Interest
from streams.runtime.marks import Layout

_COLD, _WARM = 5, 30


async def _fill(settings: Settings, catalog: Catalog, conversations: int) -> None:
    messages, states = catalog.get("chat.messages.v1"), catalog.get(conversation_states.CHANGELOG)
    layout = Layout(conversation_states.SOURCES)
    async with AIOKafkaProducer(
        bootstrap_servers=settings.bootstrap_servers, linger_ms=20, max_batch_size=1 << 18
    ) as producer:
        for number in range(conversations):
            key, value = chat_message(number, conversations)
            place = partition_of(key, messages.partitions)
            await producer.send(messages.name, value, key=key, partition=place)
            state = ConversationState("default", "ada", next_index=1, end_mark="")
            sealed = layout.seal(None, STATE.encode(state), 0, number)
            await producer.send(states.name, sealed, key=key, partition=place)
        await producer.flush()


async def _milliseconds(ask: Callable[[str], Awaitable[object]], conversations: int, times: int) -> float:
    taken = []
    for _ in range(times):
        name = f"conversation-{random.randrange(conversations):06d}"
        began = time.perf_counter()
        await ask(name)
        taken.append(1000 * (time.perf_counter() - began))
    return round(statistics.median(taken), 1)


async def measure(settings: Settings, conversations: int) -> dict[str, dict[str, float]]:
    """Return the figures."""
    catalog = catalog_for(settings)
    await admin.apply(catalog, settings)
    await _fill(settings, catalog, conversations)
    kept = Lookup(settings)

    async def state(name: str, lookup: Lookup | None = None) -> object:
        found = await conversation_states.find(lookup or Lookup(settings), name)
        assert found is not None
        return found

    async def log(name: str, lookup: Lookup | None = None) -> object:
        found = await History(settings, catalog, lookup or Lookup(settings)).log(
            Interest(conversation_id=name), 5000
        )
        assert len(found.events) == 1
        return found

    figures = {}
    for what, ask in (("state", state), ("log", log)):
        first = await _milliseconds(ask, conversations, _COLD)
        for name in range(64):  # each partition once
            await ask(f"conversation-{name:06d}", kept)
        again = await _milliseconds(lambda name, ask=ask: ask(name, kept), conversations, _WARM)  # type: ignore[misc]
        figures[what] = {"first": first, "again": again, "ratio": round(first / again, 1)}
    return figures


def main() -> None:
    """Measure on a broker of its own."""
    logging.disable(logging.WARNING)
    conversations = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    with (
        tempfile.TemporaryDirectory() as folder,
        LocalKafka(Path(folder) / "kafka", heap="1g", lasting=True) as kafka,
    ):
        settings = Settings(bootstrap_servers=kafka.bootstrap_servers, data_dir=Path(folder))
        figures = asyncio.run(measure(settings, conversations))
    print(json.dumps({"conversations": conversations, **figures}))


if __name__ == "__main__":
    main()
