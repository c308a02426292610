"""The same log, the same result: a worker is killed, loses its state and reads everything again.

``SWITCHBOARD_TEST_REPLAY_MESSAGES`` (60,000; 1,000,000 in a soak) sets its size.
"""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import Sequence

import msgspec
import pytest
from chat_load import Shape
from harness import Deployment
from summarizer import Summarizer
from topic_reader import read_topic
from verdict import REQUESTS, SUMMARIES, WINDOWS
from workers import Worker, eventually

from streams.cli import main
from streams.clients import commands
from streams.config.settings import load_settings

pytestmark = [pytest.mark.kafka, pytest.mark.faults, pytest.mark.long]

MESSAGES_SENT = int(os.environ.get("SWITCHBOARD_TEST_REPLAY_MESSAGES", "60000"))

Digests = dict[str, set[bytes]]


async def closed(stream: Deployment, conversations: Sequence[str]) -> None:
    settings = load_settings(**stream.settings("closing"))
    await commands.send(settings, [commands.closing(name) for name in conversations])


async def read(stream: Deployment, name: str, first: dict[int, int]) -> tuple[Digests, dict[int, int]]:
    """Return what lies in a topic from ``first`` on, by id, and where each partition ends."""
    topic = stream.catalog.get(name)
    found: Digests = {}
    ends: dict[int, int] = {}
    for record in await read_topic(stream.servers, topic.name, topic.partitions):
        ends[record.partition] = record.offset + 1
        if record.offset < first.get(record.partition, 0):
            continue
        value = msgspec.json.decode(record.value)
        identity = value.get("window_id") or value["request_id"]
        value.pop("attempt", None)  # how often it was asked again is the clock's doing
        found.setdefault(identity, set()).add(msgspec.json.encode(value))
    return found, ends


async def outputs(
    stream: Deployment, first: dict[str, dict[int, int]]
) -> tuple[dict[str, Digests], dict[str, dict[int, int]]]:
    found = {name: await read(stream, name, first.get(name, {})) for name in (WINDOWS, REQUESTS, SUMMARIES)}
    return {name: each[0] for name, each in found.items()}, {name: each[1] for name, each in found.items()}


async def settled(stream: Deployment, summarizer: Summarizer) -> None:
    async def calm() -> bool:
        answered = await summarizer.has_answered_all()
        return answered and await stream.behind() == {} and await summarizer.has_answered_all()

    await eventually(calm, "everything is processed", 120 + MESSAGES_SENT / 500, poll=0.5)


async def killed_at_times(worker: Worker, chance: random.Random, until: asyncio.Future) -> int:
    kills = 0
    while not until.done():
        await worker.ready()
        await asyncio.sleep(chance.uniform(0.5, 4))
        worker.kill()
        worker.start()
        kills += 1
    return kills


@pytest.mark.timeout(600 + MESSAGES_SENT / 200)
async def test_a_replay_after_a_reset_makes_the_same(stream, seed, monkeypatch, capsys):
    """Windows, requests and summaries: none missing, none new, each with the same content and id.

    Conversations are closed in the middle, and producers put some records into wrong partitions: what the
    service wrote among the messages because of that is there already when they are read again, and is written
    once more.
    """
    chance = random.Random(seed)
    # The reset waits until the group has given up the worker that stopped.
    worker = stream.worker("a", session_timeout_seconds=10)
    shape = Shape(conversations=200, length=60)
    stray = MESSAGES_SENT // 20
    async with Summarizer(stream.servers, stream.catalog) as summarizer:
        loads = [
            stream.load(MESSAGES_SENT - stray, rate=6000, records=stream.messages(shape)),
            stream.load(stray, rate=300, records=stream.messages(name="stray"), partition=lambda key: 0),
        ]
        await loads[0].reaches(MESSAGES_SENT // 4)
        sending = asyncio.gather(*[load.finish(600) for load in loads])
        killing = asyncio.create_task(killed_at_times(worker, chance, sending))
        await closed(stream, [f"c{number}" for number in range(1, 150)])
        await loads[0].reaches(MESSAGES_SENT // 2)
        await closed(stream, [f"c{number}" for number in range(100, 250)] + ["stray1", "stray2"])
        await sending
        assert await killing > 0
        await closed(stream, [f"c{number}" for number in range(200, 300)])
        await settled(stream, summarizer)
        await stream.verdict()
        before, ends = await outputs(stream, {})

        assert await worker.stops() == 0
        for name, value in stream.settings("a", session_timeout_seconds=10).items():
            monkeypatch.setenv(f"SWITCHBOARD_{name.upper()}", str(value))
        reset = await asyncio.to_thread(main.run, ["state", "reset", "ingest", "--yes"])
        assert reset == 0, capsys.readouterr().err
        worker.start()
        killing = asyncio.create_task(killed_at_times(worker, chance, asyncio.create_task(asyncio.sleep(8))))
        await killing
        await worker.ready()
        await settled(stream, summarizer)
        after, _ = await outputs(stream, ends)
    for name in (WINDOWS, REQUESTS, SUMMARIES):
        assert len(before[name]) > 100, name
        assert after[name].keys() == before[name].keys(), name
        assert after[name] == before[name], name
        assert all(len(contents) == 1 for contents in after[name].values()), name
    print(f"replayed: {', '.join(f'{len(found)} of {name}' for name, found in after.items())}")
