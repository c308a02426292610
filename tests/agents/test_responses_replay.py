"""Whenever the respond service crashes, and whatever the clock says then: no number goes out with two texts.

The runtime's promises are played here: outputs before state, state before the ack, and nothing that follows a
timer's call before its state.  A crash keeps any beginning of what was written, as far as these allow.
"""

from __future__ import annotations

import re
from random import Random
from typing import NamedTuple

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.responses import ContentDuplicationEvent, ResponseChunk
from streams.agents.respond.responses import DUPLICATES, RESPONSES, Responses
from streams.agents.respond.routing import CHUNKS, ROUTED
from streams.runtime.deadletters import to_outputs
from streams.runtime.effects import Effects, Output
from streams.runtime.records import Record, RecordBatch
from streams.runtime.stage import TimerContext
from streams.runtime.stored import StoredPartition
from streams.runtime.table import PartitionState
from streams.runtime.testing import PARTITION, START
from streams.settings import Settings

HOLD, IDLE = 0.5, 60.0

#: What was acked so long ago is committed (seconds).
COMMITTED = 30.0
SENTENCES = (
    "The museum opens at nine in the morning. ",
    "The museum opens at ten on holidays. ",
    "Bring a warm jacket, because the wind is cold. ",
    "Yes. ",
    "\n\n- ",
)

#: (seconds since the chunk before in the log, chunk)
Sent = list[tuple[float, ResponseChunk]]


def responses(chance: Random) -> Sent:
    """Some responses at once, in chunks: in order or nearly, now and then with a pause or without an end."""
    streams = []
    for number in range(chance.randint(1, 4)):
        text = "".join(chance.choices(SENTENCES, k=chance.randint(2, 8)))
        cuts = sorted(chance.sample(range(1, len(text)), min(len(text) - 1, chance.randint(2, 8))))
        pieces = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
        chunks = [
            ResponseChunk(
                response_id=f"r{number}",
                conversation_id=f"c{number % 2}",
                sequence=n,
                text=piece,
                final=n == len(cuts),
            )
            for n, piece in enumerate(pieces)
        ]
        if chance.random() < 0.2:
            at = chance.randrange(len(chunks) - 1)
            chunks[at], chunks[at + 1] = chunks[at + 1], chunks[at]
        if chance.random() < 0.2:
            chunks.append(chance.choice(chunks))
        if chance.random() < 0.2:
            chunks = [chunk for chunk in chunks if not chunk.final]
        streams.append(chunks)
    sent = []
    while streams := [chunks for chunks in streams if chunks]:
        chunks = chance.choice(streams)
        sent.append((chance.choice((0.0, 0.001, 0.05, 0.45, 0.6, 0.6, 5.0)), chunks.pop(0)))
    return sent


class Call(NamedTuple):
    """What one call of the stage wanted, and when.  ``offsets``: of its batch, none for timers."""

    outputs: list[Output]
    changes: list[tuple[bytes, bytes]]
    offsets: range
    at: float


class Broker:
    """What survives a crash, and the clock."""

    def __init__(self, sent: Sent, chance: Random, spans_conversation: bool) -> None:
        self.chance = chance
        self.source = ROUTED if spans_conversation else CHUNKS
        self.log: list[Record] = []
        self.fetched_at: list[float] = []
        at = START.timestamp()
        for pause, chunk in sent:
            at += pause
            key = (chunk.conversation_id if spans_conversation else chunk.response_id).encode()
            value = msgspec.json.encode(chunk)
            self.log.append(Record(value, key, len(self.log), self.source, PARTITION, int(at * 1000)))
            latency = chance.choice((0.0, 0.003, 0.02))
            self.fetched_at.append(max([at + latency, *self.fetched_at[-1:]]))
        self.stage = Responses(
            Settings(
                max_hold_ms=int(HOLD * 1000),
                response_idle_seconds=IDLE,
                response_memory="conversation" if spans_conversation else "response",
            ),
            lambda seconds: None,
        ).stage()
        self.clock = START.timestamp()
        self.committed = 0
        self.changelog: list[tuple[bytes, bytes]] = []
        self.outputs: list[Output] = []

    def live(self, actions: int | None) -> list[Call]:
        """Run a worker for some actions, or until nothing is left to do; return its calls."""
        stored = StoredPartition(self.stage.sources)
        stored.fold(Record(value or None, key) for key, value in self.changelog)
        life = _Life(self, PartitionState(stored))
        while actions is None or actions > 0:
            if not life.act():
                break
            actions = actions if actions is None else actions - 1
        return life.calls

    def keep(self, calls: list[Call]) -> None:
        """The worker is gone: of what its calls wanted, keep as much as may have been written."""
        chance = self.chance
        stored = chance.randint(0, len(calls))
        confirmed = chance.randint(stored, len(calls))
        for index in range(stored, confirmed):
            if calls[index].changes and not calls[index].offsets:
                confirmed = index + 1
                break
        for call in calls[:confirmed]:
            self.outputs += call.outputs
        if all(call.offsets or not call.changes for call in calls[stored:confirmed]):
            rest = calls[confirmed].outputs if confirmed < len(calls) else []
            self.outputs += chance.sample(rest, chance.randint(0, len(rest)))
        for call in calls[:stored]:
            self.changelog += call.changes
        if stored < confirmed:
            changes = calls[stored].changes
            self.changelog += changes[: chance.randint(0, len(changes))]
        ends = [self.committed, *(call.offsets.stop for call in calls[:stored] if call.offsets)]
        long_ago = [call for call in calls[:stored] if call.offsets and call.at < self.clock - COMMITTED]
        self.committed = chance.choice(
            [end for end in ends if not long_ago or end >= long_ago[-1].offsets.stop]
        )
        self.clock += chance.choice((0.0, 0.3, 8.0))


class _Life:
    """One worker: its unconfirmed state, its timers, its place in the log."""

    def __init__(self, broker: Broker, state: PartitionState) -> None:
        self.broker, self.state = broker, state
        self.position = broker.committed
        self.end_at_start = sum(record.timestamp / 1000 <= broker.clock for record in broker.log)
        self.log_time = 0.0
        self.calls: list[Call] = []
        self.timers: dict[bytes, float] = {}
        assert broker.stage.timer_at is not None
        for key, payload in state.items():
            self._wake(key, broker.stage.timer_at(key, payload))

    def act(self) -> bool:
        """Do one thing; ``False`` when there is nothing left to do."""
        broker, chance = self.broker, self.broker.chance
        arrived = max(self.end_at_start, sum(at <= broker.clock for at in broker.fetched_at))
        due = [key for key, at in self.timers.items() if at <= broker.clock]
        if due and chance.random() < 0.5:
            self._fire(due, caught_up=self.position == arrived)
        elif self.position < arrived:
            batch = broker.log[self.position : min(arrived, self.position + chance.choice((1, 2, 5, 100)))]
            self.position += len(batch)
            assert broker.stage.step is not None
            effects = broker.stage.step(RecordBatch(batch, source=broker.source), self.state)
            self._take(effects, range(batch[0].offset, self.position))
            if self.position >= self.end_at_start:
                self.log_time = batch[-1].timestamp / 1000
        elif due:
            self._fire(due, caught_up=True)
        elif arrived < len(broker.log) or self.timers:
            times = [*self.timers.values(), *broker.fetched_at[arrived : arrived + 1]]
            broker.clock = max(broker.clock, min(times)) + chance.choice((0.0, 0.01, 0.2))
        else:
            return False
        return True

    def _fire(self, due: list[bytes], *, caught_up: bool) -> None:
        for key in due:
            del self.timers[key]
        assert self.broker.stage.on_timer is not None
        context = TimerContext(PARTITION, self.broker.clock, caught_up, self.log_time)
        self._take(self.broker.stage.on_timer(due, context, self.state), range(0))

    def _take(self, effects: Effects, offsets: range) -> None:
        values = self.state.store(effects.changes)
        for key, at in effects.timers.items():
            self._wake(key, at)
        letters = [
            output
            for letter in effects.dead_letters
            for output in to_outputs(letter, source=self.broker.source, stage="responses", limit=1 << 20)
        ]
        self.calls.append(Call(effects.outputs + letters, list(values.items()), offsets, self.broker.clock))

    def _wake(self, key: bytes, at: float | None) -> None:
        if at is None:
            self.timers.pop(key, None)
        else:
            self.timers[key] = at


@pytest.mark.parametrize("spans_conversation", [False, True], ids=["response", "conversation"])
@settings(max_examples=200, deadline=None)
@given(seed=st.integers(0, 2**64), crashes=st.integers(0, 4))
def test_no_crash_changes_what_went_out(spans_conversation: bool, seed: int, crashes: int) -> None:
    chance = Random(seed)
    sent = responses(chance)
    broker = Broker(sent, chance, spans_conversation)
    for _ in range(crashes):
        broker.keep(broker.live(chance.randint(1, 30)))
    for call in broker.live(None):
        broker.outputs += call.outputs
    check(broker.outputs, sent)


def check(outputs: list[Output], sent: Sent) -> None:
    chunks: dict[tuple[str, int], ResponseChunk] = {}
    events: dict[str, ContentDuplicationEvent] = {}
    late: set[tuple[str, int]] = set()
    for output in outputs:
        value = output.value or b""
        if output.topic == RESPONSES:
            chunk = msgspec.json.decode(value, type=ResponseChunk)
            assert chunks.setdefault((chunk.response_id, chunk.sequence), chunk) == chunk
        elif output.topic == DUPLICATES:
            event = msgspec.json.decode(value, type=ContentDuplicationEvent)
            assert events.setdefault(event.event_id, event) == event
        else:
            chunk = msgspec.json.decode(value, type=ResponseChunk)
            late.add((chunk.response_id, chunk.sequence))
    for response in {chunk.response_id for _, chunk in sent}:
        out = [chunk for name, chunk in sorted(chunks.items()) if name[0] == response]
        assert [chunk.sequence for chunk in out] == list(range(len(out)))
        assert [chunk.final for chunk in out] == [False] * (len(out) - 1) + [True]
        came = {chunk.sequence: chunk.text for _, chunk in sent if chunk.response_id == response}
        text = "".join(came[n] for n in sorted(came) if (response, n) not in late)
        assert condensed("".join(chunk.text for chunk in out)) == condensed(without(text, events, response))


def without(text: str, events: dict[str, ContentDuplicationEvent], response: str) -> str:
    """Return the text without the sentences that the events name."""
    mine = [event for event in events.values() if event.response_id == response]
    for event in sorted(mine, key=lambda event: -event.position_in_response):
        at, sentence = event.position_in_response, event.duplicate_sentence
        assert text.startswith(sentence, at)
        text = text[:at] + text[at + len(sentence) :]
    return text


def condensed(text: str) -> str:
    """Return the text without white space and list marks, which go with a sentence."""
    return re.sub(r"[\s-]+", "", text)
