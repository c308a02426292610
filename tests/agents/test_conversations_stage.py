"""ingest/conversations, called without a broker: requirement 1's windows, idleness, duplicates, bad input."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
import samples

from models.commands import Command
from models.ids import window_id
from models.messages import ChatMessage, Role
from models.summaries import SummaryRequest
from models.windows import Window, WindowReason, WindowSource
from processors.conversations.token_table import ranges
from streams.agents.ingest.conversations import (
    MESSAGES,
    REQUESTS,
    STATE,
    WINDOWS,
    Conversations,
)
from streams.clients.topics import COMMANDS, SUMMARIES
from streams.config.settings import Settings
from streams.llm.tokenizer import cl100k_counter
from streams.runtime.effects import Effects
from streams.runtime.testing import START, StageHarness

COUNT = cl100k_counter()


class Harness(StageHarness):
    """The stage with these settings."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(Conversations(Settings(**settings), COUNT).stage())

    @property
    def windows(self) -> list[Window]:
        return self.values(WINDOWS, Window)

    @property
    def requests(self) -> list[SummaryRequest]:
        return self.values(REQUESTS, SummaryRequest)

    def answer(self, request: SummaryRequest, tokens: int = 80) -> Effects:
        return self.feed(self.record(samples.answer(request, tokens=tokens), SUMMARIES))

    def come_back(self) -> None:
        """Read what the latest call wrote among the messages."""
        for output in self.last.outputs:
            if output.topic == MESSAGES:
                self.feed(self.record(output.value, MESSAGES, key=output.key, headers=output.headers))

    def silence(self, until: datetime, broker: datetime | None = None) -> None:
        """Nothing comes until the timer fires at ``until``, when the broker's clock says ``broker``."""
        self.tick(until, b"c")
        self.arrived = broker or until
        self.come_back()

    def close(self, conversation: str = "c", **replace: Any) -> None:
        """Somebody closes the conversation."""
        command = Command(command_id="x", command="close", conversation_id=conversation, issued_at=self.arrived)
        self.feed(self.record(msgspec.structs.replace(command, **replace), COMMANDS))
        self.come_back()

    def payload(self, key: bytes = b"c") -> Any:
        _, payload = self.state.read(key)
        assert payload is not None
        return STATE.decode(payload)


def messages(count: int, first: int = 0, conversation: str = "c", **replace: Any) -> Iterator[ChatMessage]:
    for n in range(first, first + count):
        names = {"message_id": f"{conversation}-m{n}", "conversation_id": conversation}
        role = Role.ASSISTANT if n % 2 else Role.USER
        message = samples.message(n, f"message number {n}", at=START, role=role, **names)
        yield msgspec.structs.replace(message, **replace)


def closing(conversation: str) -> Command:
    return Command(command_id="x", command="close", conversation_id=conversation, issued_at=START)


def without_offsets(thing: Window | SummaryRequest) -> Window | SummaryRequest:
    """A punctuation takes an offset; what is said of messages is the same without it."""
    plain = [msgspec.structs.replace(message, offset=0) for message in thing.messages]
    source = msgspec.structs.replace(thing.source, first_offset=0, last_offset=0)
    return msgspec.structs.replace(thing, messages=tuple(plain), source=source)


def spans(windows: list[Window]) -> list[tuple[int, int]]:
    """Return the windows in 1-based numbers."""
    return [(window.from_index + 1, window.to_index + 1) for window in windows]


class TestWindows:
    def test_the_seeds_flow(self) -> None:
        harness = Harness()
        for message in messages(24):
            harness.feed(harness.record(message))
        assert spans(harness.windows) == [(1, 10), (8, 17), (15, 24)]
        assert [window.overlap for window in harness.windows] == [0, 3, 3]
        assert [window.message_ids[-1] for window in harness.windows] == ["c-m9", "c-m16", "c-m23"]
        assert {window.reason for window in harness.windows} == {WindowReason.FULL}
        assert harness.payload().end_mark == "c-m23"

    def test_a_window_says_where_it_came_from(self) -> None:
        harness = Harness()
        for message in messages(10):
            harness.feed(harness.record(message))
        (window,) = harness.windows
        assert window.window_id == window_id("default", "c", "c-m0", "c-m9", 0)
        assert window.source == WindowSource(topic=MESSAGES, partition=5, first_offset=0, last_offset=9)
        assert [message.offset for message in window.messages] == list(range(10))
        assert [message.index for message in window.messages] == list(range(10))
        assert window.messages[3].content == "message number 3"
        headers = dict(harness.last.outputs[0].headers)
        assert headers["ce_id"] == window.window_id.encode()

    def test_another_tenants_message_is_not_mixed_in(self) -> None:
        """Or what its people say would be learned about, and found by, the tenant that was here first."""
        harness = Harness(window_size=4, window_overlap=1)
        theirs = messages(2, first=4, tenant_id="other", user_id="eve")
        records = [harness.record(message) for message in (*messages(3), *theirs, *messages(1, first=3))]
        effects = harness.feed(*records)
        (window,) = harness.windows
        assert [message.user_id for message in window.messages] == ["ada"] * 4
        assert [letter.record.offset for letter in effects.dead_letters] == [3, 4]
        assert {letter.reason for letter in effects.dead_letters} == {"tenant_mismatch"}
        alone = harness.feed(*[harness.record(each) for each in messages(1, first=9, tenant_id="other")])
        assert [letter.reason for letter in alone.dead_letters] == ["tenant_mismatch"]
        assert harness.feed(*records[:3]).dead_letters == []


class TestIds:
    """After retention and a reset the log begins in the middle, and what is left counts from 0 again."""

    def test_a_summary_of_other_messages_answers_nothing(self) -> None:
        earlier, later = Harness(token_threshold=100), Harness(token_threshold=100)
        earlier.feed(*[earlier.record(message) for message in messages(12)])
        later.feed(*[later.record(message) for message in messages(12, first=50)])
        (old,), (asked,) = earlier.requests, later.requests
        assert (old.from_index, old.to_index) == (asked.from_index, asked.to_index)
        later.answer(old)
        assert later.payload().tokens.summaries == ()
        later.answer(asked)
        assert [summary.summary_id for summary in later.payload().tokens.summaries] == [asked.request_id]


class TestIdle:
    @pytest.mark.parametrize("pause", [11, 35, 600])
    def test_a_backfill_that_pauses_is_not_cut(self, pause: int) -> None:
        """Its messages are old, and one after the other all the same; others of the partition say nothing."""
        harness = Harness()
        harness.arrived = START + timedelta(days=30)
        harness.feed(*[harness.record(message) for message in messages(5)])
        later = messages(3, conversation="d", sent_at=START + timedelta(days=20))
        harness.feed(*[harness.record(message) for message in later])
        harness.silence(harness.arrived + timedelta(seconds=pause))
        harness.feed(*[harness.record(message) for message in messages(5, first=5)])
        assert [(window.reason, *spans([window])) for window in harness.windows] == [
            (WindowReason.FULL, (1, 10))
        ]

    def test_the_clock_flushes_a_conversation_that_went_quiet(self) -> None:
        harness = Harness()
        for message in messages(5):
            harness.arrived += timedelta(seconds=1)
            harness.feed(harness.record(message))
        due = datetime.fromtimestamp(harness.last.timers[b"c"] or 0, UTC)
        assert due == harness.arrived + timedelta(seconds=900 + 1)
        harness.silence(due)
        assert spans(harness.windows) == [(1, 5)]
        assert harness.windows[0].reason is WindowReason.IDLE
        harness.silence(START + timedelta(hours=2))
        assert len(harness.windows) == 1, "there is nothing left to flush"

    def test_the_clock_s_findings_are_logged_and_decided_there(self) -> None:
        """A message that came first, or that a restart reads first, is not cut off."""
        harness = Harness()
        harness.feed(*[harness.record(message) for message in messages(5)])
        effects = harness.tick(START + timedelta(seconds=901), b"c")
        assert (harness.windows, effects.changes) == ([], {})
        (tick,) = [output for output in effects.outputs if output.topic == MESSAGES]
        harness.arrived += timedelta(seconds=899)
        harness.feed(*[harness.record(message) for message in messages(1, first=5)])
        harness.arrived += timedelta(seconds=2)
        harness.feed(harness.record(tick.value, MESSAGES, key=tick.key, headers=tick.headers))
        assert harness.windows == []

    @pytest.mark.parametrize("ahead", [timedelta(hours=1), timedelta(hours=-1)])
    def test_an_hour_off_machine_ends_no_window_early(self, ahead: timedelta) -> None:
        harness = Harness()
        harness.feed(*[harness.record(message) for message in messages(5)])
        for minutes in range(1, 15):
            broker = START + timedelta(minutes=minutes)
            harness.silence(broker + ahead, broker)
        assert harness.windows == []
        broker = START + timedelta(minutes=16)
        harness.silence(max(broker, broker + ahead), broker)
        assert spans(harness.windows) == [(1, 5)]

    def test_the_clock_decides_nothing_while_records_wait_to_be_read(self) -> None:
        harness = Harness()
        for message in messages(5):
            harness.feed(harness.record(message))
        now = START + timedelta(hours=1)
        effects = harness.tick(now, b"c", caught_up=False)
        assert effects.outputs == []
        assert effects.timers[b"c"] == now.timestamp() + 1


class TestClose:
    def test_a_command_ends_the_window(self) -> None:
        harness = Harness()
        harness.feed(*[harness.record(message) for message in messages(5)])
        harness.close()
        (window,) = harness.windows
        assert (window.reason, *spans([window])) == (WindowReason.CLOSED, (1, 5))
        harness.feed(*[harness.record(message) for message in messages(7, first=5)])
        assert spans(harness.windows) == [(1, 5), (3, 12)], "it may go on"

    def test_it_comes_after_all_that_existed_when_sent(self) -> None:
        """However little of it is read by then: the command stands in a topic of its own."""
        harness = Harness()
        unread = [harness.record(message) for message in messages(5)]
        harness.feed(harness.record(closing("c"), COMMANDS))
        marks = [output for output in harness.last.outputs if output.topic == MESSAGES]
        harness.feed(*unread)
        for mark in marks:
            harness.feed(harness.record(mark.value, MESSAGES, key=mark.key, headers=mark.headers))
        assert spans(harness.windows) == [(1, 5)]

    def test_another_tenant_cannot_close_it(self) -> None:
        harness = Harness()
        harness.feed(*[harness.record(message) for message in messages(5)])
        harness.close(tenant_id="other")
        assert harness.windows == []
        assert [letter.reason for letter in harness.last.dead_letters] == ["tenant_mismatch"]


class TestForgetting:
    DAY = timedelta(days=1)

    def remembered(self, harness: Harness) -> list[bytes]:
        return [key for key, _ in harness.state.items()]

    def test_a_message_after_that_begins_anew(self) -> None:
        """Whether the clock has found out or not, and under another tenant, too."""
        told, untold = Harness(token_threshold=100), Harness(token_threshold=100)
        for harness in (told, untold):
            harness.feed(*[harness.record(message) for message in messages(25)])
        told.silence(START + 91 * self.DAY)
        for harness in (told, untold):
            harness.arrived = START + 92 * self.DAY
            later = messages(25, first=100, tenant_id="other", user_id="eve", sent_at=harness.arrived)
            harness.feed(*[harness.record(message) for message in later])
        asked = [request for request in told.requests if request.attempt == 1]
        for one, other in ((told.windows, untold.windows), (asked, untold.requests)):
            assert [without_offsets(each) for each in one] == [without_offsets(each) for each in other]
        assert self.remembered(told) == self.remembered(untold)
        latest = told.windows[-1]
        assert (latest.tenant_id, latest.user_id, latest.from_index) == ("other", "eve", 14)
        assert len({window.window_id for window in told.windows}) == len(told.windows)


class TestTokens:
    def test_crossing_the_threshold_asks_once_until_answered(self) -> None:
        harness = Harness(token_threshold=100)
        for message in messages(30):
            harness.feed(harness.record(message))
        assert len(harness.requests) == 1
        request = harness.requests[0]
        counted = sum(COUNT(m.content) + COUNT(m.role) + 4 for m in request.messages)
        assert counted == request.tokens > 100
        assert [message.index for message in request.messages] == list(
            range(request.from_index, request.to_index + 1)
        )
        harness.answer(request)
        assert harness.requests[1].from_index == request.to_index + 1
        rows = ranges(harness.payload().tokens)
        assert [row.from_index for row in rows[1:]] == [row.to_index + 1 for row in rows[:-1]]

    def test_an_unanswered_request_is_repeated_with_the_same_id(self) -> None:
        harness = Harness(token_threshold=100, summary_retry_seconds=60)
        for message in messages(30):
            harness.feed(harness.record(message))
        (request,) = harness.requests
        harness.tick(START + timedelta(seconds=59), b"c")
        assert len(harness.requests) == 1
        harness.tick(START + timedelta(seconds=61), b"c")
        repeated = harness.requests[1]
        assert (repeated.request_id, repeated.attempt) == (request.request_id, 2)
        assert repeated.messages == request.messages


class TestPages:
    def test_state_does_not_grow_while_a_summary_takes_its_time(self) -> None:
        harness = Harness(token_threshold=100)
        for n in range(0, 1000, 50):
            harness.feed(*[harness.record(message) for message in messages(50, first=n)])
        assert len(harness.requests) == 1
        state = harness.payload()
        assert len(state.kept) < 10
        assert state.pages[0] == 0
        assert len(harness.state.read(b"c")[1] or b"") < 4000


class TestBadInput:
    def test_a_record_without_a_key_goes_to_its_conversations_partition(self) -> None:
        harness = Harness()
        effects = harness.feed(harness.record(next(messages(1)), key=None))
        (moved,) = effects.outputs
        assert (moved.topic, moved.key) == (MESSAGES, b"c")
        assert effects.changes == {}
