"""Building of calls, retry decisions and decoding of answers: no I/O, no clock, no sleep.

A call is carried out by a generator that says what to do next and is told what came of it::

    steps = carry_out(call, policy, random)
    step = next(steps)
    while True:
        Send -> send it, and answer with a Response or an exception of the transport
        Wait -> sleep so many seconds, and answer None

It returns the answer by ``StopIteration``.  So the blocking and the awaited client differ in nothing but who
sends.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import msgspec

from switchboard_client.errors import Malformed, Problem, SwitchboardError, Unreachable, problem

T = TypeVar("T")


@dataclass(frozen=True)
class Request:
    """One request; ``body`` is JSON, ``None`` for none."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes | None = None


@dataclass(frozen=True)
class Response:
    """One answer, whole.  Names of headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True)
class Call(Generic[T]):
    """Something to ask for.  ``repeatable``: asked twice it does what it does once."""

    request: Request
    answer: type[T]
    repeatable: bool = True
    rename: str = ""


@dataclass(frozen=True)
class Policy:
    """How often a call is sent, and how long it waits between: seconds, doubled each time, half random."""

    attempts: int = 4
    first_wait: float = 0.2
    longest_wait: float = 20.0


@dataclass(frozen=True)
class Send:
    """Send this, and say what came back."""

    request: Request


@dataclass(frozen=True)
class Wait:
    """Wait so many seconds."""

    seconds: float


class TransportError(Exception):
    """The transport failed.  ``sent``: the request may have arrived."""

    def __init__(self, message: str, *, sent: bool) -> None:
        super().__init__(message)
        self.sent = sent


Steps = Generator[Send | Wait, Response | TransportError | None, T]

_AGAIN = (429, 502, 503, 504)


def carry_out(call: Call[T], policy: Policy, random: Callable[[], float]) -> Steps[T]:
    """Carry a call out; see the module.

    Raises:
        SwitchboardError: nobody answered, or with a problem, or with nonsense.
    """
    attempt = 0
    failed: SwitchboardError
    wait: float | None
    while True:
        attempt += 1
        came = yield Send(call.request)
        if isinstance(came, Response):
            if came.status < 400:
                return read(call, came)
            told = failed = read_problem(came)
            # What was throttled or refused as a whole was not done.
            again = came.status in _AGAIN and (call.repeatable or came.status == 429)
            wait = told.retry_after
        else:
            assert came is not None
            failed, wait = Unreachable(str(came)), None
            again = call.repeatable or not came.sent
        if not again or attempt >= policy.attempts:
            raise failed
        pause = min(policy.longest_wait, policy.first_wait * 2 ** (attempt - 1)) * (0.5 + 0.5 * random())
        if wait is not None:
            if wait > policy.longest_wait:
                raise failed  # longer than anybody waits in a call
            pause = max(pause, wait)
        yield Wait(pause)


def read(call: Call[T], response: Response) -> T:
    """Return the decoded answer; raises :class:`Malformed` for one that cannot be read."""
    try:
        if not call.rename:
            return msgspec.json.decode(response.body, type=call.answer)
        # Each list of the API is called after what is in it; here all are pages.
        body = msgspec.json.decode(response.body, type=dict[str, Any])
        return msgspec.convert({"items": body[call.rename], "next": body.get("next")}, call.answer)
    except (msgspec.MsgspecError, UnicodeDecodeError, KeyError) as error:
        raise Malformed(
            f"{call.request.method} {call.request.path} answered what cannot be read: {error}"
        ) from error


def read_problem(response: Response) -> Problem:
    """Return the error that an answer is."""
    try:
        body = msgspec.json.decode(response.body, type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeDecodeError):
        body = {"detail": f"status {response.status}, without a problem that says why"}
    after = response.headers.get("retry-after", "")
    return problem(response.status, body, float(after) if after.isdigit() else None)


@dataclass
class EventReader:
    """Server-sent events out of pieces of text that are cut anywhere."""

    last_id: str = ""
    _buffer: bytes = b""
    _data: list[str] = field(default_factory=list)
    _kind: str = ""
    _id: str = ""

    def feed(self, piece: bytes) -> list[tuple[str, str, str]]:
        """Take a piece; return the events that it completes: (id, kind, data)."""
        self._buffer += piece
        found = []
        *lines, self._buffer = self._buffer.replace(b"\r\n", b"\n").split(b"\n")
        for raw in lines:
            line = raw.decode(errors="replace")
            name, _, value = line.partition(":")
            value = value.removeprefix(" ")
            if not line:
                self.last_id = self._id  # only now: half an event has not been seen
                if self._data:
                    found.append((self.last_id, self._kind or "message", "\n".join(self._data)))
                self._data, self._kind = [], ""
            elif name == "data":
                self._data.append(value)
            elif name == "event":
                self._kind = value
            elif name == "id" and "\0" not in value:
                self._id = value
        return found

    def reconnected(self) -> None:
        """A new connection begins: half an event of the old one is dropped."""
        self._buffer, self._data, self._kind, self._id = b"", [], "", self.last_id
