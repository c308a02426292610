"""The verdict itself: it finds what is missing, wrong, invented or out of order (no broker)."""

from __future__ import annotations

import itertools
import time
from collections.abc import AsyncIterator, Callable

import msgspec
import pytest
from aiokafka import ConsumerRecord
from aiokafka.partitioner import DefaultPartitioner
from chat_load import Shape, conversations
from verdict import CHANGELOG, DEAD_LETTERS, MESSAGES, REQUESTS, SUMMARIES, WINDOWS, Verdict, policy

from streams.adapters.tokenizer import cl100k_counter
from streams.agents.ingest.conversations import Conversations
from streams.runtime.records import RecordBatch
from streams.runtime.stored import StoredPartition
from streams.runtime.table import PartitionState
from streams.settings import Settings
from streams.topics.catalog import load_catalog

THRESHOLD = 300
PARTITIONS = list(range(8))
Topics = dict[str, list[ConsumerRecord]]


ARRIVED_MS = int(time.time() * 1000)


def record(topic: str, partition: int, offset: int, key: bytes | None, value: bytes | None, headers=()):
    return ConsumerRecord(topic, partition, offset, ARRIVED_MS, 1, key, value, None, 0, 0, tuple(headers))


def run_stage(seed: int) -> Topics:
    """What the topics hold after the real step has worked through some messages, a few of them bad."""
    topics: Topics = {name: [] for name in (MESSAGES, WINDOWS, REQUESTS, SUMMARIES, DEAD_LETTERS, CHANGELOG)}
    murmur2 = DefaultPartitioner()
    load = conversations(seed, Shape(conversations=12, length=20))
    logs: dict[int, list[ConsumerRecord]] = {number: [] for number in PARTITIONS}
    for number, (key, value) in enumerate(itertools.islice(load, 1500)):
        log = logs[murmur2(key, PARTITIONS, PARTITIONS)]
        spoiled = value[:-1] if number % 100 == 99 else value
        log.append(record(MESSAGES, murmur2(key, PARTITIONS, PARTITIONS), len(log), key, spoiled))
    stage = Conversations(Settings(token_threshold=THRESHOLD), cl100k_counter()).stage()
    assert stage.step is not None
    for partition, log in logs.items():
        topics[MESSAGES] += log
        state = PartitionState(StoredPartition(stage.sources))
        for at in range(0, len(log), 50):
            effects = stage.step(RecordBatch(log[at : at + 50], source=MESSAGES), state)
            for output in effects.outputs:
                topics[output.topic].append(record(output.topic, partition, 0, output.key, output.value))
            for letter in effects.dead_letters:
                bad = letter.record
                why = {
                    "reason": letter.reason,
                    "partition": partition,
                    "offset": bad.offset,
                    "topic": bad.topic,
                }
                headers = [(f"dlq_{name}", str(text).encode()) for name, text in why.items()]
                topics[DEAD_LETTERS].append(record(DEAD_LETTERS, partition, 0, bad.key, bad.value, headers))
            for key, change in effects.changes.items():
                stored = state.store({key: change})
                state.confirm(stored)
                topics[CHANGELOG].append(record(CHANGELOG, partition, 0, key, stored[key] or None))
    return topics


class GivenTopics(Verdict):
    """The verdict over topics that a test has made up."""

    def __init__(self, topics: Topics) -> None:
        super().__init__("", load_catalog(), cl100k_counter(), policy=policy(token_threshold=THRESHOLD))
        self._topics = topics

    async def _read(self, name: str, partition: int) -> AsyncIterator[ConsumerRecord]:
        for one in self._topics[name]:
            if one.partition == partition:
                yield one


@pytest.fixture
def topics(seed: int) -> Topics:
    return run_stage(seed)


async def test_what_the_stage_writes_is_as_expected(topics: Topics) -> None:
    expected = await GivenTopics(topics).check()
    assert expected.windows and expected.dead_letters and expected.repeats
    assert topics[REQUESTS]


async def test_copies_are_no_problem(topics: Topics) -> None:
    for name in (WINDOWS, REQUESTS, DEAD_LETTERS):
        topics[name] = [copy for one in topics[name] for copy in (one, one)]
    await GivenTopics(topics).check()


def lose(name: str) -> Callable[[Topics], None]:
    def change(topics: Topics) -> None:
        del topics[name][len(topics[name]) // 2]

    return change


def replace(name: str, pattern: bytes, by: bytes) -> Callable[[Topics], None]:
    def change(topics: Topics) -> None:
        at = next(at for at, one in enumerate(topics[name]) if pattern in one.value)
        one = topics[name][at]
        changed = one.value.replace(pattern, by, 1)
        topics[name][at] = record(name, one.partition, one.offset, one.key, changed, one.headers)

    return change


def swap_windows(topics: Topics) -> None:
    key = next(one.key for one in topics[WINDOWS] if b'"from_index":7' in one.value)
    at = [at for at, one in enumerate(topics[WINDOWS]) if one.key == key]
    windows = topics[WINDOWS]
    windows[at[0]], windows[at[1]] = windows[at[1]], windows[at[0]]


def lose_the_last_state(topics: Topics) -> None:
    last = topics[CHANGELOG][-1].key
    topics[CHANGELOG] = [one for one in topics[CHANGELOG][:-1] if one.key != last]


def invent_a_window(topics: Topics) -> None:
    window = msgspec.json.decode(topics[WINDOWS][0].value)
    value = msgspec.json.encode(window | {"window_id": "invented"})
    topics[WINDOWS].append(record(WINDOWS, 0, 0, b"invented", value))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lose(WINDOWS), "is missing"),
        (lose(REQUESTS), "is missing"),
        (lose(DEAD_LETTERS), "is missing or differs"),
        (lose(MESSAGES), "expected"),
        (lose_the_last_state, "state of"),
        (invent_a_window, "is not expected"),
        (swap_windows, "comes after a later one"),
        (replace(WINDOWS, b'"overlap":3', b'"overlap":2'), "has the wrong content"),
        (replace(REQUESTS, b'"tokens":', b'"tokens":1'), "is expected"),
        (replace(DEAD_LETTERS, b"message_id", b"message_1d"), "is missing or differs"),
    ],
)
async def test_it_finds(topics: Topics, change: Callable[[Topics], None], says: str) -> None:
    change(topics)
    with pytest.raises(AssertionError, match=says):
        await GivenTopics(topics).check()


def test_the_load_is_the_same_for_the_same_seed() -> None:
    first, again = ([*itertools.islice(conversations(7, Shape()), 300)] for _ in range(2))
    assert [key for key, _ in first] == [key for key, _ in again]
