"""The same log, the same result: however topics are cut, read against each other, ticked at and read again."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import NamedTuple

import msgspec
import samples
from hypothesis import example, given, settings
from hypothesis import strategies as st

from models.commands import Command
from models.summaries import Summary, SummaryRequest
from models.windows import Window
from streams.agents.ingest.conversations import (
    MESSAGES,
    REQUESTS,
    SUMMARIES,
    WINDOWS,
    Conversations,
)
from streams.clients.records import Record, rerouted
from streams.clients.topics import COMMANDS
from streams.config.settings import Settings
from streams.llm.tokenizer import cl100k_counter
from streams.runtime.testing import START, StageHarness

COUNT = cl100k_counter()
SOURCES = (MESSAGES, SUMMARIES, COMMANDS)
DAY = 86_400.0

#: Small windows, a low threshold, ten minutes of silence, two days of memory: everything happens soon.
SETTINGS = Settings(
    window_size=4,
    window_overlap=1,
    idle_seconds=600,
    conversation_forget_days=2,
    token_threshold=60,
    summary_retry_seconds=60,
)


class Sent(NamedTuple):
    """Something that comes in ``after`` seconds: a message, sent ``late`` seconds ago, or a command."""

    after: float
    what: str
    conversation: str
    late: float
    text: str


class Read(NamedTuple):
    """What a run does next: so many records of a topic, or a timer at a time that is off by ``off`` seconds."""

    source: int
    count: int
    off: float


SENT = st.builds(
    Sent,
    after=st.sampled_from([0.0, 1.0, 30.0, 599.0, 601.0, 3 * DAY]),
    what=st.sampled_from(["message"] * 8 + ["again", "stray", "close", "other tenant"]),
    conversation=st.sampled_from(["a", "b"]),
    late=st.sampled_from([0.0, 0.0, 5.0, 700.0, 30 * DAY]),
    text=st.sampled_from(["yes", "a sentence of some words, neither long nor short"]),
)
READ = st.builds(
    Read,
    source=st.integers(0, 5),
    count=st.integers(1, 9),
    off=st.sampled_from([-1e5, 0.0, 650.0, 1e4, 3 * DAY]),
)


class Deployment:
    """The topics, and one stage after the other that reads them."""

    def __init__(self) -> None:
        self.logs: dict[str, list[Record]] = {source: [] for source in SOURCES}
        self.now = START
        self.latest: dict[str, tuple[datetime, bytes]] = {}
        self.begin()

    def begin(self) -> None:
        """A worker without state, at the beginning of the topics, and what it publishes."""
        self.harness = StageHarness(Conversations(SETTINGS, COUNT).stage())
        self.positions = dict.fromkeys(SOURCES, 0)
        self.windows: dict[str, Window] = {}
        self.requests: dict[str, SummaryRequest] = {}
        self.answers: dict[str, Summary] = {}

    def append(self, topic: str, value: bytes, key: bytes, headers: object = ()) -> None:
        log, arrived = self.logs[topic], int(self.now.timestamp() * 1000)
        log.append(Record(value, key, len(log), topic, 5, arrived, headers))  # type: ignore[arg-type]

    def send(self, number: int, sent: Sent) -> None:
        self.now += timedelta(seconds=sent.after)
        key = sent.conversation.encode()
        if sent.what == "close":
            command = Command(
                command_id=f"c{number}", command="close", conversation_id=sent.conversation, issued_at=self.now
            )
            self.append(COMMANDS, msgspec.json.encode(command), key)
            return
        said_at, latest = self.latest.get(sent.conversation, (START - timedelta(days=9), b""))
        if sent.what == "again" and (self.now - said_at).total_seconds() < DAY:
            # A producer's retry.  Days later, when the conversation is forgotten, it would be a message.
            self.append(MESSAGES, latest, key)
            return
        message = samples.message(
            number,
            sent.text,
            conversation_id=sent.conversation,
            sent_at=self.now - timedelta(seconds=sent.late),
            tenant_id="other" if sent.what == "other tenant" else "default",
        )
        value = msgspec.json.encode(message)
        self.latest[sent.conversation] = self.now, value
        if sent.what == "stray":
            self.stray(number, value, key)
        else:
            self.append(MESSAGES, value, key)

    def stray(self, number: int, value: bytes, key: bytes) -> None:
        """A record of another partition, which whoever reads that partition sends here."""
        timestamp = int(self.now.timestamp() * 1000)
        self.append(MESSAGES, value, key, rerouted(Record(value, key, number, MESSAGES, 2, timestamp)))

    def strays_again(self) -> None:
        """Whoever reads the other partition from its beginning sends all of them again."""
        for record in [record for record in self.logs[MESSAGES] if record.headers]:
            if dict(record.headers).get("rerouted_from", b"").startswith(b"chat.messages.v1-2-"):  # type: ignore[union-attr]
                self.append(MESSAGES, record.value or b"", record.key or b"", record.headers)

    def read(self, step: Read) -> None:
        if step.source >= len(SOURCES):
            self.tick(step.off)
            return
        source = SOURCES[step.source]
        at = self.positions[source]
        records = self.logs[source][at : at + step.count]
        if records:
            self.positions[source] += len(records)
            self.harness.feed(*records)
            self.publish()

    def tick(self, off: float) -> None:
        """Timers of both conversations fire, due or not, by a clock that may be wrong."""
        self.harness.tick(self.now + timedelta(seconds=off), b"a", b"b")
        self.publish()

    def publish(self) -> None:
        """What the stage made becomes part of the topics, and each request is answered."""
        for output in self.harness.last.outputs:
            value = output.value or b""
            if output.topic == MESSAGES:
                self.append(MESSAGES, value, output.key or b"", output.headers)
            elif output.topic == WINDOWS:
                window = msgspec.json.decode(value, type=Window)
                assert self.windows.setdefault(window.window_id, window) == window
            elif output.topic == REQUESTS:
                request = msgspec.json.decode(value, type=SummaryRequest)
                first = msgspec.structs.replace(request, attempt=1)
                assert self.requests.setdefault(request.request_id, first) == first
                self.append(SUMMARIES, msgspec.json.encode(answer(request)), output.key or b"")
        for record in self.logs[SUMMARIES][: self.positions[SUMMARIES]]:
            summary = msgspec.json.decode(record.value or b"", type=Summary)
            if summary.request_id in self.requests:
                self.answers[summary.request_id] = summary

    def settle(self) -> None:
        """Read everything to its end, and whatever follows from that."""
        while any(self.positions[source] < len(self.logs[source]) for source in SOURCES):
            for number in range(len(SOURCES)):
                self.read(Read(number, 3, 0.0))

    def find_silent(self) -> None:
        """Let everything be read, and what is silent by now be found out."""
        self.settle()
        self.tick(0.0)

    def result(self) -> tuple[object, ...]:
        return self.windows, self.requests, self.answers


def answer(request: SummaryRequest) -> Summary:
    """The same request is answered in the same way."""
    tokens = 10 + request.from_index % 7
    return samples.answer(request, request.request_id, tokens=tokens, at=request.arrived_at)


def run(deployment: Deployment, steps: list[Read], then: Callable[[], None]) -> tuple[object, ...]:
    for step in steps:
        deployment.read(step)
    then()
    deployment.settle()
    return deployment.result()


def said(what: str = "message", after: float = 0.0) -> Sent:
    return Sent(after, what, "a", 0.0, "yes")


@settings(max_examples=80)
@given(
    sent=st.lists(SENT, min_size=1, max_size=40),
    live=st.lists(READ, max_size=40),
    replays=st.lists(st.lists(READ, max_size=25), min_size=1, max_size=3),
)
# What was copied here lets a forgotten conversation begin anew, and is copied again when its id is forgotten.
@example(
    sent=[said(), said(), said("stray", 3 * DAY), said(), said(), said(), said(), said()],
    live=[],
    replays=[[]],
)
# The same of a command that closes it.
@example(
    sent=[said(), said(), said("close", 3 * DAY), *[said()] * 9],
    live=[Read(0, 1, -1e5), Read(0, 1, -1e5), Read(2, 1, -1e5)],
    replays=[[]],
)
def test_a_replay_makes_the_same_of_the_same_log(
    sent: list[Sent], live: list[Read], replays: list[list[Read]]
) -> None:
    deployment = Deployment()
    steps = iter(live)
    for number, each in enumerate(sent):
        deployment.send(number, each)
        if (step := next(steps, None)) is not None:
            deployment.read(step)
    first = run(deployment, [*steps], deployment.find_silent)
    for again in replays:
        deployment.begin()
        assert run(deployment, again, deployment.strays_again) == first


@settings(max_examples=60)
@given(
    sent=st.lists(SENT.filter(lambda sent: sent.what != "close"), min_size=1, max_size=40),
    live=st.lists(READ, max_size=40),
)
def test_ticks_do_early_what_the_next_message_does(sent: list[Sent], live: list[Read]) -> None:
    """Without a single tick the windows are the same, but for those that nothing has followed yet."""
    ticked, unticked = Deployment(), Deployment()
    steps = iter(live)
    for number, each in enumerate(sent):
        for deployment in (ticked, unticked):
            deployment.send(number, each)
        if (step := next(steps, None)) is not None:
            ticked.read(step)
    run(ticked, [*steps], lambda: None)
    run(unticked, [], lambda: None)
    assert unticked.windows.keys() <= ticked.windows.keys()
    early = ticked.windows.keys() - unticked.windows.keys()
    assert len(early) <= 2, "at most one for each conversation"
    assert all(ticked.windows[name].reason == "idle" for name in early)
    assert ticked.requests.keys() == unticked.requests.keys()
