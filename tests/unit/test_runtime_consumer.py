"""The consumer between the broker and the stages: what is fetched around a seek, and what is committed.

The consumer thread is replaced by one that the test drives; the real one is in tests/faults.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import mode
import pytest
import structlog
from aiokafka.errors import (
    CommitFailedError,
    CorruptRecordException,
    IllegalStateError,
    KafkaTimeoutError,
    NodeNotReadyError,
    TopicAuthorizationFailedError,
)
from aiokafka.structs import TopicPartition
from aiokafka.util import commit_structure_validate

from models.errors import ConfigurationError, ConsistencyError
from streams.clients.records import Record
from streams.runtime.consumer import BatchConsumer
from streams.runtime.consumer_thread import BatchConsumerThread, Fetch
from streams.runtime.epoch import Epoch, EpochOver, Offsets, Progress
from streams.runtime.faust_internals import TP, Consumer
from streams.runtime.scheduler import BatchScheduler
from streams.runtime.unpacking import Unpacker

TP0 = TP("messages", 0)
CHANGELOG = TP("changelog", 0)


class Thread:
    """Answers fetches with what the test has put there, and remembers seeks and commits."""

    def __init__(self) -> None:
        self.answers: list[dict[TP, Fetch]] = []
        self.wanted: list[set[TP]] = []
        self.sought: list[dict[TP, int]] = []
        self.asked: list[set[TP]] = []
        self.commits: list[dict[TP, int]] = []
        self.accepts = True
        self.known = Offsets(0, 100, None)
        self.ends = {TP0: 40}
        self.timeouts: list[float] = []

    async def fetch(self, wanted: set[TP], timeout: float, epoch: Epoch) -> dict[TP, Fetch]:
        assert 0 < timeout < 1, "a seek waits for the fetch before it"
        assert epoch.running
        self.wanted.append(wanted)
        self.timeouts.append(timeout)
        return self.answers.pop(0) if self.answers else {}

    async def offsets(self, tps: set[TP]) -> dict[TP, Offsets]:
        self.asked.append(tps)
        return dict.fromkeys(tps, self.known)

    async def seek_all(self, starts: dict[TP, int]) -> None:
        self.sought.append(starts)

    async def commit(self, offsets: dict[TP, int]) -> bool:
        self.commits.append(dict(offsets))
        return self.accepts

    def assignment(self) -> set[TP]:
        return {TP0, CHANGELOG}

    def highwater(self, tp: TP) -> int | None:
        return self.ends.get(tp)


class Service:
    """As much of a service as the consumer asks for."""

    reset_hint = "switchboard state reset ingest"

    def __init__(self) -> None:
        self.settings = SimpleNamespace(
            batches_in_flight=8,
            unacked_bytes=1000,
            ahead_records=1000,
            ahead_bytes=1000,
            auto_offset_reset="earliest",
            request_timeout_seconds=5,
            session_timeout_seconds=600,
        )
        self.log = structlog.get_logger()
        self.failure: BaseException | None = None
        self.happened: list[Any] = []
        self.marks: dict[TP, int] = {}
        self.meanwhile: dict[str, Callable[[], None]] = {}
        self.in_turn: set[str] = set()

    def serves_in_turn(self, topic: str) -> bool:
        return topic in self.in_turn

    def fail(self, exc: BaseException) -> None:
        self.failure = exc

    def check_end(self, tp: TP, offsets: Offsets) -> None:
        assert tp == TP0
        if offsets.committed is not None and offsets.committed > offsets.end:
            raise ConsistencyError("a commit beyond the end")

    async def recover(self, epoch: Epoch, changelogs: set[TP]) -> None:
        epoch.check()
        self.happened.append(("recover", changelogs))
        await asyncio.sleep(0)
        self.meanwhile.pop("recover", lambda: None)()

    async def view_marks(self, epoch: Epoch, tps: set[TP]) -> dict[TP, int]:
        epoch.check()
        return {tp: mark for tp, mark in self.marks.items() if tp in tps}

    def on_assigned(self, assigned: set[TP]) -> None:
        self.happened.append(("assigned", assigned))

    def on_sought(self, epoch: Epoch) -> None:
        self.happened.append(("sought", set(epoch.partitions)))

    async def drain(self, epoch: Epoch) -> None:
        self.happened.append(("drain", epoch.running))
        self.meanwhile.pop("drain", lambda: None)()


class BareConsumer(BatchConsumer):
    """The consumer without a Faust app under it."""

    def __init__(self, thread: Thread) -> None:
        self.epoch = Epoch()
        self._thread = thread  # type: ignore[assignment]  # driven by the test
        self.scheduler = BatchScheduler(lambda topic: (2, topic, 0), 1_000_000)
        self.flow_active = True
        self.can_resume_flow = asyncio.Event()
        self.suspend_flow = asyncio.Event()
        self._active_partitions = {TP0, CHANGELOG}
        self._paused_partitions = set()
        self._unacked_messages = set()
        self.service = Service()
        self.app = SimpleNamespace(  # type: ignore[assignment]  # as much of an app as is asked for
            tables=SimpleNamespace(changelog_topics={"changelog"}),
            consumer_generation_id=1,
            should_stop=False,
            runtime=self.service,
        )

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
    async def test_nothing_is_fetched_before_it_was_sought(self, consumer: BareConsumer) -> None:
        taking = asyncio.create_task(consumer.take())
        await asyncio.sleep(0)
        consumer.epoch.stop()
        assert await taking == []
        assert consumer._thread.wanted == []

    async def test_state_is_recovered_before_any_offset_is_asked_for(self, consumer: BareConsumer) -> None:
        """Its previous owner may still write; a mark that is read later than the end lies beyond it."""
        happened = consumer.service.happened

        async def offsets(tps: set[TP]) -> dict[TP, Offsets]:
            happened.append(("offsets", tps))
            return dict.fromkeys(tps, Offsets(0, 100, 7))

        consumer._thread.offsets = offsets  # type: ignore[method-assign]
        await consumer.perform_seek()
        assert happened == [("recover", {CHANGELOG}), ("offsets", {TP0}), ("sought", {TP0})]
        assert consumer._thread.sought == [{TP0: 7}]
        assert consumer.epoch.partitions == {TP0: Progress(7, 100, 7, 7, 7)}

    async def test_without_a_commit_it_starts_where_it_is_told_to(self, consumer: BareConsumer) -> None:
        consumer._thread.known = Offsets(7, 100, None)
        await consumer.perform_seek()
        consumer.service.settings.auto_offset_reset = "latest"
        await consumer.perform_seek()
        assert consumer._thread.sought == [{TP0: 7}, {TP0: 100}]
        assert consumer.epoch.partitions[TP0].committed is None

    @pytest.mark.parametrize(
        ("committed", "mark", "start"),
        [(50, 50, 50), (50, 20, 20), (50, 70, 50), (50, 0, 5), (None, 20, 5), (None, 0, 5)],
        ids=["equal", "the view is behind", "ahead", "lost, from what there is", "no commit", "neither"],
    )
    async def test_a_view_is_filled_from_its_lower_mark(
        self, consumer: BareConsumer, committed: int | None, mark: int, start: int
    ) -> None:
        consumer._thread.known = Offsets(5, 100, committed)
        consumer.service.marks[TP0] = mark
        await consumer.perform_seek()
        assert consumer._thread.sought == [{TP0: start}]
        assert consumer.epoch.partitions[TP0] == Progress.at(start, 100, committed)

    @pytest.mark.parametrize("when", ["recover", "offsets", "seek_all"])
    async def test_a_revoke_during_a_seek_leaves_nothing_behind(
        self, consumer: BareConsumer, when: str
    ) -> None:
        """The partitions may be somebody else's: no positions to commit, no lanes whose timers would fire."""
        epoch = consumer.epoch
        if when == "recover":
            consumer.service.meanwhile["recover"] = consumer.stop_flow
        else:
            method = getattr(consumer._thread, when)

            async def overtaken(argument: Any) -> Any:
                answer = await method(argument)
                consumer.stop_flow()
                return answer

            setattr(consumer._thread, when, overtaken)
        with pytest.raises(EpochOver):
            await consumer.perform_seek()
        assert epoch.partitions == {}
        assert not await consumer.force_commit()
        assert [what for what, _ in consumer.service.happened] == ["recover"]
        assert consumer.service.failure is None
        assert bool(consumer._thread.asked) is (when != "recover"), "nothing more is asked of the broker"
        assert bool(consumer._thread.sought) is (when == "seek_all"), "nor is anything moved"

    @pytest.mark.parametrize(
        ("wrong", "says"),
        [
            ("view", "of another model"),
            ("commit", "beyond the end"),
            ("silence", "positions could not be read in time"),
        ],
    )
    async def test_what_makes_a_seek_unsafe_stops_the_worker(
        self, consumer: BareConsumer, wrong: str, says: str
    ) -> None:
        async def refused(epoch: Epoch, tps: set[TP]) -> dict[TP, int]:
            raise ConfigurationError("of another model")

        async def silent(tps: set[TP]) -> dict[TP, Offsets]:
            await asyncio.Event().wait()
            raise AssertionError

        if wrong == "view":
            consumer.service.view_marks = refused  # type: ignore[method-assign]
        elif wrong == "commit":
            consumer._thread.known = Offsets(0, 5, 6)
        else:
            consumer.service.settings.request_timeout_seconds = 0.01
            consumer._thread.offsets = silent  # type: ignore[method-assign]
        with pytest.raises((ConfigurationError, ConsistencyError), match=says):
            await consumer.perform_seek()
        assert says in str(consumer.service.failure)
        assert consumer._thread.sought == []


class TestEpochs:
    async def test_assignments_begin_anew(self, sought: BareConsumer, monkeypatch: pytest.MonkeyPatch) -> None:
        async def assigned_by_faust(self: Any, assigned: set[TP], generation_id: int = 0) -> None:
            sought.service.happened.append(("faust", assigned, generation_id))

        monkeypatch.setattr(Consumer, "on_partitions_assigned", assigned_by_faust)
        sought._thread.answers = [{TP0: Fetch(10, records(10, 11), 12)}]
        (message,) = await sought.take()
        before = sought.epoch
        sought.service.happened.clear()
        await sought.on_partitions_assigned({TP0}, 5)
        assert (before.running, before.partitions) == (False, {})
        assert sought.epoch is not before
        assert sought.epoch.running
        assert not sought.flow_active, "nothing is delivered before recovery"
        assert sought.service.happened == [("assigned", {TP0}), ("faust", {TP0}, 5)]
        sought.ack(message)
        assert not await sought.force_commit(), "an ack of a former epoch commits nothing in this one"

    async def test_what_was_fetched_in_an_older_epoch_is_dropped(self, sought: BareConsumer) -> None:
        async def and_then_a_revoke(*_: Any) -> dict[TP, Fetch]:
            sought.epoch.stop()
            return {TP0: Fetch(10, records(10, 11), 12)}

        sought._thread.fetch = and_then_a_revoke  # type: ignore[method-assign]
        assert await sought.take() == []
        assert sought.epoch.ledger.outstanding(TP0) == 0
        assert sought.epoch.partitions[TP0].position == 10

    async def test_a_revoke_between_two_batches_keeps_the_second_back(self, sought: BareConsumer) -> None:
        sought._thread.answers = [{TP0: Fetch(10, records(10, 11, 12, 13), 14)}]
        taken = []
        async for _, message in sought.getmany(timeout=0.01):
            taken.append(message.offset)
            sought.stop_flow()
        assert taken == [11]
        assert sought.epoch.partitions[TP0].fetched == 12, "what was not delivered may not be committed"

    async def test_a_topic_with_its_bytes_in_flight_is_not_read(self, sought: BareConsumer) -> None:
        other, elsewhere = TP("messages", 1), TP("others", 0)
        for tp in (other, elsewhere):
            sought.epoch.partitions[tp] = Progress.at(0, 0, None)
        active = {TP0, other, elsewhere}
        sought.service.settings.unacked_bytes = 4
        sought._thread.answers = [{TP0: Fetch(10, records(10, 11, 12, 13), 14)}]
        first, second = await sought.take()
        assert sought._with_room(sought.epoch, active) == {elsewhere}, "four records of a byte each"
        sought.ack(first)
        assert sought._with_room(sought.epoch, active) == {other, elsewhere}, "half of it for one partition"
        sought.ack(second)
        assert sought._with_room(sought.epoch, active) == active

    async def test_where_tenants_are_served_in_turn_more_is_read_ahead(self, sought: BareConsumer) -> None:
        sought.service.settings.unacked_bytes = 4
        sought.service.settings.batches_in_flight = 2
        sought._thread.answers = [{TP0: Fetch(10, records(10, 11, 12, 13), 14)}]
        await sought.take()
        assert sought._with_room(sought.epoch, {TP0}) == set()
        sought.service.in_turn = {"messages"}
        assert sought._with_room(sought.epoch, {TP0}) == {TP0}
        sought.service.settings.ahead_bytes = 8
        assert sought._with_room(sought.epoch, {TP0}) == set(), "half of the bytes"

    async def test_reading_ahead_is_counted_from_the_commit(self, sought: BareConsumer) -> None:
        """One record that never ends bounds the records done behind it."""
        sought.service.in_turn = {"messages"}
        sought.service.settings.ahead_records = 4
        sought._thread.answers = [{TP0: Fetch(10, records(10, 11, 12, 13), 14)}]
        first, second = await sought.take()
        sought.ack(second)
        await sought.force_commit()
        assert sought._with_room(sought.epoch, {TP0}) == set()
        sought.ack(first)
        await sought.force_commit()
        assert sought._with_room(sought.epoch, {TP0}) == {TP0}


class TestRevoke:
    async def test_it_drains_then_commits_then_drops(self, sought: BareConsumer) -> None:
        sought._thread.answers = [{TP0: Fetch(10, records(10, 11, 12, 13), 14)}]
        first, second = await sought.take()
        sought._unacked_messages.update((first, second))
        sought.service.happened.clear()
        sought.service.meanwhile["drain"] = lambda: sought.ack(first)
        sought.stop_flow()
        await sought.wait_empty()
        assert sought.service.happened == [("drain", False)]
        assert sought._thread.commits == [{TP0: 12}], "what was acked while draining, and nothing behind it"
        assert sought.epoch.partitions == {}
        assert sought._unacked_messages == set(), "or shutdown waits for what is given up"

    async def test_it_ends_though_the_consumer_s_thread_ends_first(self, sought: BareConsumer) -> None:
        """The thread cancels what it was asked for; that must not end the worker in the middle of its stop."""
        sought._thread.answers = [{TP0: Fetch(10, records(10, 11), 12)}]
        first, *_ = await sought.take()
        sought.ack(first)

        async def ends(offsets: dict[TP, int]) -> bool:
            raise asyncio.CancelledError

        sought._thread.commit = ends
        sought.stop_flow()
        await sought.wait_empty()
        assert sought.epoch.partitions == {}

    async def test_its_own_cancellation_is_not_swallowed(self, sought: BareConsumer) -> None:
        sought._thread.answers = [{TP0: Fetch(10, records(10, 11), 12)}]
        first, *_ = await sought.take()
        sought.ack(first)

        async def hangs(offsets: dict[TP, int]) -> bool:
            await asyncio.Event().wait()
            return True

        sought._thread.commit = hangs
        committing = asyncio.create_task(sought.force_commit())
        await asyncio.sleep(0)
        committing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await committing


class TestPositions:
    async def test_batches_continue_over_the_ends_of_transactions(self, sought: BareConsumer) -> None:
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
        assert sought.epoch.partitions[TP0].fetched == 22

    async def test_a_fetch_that_leaves_a_gap_stops_the_worker(self, sought: BareConsumer) -> None:
        """A hole in the offsets says nothing; a fetch that begins elsewhere says that records were lost."""
        sought._thread.answers = [{TP0: Fetch(15, records(15), 16)}]
        with pytest.raises(ConsistencyError, match="switchboard state reset"):
            await sought.take()

    @pytest.mark.parametrize(
        ("beginning", "fetch", "says"),
        [
            (0, Fetch(None, records(0), 1), "deleted and made again"),
            (0, Fetch(None, [], 0), "deleted and made again"),
            (10, Fetch(None, records(10), 11), "deleted and made again"),
            (11, Fetch(None, records(11), 12), "retention removed offsets 10 to 10 "),
            (50, Fetch(None, records(50), 51), "retention removed offsets 10 to 49"),
        ],
    )
    async def test_a_position_missing_at_the_broker_stops_the_worker(
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

    async def test_a_commit_that_failed_is_tried_again(self, sought: BareConsumer) -> None:
        sought._thread.answers = [{TP0: Fetch(10, records(10, 11), 12)}]
        (message,) = await sought.take()
        sought.ack(message)
        sought._thread.accepts = False
        assert not await sought.force_commit()
        assert sought.epoch.partitions[TP0].committed == 10
        sought._thread.accepts = True
        assert await sought.force_commit()
        assert sought._thread.commits == [{TP0: 12}, {TP0: 12}]
        assert not await sought.force_commit()


class TestDelivery:
    @pytest.fixture
    def fetcher(self) -> Any:
        return SimpleNamespace(should_stop=False)

    @pytest.fixture
    async def sought(self, sought: BareConsumer) -> BareConsumer:
        app = sought.app
        mode.Service.__init__(sought)
        sought.app = app
        return sought

    async def test_a_delivery_that_hangs_ends_with_the_flow(self, sought: BareConsumer, fetcher: Any) -> None:
        sought._thread.answers = [{TP0: Fetch(10, records(10), 11)}]

        async def hangs(message: Any) -> None:
            sought.stop_flow()
            sought.can_resume_flow.set()
            fetcher.should_stop = True
            await asyncio.Event().wait()

        sought.callback = hangs
        async with asyncio.timeout(60):
            await sought._drain_messages(fetcher)


class Fetcher:
    """aiokafka's fetcher: has what the test puts there, and wakes who waits."""

    def __init__(self) -> None:
        self.position = 10
        self.records: dict[TP, list[Record]] = {}
        self._records: dict[TP, Any] = {}
        self.waiters: list[asyncio.Future[None]] = []
        self._closed = False
        self._subscriptions = self
        self.reassignment_in_progress = False

    @contextlib.contextmanager
    def fetch_context(self) -> Iterator[None]:
        yield

    async def fetched_records(
        self, wanted: set[TP], timeout: float, max_records: int
    ) -> dict[TP, list[Record]]:
        assert wanted == {TP0}, "an empty set, or none, means all partitions"
        assert timeout == 0, "it would wait with positions that a seek makes untrue"
        there = self.records.pop(TP0, [])
        taken, left = there[:max_records], there[max_records:]
        if left:
            self.records = {TP0: left}
        if taken:
            self.position = taken[-1].offset + 1
        return {TP0: taken} if taken else {}

    def _create_fetch_waiter(self) -> asyncio.Future[None]:
        self.waiters.append(asyncio.get_running_loop().create_future())
        return self.waiters[-1]

    def comes(self, *offsets: int) -> None:
        self.records = {TP0: records(*offsets)}
        self.wake()

    def wake(self) -> None:
        for waiter in self.waiters:
            if not waiter.done():
                waiter.set_result(None)


class TestThread:
    @pytest.fixture
    async def fetcher(self) -> Fetcher:
        return Fetcher()

    @pytest.fixture
    async def thread(self, fetcher: Fetcher) -> BatchConsumerThread:
        class State:
            has_valid_position = True

            @property
            def position(self) -> int:
                return fetcher.position

        here = TopicPartition(*TP0)
        assignment = SimpleNamespace(state_value=lambda tp: State() if tp == here else None)
        thread = BatchConsumerThread.__new__(BatchConsumerThread)
        thread._consumer = SimpleNamespace(
            _closed=False,
            _fetcher=fetcher,
            _subscription=SimpleNamespace(subscription=SimpleNamespace(assignment=assignment)),
        )
        thread._unpacker = Unpacker(1 << 20)
        return thread

    async def test_a_late_fetch_takes_nothing(self, thread: BatchConsumerThread, fetcher: Fetcher) -> None:
        """They would not be delivered, and nothing else would ever fetch them again."""
        epoch = Epoch()
        fetch = asyncio.create_task(thread._fetch({TP0}, 0.05, epoch))
        await asyncio.sleep(0)
        epoch.stop()
        fetcher.comes(40, 41)
        assert await fetch == {}
        assert fetcher.position == 10
        assert fetcher.records == {TP0: records(40, 41)}

    @pytest.mark.parametrize(
        "error", [UnicodeDecodeError("utf-8", b"\xff", 0, 1, "no"), CorruptRecordException()]
    )
    async def test_what_aiokafka_cannot_read_is_fetched_again_once(
        self, thread: BatchConsumerThread, fetcher: Fetcher, error: Exception, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """What it took of other partitions before it stumbled would be lost with the error."""
        runtime = SimpleNamespace(log=structlog.get_logger())
        monkeypatch.setattr(BatchConsumerThread, "runtime", runtime)

        async def stumble(*_: Any, **options: Any) -> dict[TP, list[Record]]:
            fetcher.position = 15
            raise error

        def seek_to(tp: TP, offset: int) -> None:
            assert tp == TP0
            fetcher.position = offset

        monkeypatch.setattr(fetcher, "fetched_records", stumble)
        fetcher.seek_to = seek_to  # type: ignore[attr-defined]
        assert await thread._take({TP0}, Epoch()) == {}
        assert fetcher.position == 10
        with pytest.raises(type(error)):
            await thread._take({TP0}, Epoch())

    async def test_what_forbids_reading_is_raised(self, thread: BatchConsumerThread, fetcher: Fetcher) -> None:
        fetch = asyncio.create_task(thread._fetch({TP0}, 60.0, Epoch()))
        await asyncio.sleep(0)
        fetcher.waiters[0].set_exception(TopicAuthorizationFailedError("messages"))
        with pytest.raises(TopicAuthorizationFailedError):
            await fetch


@pytest.mark.parametrize(
    "answer",
    [CommitFailedError("rebalanced"), IllegalStateError("gone"), NodeNotReadyError(), KafkaTimeoutError()],
)
async def test_a_commit_that_failed_is_not_taken_as_done(answer: Exception) -> None:
    async def commit(offsets: Any) -> None:
        commit_structure_validate(offsets)
        raise answer

    thread = BatchConsumerThread.__new__(BatchConsumerThread)
    thread.app = SimpleNamespace(runtime=SimpleNamespace(name="ingest", log=structlog.get_logger()))
    thread._consumer = SimpleNamespace(commit=commit)
    thread.assignment = lambda: {TP0}  # type: ignore[method-assign]
    assert not await thread._commit({TP0: 5})
