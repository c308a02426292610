"""The consumer between the broker and the stages: what is fetched around a seek, and what is committed.

The consumer thread is replaced by one that the test drives; the real one is in tests/faults.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import structlog

from models.errors import ConsistencyError
from streams.runtime.consumer import BatchConsumer
from streams.runtime.consumer_thread import BatchConsumerThread, Fetch, Offsets
from streams.runtime.faust_internals import TP
from streams.runtime.ledger import DeliveryLedger
from streams.runtime.records import Record
from streams.runtime.scheduler import BatchScheduler

TP0 = TP("messages", 0)
CHANGELOG = TP("changelog", 0)


class Thread:
    """Answers fetches with what the test has put there, and remembers seeks and commits."""

    def __init__(self) -> None:
        self.answers: list[dict[TP, Fetch]] = []
        self.wanted: list[set[TP]] = []
        self.sought: dict[TP, int] = {}
        self.commits: list[dict[TP, int]] = []
        self.known = Offsets(0, 100, None)

    async def fetch(self, wanted: set[TP], timeout: float, epoch: int) -> dict[TP, Fetch]:
        self.wanted.append(wanted)
        return self.answers.pop(0) if self.answers else {}

    async def offsets(self, tps: list[TP]) -> dict[TP, Offsets]:
        return dict.fromkeys(tps, self.known)

    async def seek_all(self, positions: dict[TP, int], pause: set[TP] = frozenset()) -> None:
        self.sought = dict(positions)
        self.paused = pause

    async def commit(self, offsets: dict[TP, int]) -> bool:
        self.commits.append(dict(offsets))
        return True

    def assignment(self) -> set[TP]:
        return {TP0, CHANGELOG}


class BareConsumer(BatchConsumer):
    """The consumer without a Faust app under it."""

    def __init__(self, thread: Thread) -> None:
        self.epoch = 1
        self.ledger = DeliveryLedger()
        self.positions = {}
        self._ends = {}
        self.ends_at_seek = {}
        self._thread = thread  # type: ignore[assignment]  # driven by the test
        self.scheduler = BatchScheduler(lambda topic: (2, topic, 0))
        self.flow_active = True
        self.can_resume_flow = asyncio.Event()
        self.suspend_flow = asyncio.Event()
        self._active_partitions = {TP0, CHANGELOG}
        self._paused_partitions = set()
        self._committed_offset = {}
        self._unacked_messages = set()
        self.failure: Exception | None = None
        self.app = SimpleNamespace(  # type: ignore[assignment]  # as much of an app as is asked for
            tables=SimpleNamespace(changelog_topics={"changelog"}),
            consumer_generation_id=1,
            runtime=SimpleNamespace(
                settings=SimpleNamespace(
                    batches_in_flight=8, auto_offset_reset="earliest", request_timeout_seconds=5
                ),
                log=structlog.get_logger(),
                unread_changelogs=lambda known: {},
                reset_hint="switchboard state reset ingest",
                abandon=lambda: None,
                on_sought=lambda positions: None,
                check_end=lambda tp, offsets: None,
                fail=self._fail,
            ),
        )

    def _fail(self, exc: Exception) -> None:
        self.failure = exc

    def assignment(self) -> set[TP]:
        return self._thread.assignment()

    async def take(self) -> list[Any]:
        return [message async for _, message in self.getmany(timeout=0.01)]


def records(*offsets: int) -> list[Record]:
    return [Record(b"v", b"k", offset, "messages") for offset in offsets]


@pytest.fixture
async def consumer() -> BareConsumer:
    return BareConsumer(Thread())


@pytest.fixture
async def sought(consumer: BareConsumer) -> BareConsumer:
    """A consumer whose partition stands at offset 10."""
    consumer._thread.known = Offsets(0, 100, 10)
    await consumer.perform_seek()
    consumer.resume_flow()
    return consumer


class TestSeek:
    async def test_nothing_of_a_partition_is_fetched_before_it_was_sought(self, consumer: BareConsumer) -> None:
        await consumer.take()
        assert consumer._thread.wanted == [{CHANGELOG}]

    async def test_after_a_seek_nothing_is_delivered_until_recovery_resumes_the_flow(
        self, consumer: BareConsumer
    ) -> None:
        """Recovery clears Faust's queues before it does: what was delivered sooner would be lost there."""
        await consumer.perform_seek()
        assert not consumer.flow_active

    async def test_state_stands_still_while_it_is_compared_with_the_ends_of_its_sources(
        self, consumer: BareConsumer
    ) -> None:
        """Its previous owner may still write; a mark that is read later than the end lies beyond it."""
        asked = []

        async def offsets(tps: set[TP]) -> dict[TP, Offsets]:
            asked.append((tps, consumer.flow_active))
            return dict.fromkeys(tps, consumer._thread.known)

        consumer._thread.offsets = offsets  # type: ignore[method-assign]
        await consumer.perform_seek()
        assert asked == [({CHANGELOG}, True), ({TP0}, False)]

    async def test_without_a_commit_it_starts_where_it_is_told_to(self, consumer: BareConsumer) -> None:
        consumer._thread.known = Offsets(7, 100, None)
        await consumer.perform_seek()
        assert consumer._thread.sought == {TP0: 7}
        consumer.app.runtime.settings.auto_offset_reset = "latest"
        await consumer.perform_seek()
        assert consumer._thread.sought == {TP0: 100}

    async def test_what_was_fetched_in_an_older_epoch_is_dropped(self, sought: BareConsumer) -> None:
        async def and_then_a_revoke(*_: Any) -> dict[TP, Fetch]:
            sought.new_epoch()
            return {TP0: Fetch(10, records(10, 11), 12)}

        sought._thread.fetch = and_then_a_revoke  # type: ignore[method-assign]
        assert await sought.take() == []
        assert sought.ledger.total_outstanding() == 0


class TestPositions:
    async def test_batches_continue_from_one_another_over_the_ends_of_transactions(
        self, sought: BareConsumer
    ) -> None:
        sought._thread.answers = [
            {TP0: Fetch(10, records(10, 11, 12), 14)},  # 13 ends a transaction
            {TP0: Fetch(14, [], 20)},  # aborted records
            {TP0: Fetch(20, records(21), 22)},
        ]
        batches = [message.value for _ in range(3) for message in await sought.take()]
        assert [(batch.position, batch.first_offset, batch.offset) for batch in batches] == [
            (10, 10, 11),
            (12, 12, 12),
            (13, 21, 21),
        ]
        assert sought.positions == {TP0: 22}

    async def test_a_fetch_that_does_not_continue_the_last_one_stops_the_worker(
        self, sought: BareConsumer
    ) -> None:
        """A hole in the offsets says nothing; a fetch that begins elsewhere says that records were lost."""
        sought._thread.answers = [{TP0: Fetch(15, records(15), 16)}]
        with pytest.raises(ConsistencyError, match="switchboard state reset"):
            await sought.take()

    @pytest.mark.parametrize(
        ("beginning", "fetch", "says"),
        [
            (0, Fetch(None, records(0), 1), "deleted and made again"),
            (0, Fetch(None, [], 0), "deleted and made again"),
            (50, Fetch(None, records(50), 51), "retention removed offsets 10 to 49"),
        ],
    )
    async def test_a_position_that_the_broker_no_longer_has_stops_the_worker(
        self, sought: BareConsumer, beginning: int, fetch: Fetch, says: str
    ) -> None:
        sought._thread.known = Offsets(beginning, 100, 10)
        sought._thread.answers = [{TP0: fetch}]
        with pytest.raises(ConsistencyError, match=says):
            await sought.take()


class TestCommits:
    async def test_what_was_delivered_and_not_acked_is_never_committed(self, sought: BareConsumer) -> None:
        sought._thread.answers = [{TP0: Fetch(10, records(10, 11, 12), 14)}]
        first, second = await sought.take()
        assert not await sought.force_commit()
        sought.ack(second)
        assert not await sought.force_commit()
        sought.ack(first)
        assert await sought.force_commit()
        assert sought._thread.commits == [{TP0: 14}], "the end of the transaction is read, too"

    async def test_positions_are_forgotten_with_the_batches_that_they_stand_for(
        self, sought: BareConsumer
    ) -> None:
        sought._thread.answers = [{TP0: Fetch(10, records(10, 11), 12)}]
        await sought.take()
        sought._forget()
        assert not await sought.force_commit(), "two records were given up; a commit would skip them"

    async def test_aborted_records_alone_are_committed_over(self, sought: BareConsumer) -> None:
        sought._thread.answers = [{TP0: Fetch(10, [], 17)}]
        assert await sought.take() == []
        assert await sought.force_commit()
        assert sought._thread.commits == [{TP0: 17}]

    async def test_nothing_new_is_not_committed_again(self, sought: BareConsumer) -> None:
        assert not await sought.force_commit()


class Fetcher:
    """aiokafka's fetcher: waits for records until the test hands them over."""

    def __init__(self) -> None:
        self.position = 10
        self.records: asyncio.Future[dict[TP, list[Record]]] = asyncio.get_running_loop().create_future()
        self._closed = False
        self._subscriptions = self

    @contextlib.contextmanager
    def fetch_context(self) -> Iterator[None]:
        yield

    async def fetched_records(self, wanted: set[TP], timeout: float) -> dict[TP, list[Record]]:
        taken = await self.records
        self.position = taken[TP0][-1].offset + 1
        return taken

    def is_assigned(self, tp: TP) -> bool:
        return True

    def seek_to(self, tp: TP, offset: int) -> None:
        self.position = offset


class TestThread:
    async def test_a_fetch_that_outlives_a_seek_puts_back_what_it_took(self) -> None:
        """Waiting for records before the seek, it is handed those after it; they must be fetched again."""
        fetcher = Fetcher()
        state = SimpleNamespace(has_valid_position=True, position=10)
        assignment = SimpleNamespace(state_value=lambda tp: state)
        thread = BatchConsumerThread.__new__(BatchConsumerThread)
        thread.consumer = SimpleNamespace(epoch=1)  # type: ignore[assignment]  # all it asks for
        thread._consumer = SimpleNamespace(
            _closed=False,
            _fetcher=fetcher,
            _subscription=SimpleNamespace(subscription=SimpleNamespace(assignment=assignment)),
        )
        fetch = asyncio.create_task(thread._fetch({TP0}, 1.0, 1))
        await asyncio.sleep(0)
        thread.consumer.epoch = 2
        fetcher.seek_to(TP0, 40)
        fetcher.records.set_result({TP0: records(40, 41)})
        assert await fetch == {}
        assert fetcher.position == 40
