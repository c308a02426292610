"""Turn of a chat, followed to the end of its answer, through servers that stop or are full."""

from __future__ import annotations

import asyncio
import secrets
import signal
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Protocol
from urllib.parse import quote

import httpx
import msgspec

from models.errors import ConfigurationError, DependencyUnavailable
from streams.cli import recall_api
from streams.config.backoff import backoff

#: How long a turn of which nothing new is heard is asked for again, and the pauses between (seconds).
AGAIN_SECONDS = 60.0
_FIRST_PAUSE, _LONGEST_PAUSE = 0.3, 4.0

#: How often one that is told to come again does, and how long it lets itself be told to wait at most (seconds).
_REFUSALS, _LONGEST_WAIT = 4, 30.0

_STOP_SECONDS = 10.0


class Showing(Protocol):
    """Shows the events of a turn, and what else is to be said meanwhile."""

    def take(self, name: str, told: Any) -> None:
        """Show an event."""
        ...

    def note(self, text: str) -> None:
        """Say something that is no event of a turn."""
        ...


class NoAnswer(DependencyUnavailable):
    """It has no whole answer, ``why`` says why, and can be tried again."""

    def __init__(self, why: str) -> None:
        super().__init__("serve", why)
        self.why = why


@dataclass
class PendingMessage:
    """Something said, under a name of its own: said once, however often it is sent.

    ``is_heard``: serve has confirmed it, so its events are asked for.  ``is_over``: its turn ended without an
    answer, so it is tried again by its name alone.
    """

    content: str
    turn_id: str = field(default_factory=lambda: f"t-{secrets.token_hex(12)}")
    is_heard: bool = False
    is_over: bool = False


class Speaking:
    """Somebody who speaks in a conversation."""

    def __init__(self, client: httpx.AsyncClient, conversation: str, who: dict[str, str]) -> None:
        self._client = client
        self._conversation = conversation
        self._who = who
        self._has_met = False

    async def say(self, said: PendingMessage, shown: Showing) -> None:
        """Say something and show what is answered; an interrupt stops the answer, and nothing else.

        Raises:
            NoAnswer: there is no whole answer.
            DependencyUnavailable: nobody listens there, and nobody did.
        """
        async with _interrupts() as stop:
            await _Following(self, said, shown, stop).to_its_end()

    def request(self, said: PendingMessage, last_id: str) -> httpx.Request:
        """Return the request that starts the turn, or resumes its stream."""
        build = self._client.build_request
        if said.is_heard:
            where = {"conversation_id": self._conversation, **self._who}
            headers = {"last-event-id": last_id} if last_id else {}
            return build("GET", f"/v1/turns/{_segment(said.turn_id)}/events", params=where, headers=headers)
        body = {"turn_id": said.turn_id, **self._who} | ({} if said.is_over else {"content": said.content})
        return build("POST", f"/v1/conversations/{_segment(self._conversation)}/turns", json=body)

    @asynccontextmanager
    async def answer(self, request: httpx.Request) -> AsyncIterator[httpx.Response]:
        """Send it; raises :class:`DependencyUnavailable` if nobody listens there who ever has."""
        try:
            answer = await self._client.send(request, stream=True)
        except httpx.ConnectError as error:
            if self._has_met:
                raise
            base, start = self._client.base_url, "start `switchboard serve`, or all with `switchboard demo`"
            raise DependencyUnavailable("serve", f"nobody listens at {base}: {start}") from error
        self._has_met = True
        async with aclosing(answer):
            yield answer

    async def stop(self, said: PendingMessage) -> None:
        """End the turn; what was answered so far is kept."""
        path = f"/v1/turns/{_segment(said.turn_id)}/stop"
        await self._client.post(path, json=self._who, timeout=_STOP_SECONDS)


class _Following:
    """A turn on its way through connections that break."""

    def __init__(self, speaking: Speaking, said: PendingMessage, shown: Showing, stop: asyncio.Event) -> None:
        self._speaking, self._said, self._shown, self._stop = speaking, said, shown, stop
        self._last_id = ""
        self._failures = self._refusals = 0
        self._deadline: float | None = None

    async def to_its_end(self) -> None:
        """Show it to its end; see :meth:`Speaking.say`."""
        while True:
            try:
                async with self._speaking.answer(self._speaking.request(self._said, self._last_id)) as answer:
                    if not answer.is_success:
                        await answer.aread()
                        wait = self._refused(answer)
                    elif await self._listen(answer):
                        return
                    else:
                        wait = self._broken("the server stops")
            except httpx.TransportError as error:
                wait = self._broken(type(error).__name__)
            with suppress(TimeoutError):
                async with asyncio.timeout(wait):
                    await self._stop.wait()
                why = "not said" if self._deadline is None else "the answer broke off"
                raise NoAnswer(f"{why}, and not waited for any longer")

    async def _listen(self, answer: httpx.Response) -> bool:
        """Show what comes; return whether the turn ended."""
        stopping = asyncio.create_task(self._stop.wait())
        upcoming: asyncio.Future[Any] | None = None
        try:
            async with aclosing(_events(answer)) as events:
                while True:
                    upcoming = asyncio.ensure_future(anext(events, None))
                    await asyncio.wait([upcoming, stopping], return_when=asyncio.FIRST_COMPLETED)
                    if stopping.done() and self._said.is_heard:
                        await self._speaking.stop(self._said)
                        self._stop.clear()
                        stopping = asyncio.create_task(self._stop.wait())
                    event = await upcoming
                    if event is None or event[1] == "bye":
                        return False
                    if self._heard(*event):
                        return True
        finally:
            waiting = [each for each in (upcoming, stopping) if each is not None]
            for each in waiting:
                each.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)

    def _heard(self, identity: str, name: str, told: Any) -> bool:
        """Show an event; return whether it is the last."""
        self._last_id = identity or self._last_id
        self._said.is_heard = True
        if name != "turn":  # whoever has but its name to tell brings nothing new
            self._deadline, self._failures = None, 0
        self._shown.take(name, told)
        if name == "end" and told.get("try_again") and told.get("status") in ("interrupted", "failed"):
            self._said.is_heard, self._said.is_over = False, True
            raise NoAnswer("it has no whole answer")
        return name == "end"

    def _refused(self, answer: httpx.Response) -> float:
        """Return how long to wait before it is tried again, or raise why it is not."""
        refusal = recall_api.refusal(answer, answer.request.url.host)
        problem = _problem(answer)
        if answer.status_code == 404 and self._goes_on_otherwise():
            return self._broken("no such turn")
        if answer.status_code == 409:
            running = problem.get("turn_id")
            if running is None:
                raise refusal
            if running != self._said.turn_id:
                raise NoAnswer(f"not said, for turn {running} runs: {problem['detail']}")
            self._said.is_heard = True  # it is ours, and on its way
            return self._broken("it runs elsewhere")
        if answer.status_code == 429 or str(problem.get("type")).endswith(":too-many-turns"):
            return self._full(answer, str(problem.get("detail", refusal)))
        if answer.status_code not in (502, 503, 504):
            raise refusal
        if not self._said.is_heard and self._deadline is None:
            raise NoAnswer(f"not said: {problem.get('detail', refusal)}")
        return self._broken(str(refusal))

    def _goes_on_otherwise(self) -> bool:
        """Switch to the next form of the request, if there is one; return whether there is."""
        if self._said.is_heard:
            self._said.is_heard = self._said.is_over = False
            self._last_id = ""
            return bool(self._said.content)  # once more, under the same name
        self._said.is_heard = self._said.is_over  # it cannot be tried again: it may have its answer by now
        return self._said.is_heard

    def _full(self, answer: httpx.Response, why: str) -> float:
        given = answer.headers.get("retry-after", "")
        wait = float(given) if given.isdecimal() else _FIRST_PAUSE
        self._refusals += 1
        if self._refusals > _REFUSALS or wait > _LONGEST_WAIT:
            raise NoAnswer(f"not said: {why}")
        self._shown.note(f"{why} It is tried again in {wait:g} s …")
        return wait

    def _broken(self, why: str) -> float:
        """Return how long to wait before it is asked for again; raises :class:`NoAnswer` if it was for long."""
        now = asyncio.get_running_loop().time()
        if self._deadline is None:
            self._deadline = now + AGAIN_SECONDS
            self._shown.note(f"the answer broke off ({why}), connecting again …")
        elif now >= self._deadline:
            raise NoAnswer(f"the answer broke off ({why}); what you said is kept if it was confirmed")
        self._failures += 1
        return backoff(self._failures, _FIRST_PAUSE, _LONGEST_PAUSE)


@asynccontextmanager
async def _interrupts() -> AsyncIterator[asyncio.Event]:
    """An event that is set by Ctrl-C, which ends nothing else meanwhile."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    # Not on Windows, nor outside of the main thread: there Ctrl-C ends the session, as it does everywhere else.
    with suppress(NotImplementedError, ValueError):
        loop.add_signal_handler(signal.SIGINT, stop.set)
    try:
        yield stop
    finally:
        with suppress(NotImplementedError, ValueError):
            loop.remove_signal_handler(signal.SIGINT)


async def _events(answer: httpx.Response) -> AsyncGenerator[tuple[str, str, Any]]:
    identity = name = ""
    async for line in answer.aiter_lines():
        if line.startswith("id: "):
            identity = line.removeprefix("id: ")
        elif line.startswith("event: "):
            name = line.removeprefix("event: ")
        elif line.startswith("data: "):
            try:
                yield identity, name, msgspec.json.decode(line.removeprefix("data: "))
            except msgspec.DecodeError as error:
                raise ConfigurationError(
                    f"what answers at {answer.request.url.host} is not `switchboard serve`: set "
                    "SWITCHBOARD_API_PORT"
                ) from error


def _problem(answer: httpx.Response) -> dict[str, Any]:
    try:
        return msgspec.json.decode(answer.content, type=dict[str, Any])
    except msgspec.DecodeError:
        return {}  # a proxy's own page


def _segment(identity: str) -> str:
    return quote(identity, safe="")
