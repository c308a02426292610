"""Another version takes over from the one before, worker by worker under load, and the other way round.

``make test-upgrade BEFORE=COMMIT`` runs it; without the folder of another version there is nothing to replace.
What cannot roll is refused: state that a later version stored stops a worker before it changes anything.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer, ConsumerRecord
from chat_load import Load
from harness import SHORT_SESSION, Deployment
from test_memory_model_faults import MEMORY, PEOPLE, Told
from test_memory_model_faults import Stream as Facts
from test_recall_faults import RECALL, House
from test_recall_faults import Stream as Turns
from test_respond_faults import Stream as Responses
from topic_reader import read_topic
from verdict import CHANGELOG
from workers import Worker

from processors.conversations.state import is_page
from streams.agents.ingest import summary_ledger

BEFORE = os.environ.get("SWITCHBOARD_TEST_BEFORE", "")

pytestmark = [pytest.mark.kafka, pytest.mark.faults, pytest.mark.long]

with_another_version = pytest.mark.skipif(not BEFORE, reason="make test-upgrade names the version before")

RUN = "from streams.cli.main import main; main()"

SHORT: dict[str, Any] = {**SHORT_SESSION}

Making = Callable[[Callable[..., Any]], Any]
GoingOn = Callable[[], Awaitable[None]]


@pytest.fixture
def deploying(kafka, topic_prefix, tmp_path, worker_logs, seed):
    """Make a deployment of a kind; each test here has another one."""
    return lambda kind: kind(kafka.bootstrap_servers, topic_prefix, tmp_path, worker_logs, seed)


def of_before(service: str, *program: str) -> list[str]:
    """A service of the version before.  Its code comes first, wherever it is started."""
    program = program or ("-c", RUN)
    return ["env", f"PYTHONPATH={BEFORE}", sys.executable, "-P", *program, "worker", service]


async def roll(old: dict[str, Worker], renew: Callable[[str], Worker], going_on: GoingOn) -> None:
    """Replace workers one by one and back; ``going_on`` returns when something more has come in."""
    for worker in old.values():
        await worker.ready()
    await going_on()
    before = {*map(code_of, old.values())}
    new = {}
    for name, worker in old.items():
        assert await worker.stops() == 0
        new[name] = renew(name)
        await new[name].ready()
        await going_on()
    assert not before & {*map(code_of, new.values())}, "two versions"
    for name, worker in new.items():
        assert await worker.stops() == 0
        old[name].start()
        await old[name].ready()
        await going_on()


def code_of(worker: Worker) -> str:
    """The version that a worker says it is."""
    return str(worker.says("stage")[-1]["code"])


def loaded(load: Load, records: int) -> GoingOn:
    async def going_on() -> None:
        await load.reaches(load.sent + records)

    return going_on


@with_another_version
async def test_ingest_is_replaced_worker_by_worker_and_back(deploying: Making) -> None:
    async with deploying(Deployment) as stream:
        old = {name: stream.start(of_before("ingest"), name, **SHORT) for name in "ab"}
        load = stream.load(rate=2000)
        await roll(old, lambda name: stream.worker(name, **SHORT), loaded(load, 3000))
        await load.stop()
        await stream.verdict()


@with_another_version
async def test_respond_is_replaced_worker_by_worker_and_back(deploying: Making) -> None:
    async with deploying(Responses) as stream:
        command = of_before("respond", f"{BEFORE}/tests/faults/patient.py")
        old = {name: stream.start(command, name, **SHORT) for name in "ab"}
        load = stream.chunks(rate=2000)
        await roll(old, lambda name: stream.worker(name, **SHORT), loaded(load, 3000))
        await load.stop()
        await stream.verdict()


@with_another_version
async def test_recall_is_replaced_and_back(deploying: Making) -> None:
    """It has one worker: the embedded Qdrant belongs to one process."""
    async with deploying(Turns) as stream:
        house = House(stream, of_before("recall"))
        load = house.load()
        await roll({"r": house.worker}, lambda _: House(stream, RECALL).worker, loaded(load, 100))
        await load.stop()
        await house.verdict()


@with_another_version
async def test_memory_is_replaced_worker_by_worker_and_back(deploying: Making) -> None:
    """The facts of what comes in meanwhile are those of what comes in when nothing is replaced."""
    async with deploying(Facts) as stream:
        memory, groups = Told(stream), list[str]()

        async def going_on() -> None:
            groups.append(f"g{len(groups)}")
            await memory.told(groups[-1])

        old = {name: stream.start(of_before("memory"), name, **SHORT) for name in "ab"}
        await roll(old, lambda name: stream.start(MEMORY, name, **SHORT), going_on)
        await memory.drained()
        await memory.told("calm")
        await memory.drained()
        expected = await memory.facts("calm")
        assert len(expected) >= PEOPLE
        for group in groups:
            assert await memory.facts(group) == expected, group


async def test_state_of_a_later_version_is_refused_and_kept(stream: Deployment) -> None:
    """A worker of the version before cannot read it; it says which one can, and writes nothing."""
    worker = stream.worker("a")
    await worker.ready()
    await stream.load(400, rate=4000).finish()
    await stream.drained()
    assert await worker.stops() == 0
    topic = stream.catalog.get(CHANGELOG)
    stored = await read_topic(stream.servers, topic.name, topic.partitions)
    latest = next(each for each in reversed(stored) if is_state(each))
    at = payload_at(latest.value)
    later = latest.value[:at] + bytes([latest.value[at] + 5]) + latest.value[at + 1 :]
    async with AIOKafkaProducer(bootstrap_servers=stream.servers) as producer:
        await producer.send_and_wait(topic.name, later, latest.key, latest.partition)
    ends = await length(stream)
    worker.start()
    assert await worker.exits() == 70
    [said] = worker.says("the worker stops")
    assert "this program reads" in said["error"] and "Run the release that wrote it" in said["error"]
    assert await length(stream) == ends


def is_state(record: ConsumerRecord) -> bool:
    """Say whether a record is the state of a conversation, which is stored under its name."""
    value = record.value
    own = not is_page(record.key) and not summary_ledger.is_ledger(record.key)
    return own and bool(value) and len(value) > payload_at(value)


def payload_at(value: bytes) -> int:
    """Return the index of a stored value's payload, after the marks (streams/runtime/marks.py)."""
    return 3 + 4 * value[2] + 4 + 8 * value[2]


async def length(stream: Deployment) -> int:
    topic = stream.catalog.get(CHANGELOG)
    return len(await read_topic(stream.servers, topic.name, topic.partitions))
