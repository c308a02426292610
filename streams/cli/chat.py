"""``switchboard chat``: a chat with memory in the terminal, over HTTP like any other."""

from __future__ import annotations

import asyncio
import secrets
import signal
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import suppress
from typing import Annotated, Any
from urllib.parse import quote

import httpx
import msgspec
import typer

from models.errors import ConfigurationError, DependencyUnavailable
from models.messages import DEFAULT_TENANT
from streams.cli import recall_api
from streams.cli.output import print_json, printable
from streams.namespace import PREFIX_HEADER
from streams.printing import printable_lines
from streams.settings import Settings, load_settings

#: Longest silence between two events: a comment comes every 15 s.
_SILENCE_SECONDS = 60.0

#: How long it may take to leave a conversation.
_LEAVING_SECONDS = 5.0


def talk(
    message: Annotated[
        str,
        typer.Argument(help="What to say; without it, line by line until the input ends.", show_default=False),
    ] = "",
    user: Annotated[str, typer.Option("--user", "-u", help="Who talks.", show_default=False)] = "me",
    conversation: Annotated[
        str, typer.Option("--conversation", "-c", help="Where; a new one unless one says.", show_default=False)
    ] = "",
    tenant: Annotated[str, typer.Option("--tenant", help="The tenant of the person.")] = DEFAULT_TENANT,
    json: Annotated[bool, typer.Option("--json", help="One JSON object per event of a turn.")] = False,
) -> None:
    """Talk with an assistant that remembers.  Needs `switchboard serve`; Ctrl-C stops an answer."""
    settings = load_settings()
    place = conversation or f"chat-{secrets.token_hex(4)}"
    if not conversation:
        print(f"conversation {place}; go on later with --conversation {place}", file=sys.stderr)
    said = [message] if message else None
    asyncio.run(_talk(settings, place, {"user_id": user, "tenant_id": tenant}, said, json))


async def _talk(
    settings: Settings, conversation: str, who: dict[str, str], said: Sequence[str] | None, as_json: bool
) -> None:
    base = await recall_api.base_of(settings)
    headers = {PREFIX_HEADER: settings.topic_prefix}
    if token := settings.api_token.get_secret_value():
        headers["authorization"] = f"Bearer {token}"
    timeout = httpx.Timeout(_SILENCE_SECONDS)
    async with httpx.AsyncClient(base_url=base, timeout=timeout, trust_env=False, headers=headers) as client:
        has_spoken = False
        try:
            async for line in _lines(said):
                has_spoken = True
                await _turn(client, conversation, who, line, _as_json if as_json else _Shown().take)
        finally:
            if has_spoken:
                await _leave(client, conversation, who)


async def _leave(client: httpx.AsyncClient, conversation: str, who: dict[str, str]) -> None:
    """Say that a conversation is over, so that facts come of it at once; else they come once it was silent."""
    path = f"/v1/conversations/{quote(conversation, safe='')}/close"
    with suppress(httpx.TransportError):
        await client.post(path, params=who, timeout=_LEAVING_SECONDS)


async def _lines(said: Sequence[str] | None) -> AsyncIterator[str]:
    for line in said or ():
        yield line
    while said is None:
        if sys.stdin.isatty():
            print("you  ", end="", flush=True)
        line = sys.stdin.readline()  # nothing else goes on meanwhile, and Ctrl-C ends it
        if not line:
            return
        if line.strip():
            yield line.rstrip("\n")


async def _turn(
    client: httpx.AsyncClient,
    conversation: str,
    who: dict[str, str],
    said: str,
    show: Callable[[str, Any], None],
) -> None:
    """Say something and show what is answered; an interrupt stops the answer, and nothing else."""
    path = f"/v1/conversations/{quote(conversation, safe='')}/turns"
    turn_id = ""
    upcoming: asyncio.Future[Any] | None = None
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    with suppress(NotImplementedError, ValueError):
        loop.add_signal_handler(signal.SIGINT, stop.set)
    stopping = asyncio.create_task(stop.wait())
    try:
        async with client.stream("POST", path, json={"content": said, **who}) as answer:
            if not answer.is_success:
                await answer.aread()
                raise recall_api.refusal(answer, str(client.base_url))
            events = _events(answer)
            while True:
                upcoming = asyncio.ensure_future(anext(events, None))
                await asyncio.wait([upcoming, stopping], return_when=asyncio.FIRST_COMPLETED)
                if stopping.done() and turn_id:
                    await client.post(f"/v1/turns/{turn_id}/stop", json=who)
                    stop.clear()
                    stopping = asyncio.create_task(stop.wait())
                event = await upcoming
                if event is None:
                    return
                name, told = event
                turn_id = told["turn_id"] if name == "turn" else turn_id
                show(name, told)
    except httpx.ConnectError as error:
        raise DependencyUnavailable(
            "serve", f"nobody listens at {client.base_url}: start `switchboard serve`, or all with `make demo`"
        ) from error
    except httpx.TransportError as error:
        raise DependencyUnavailable(
            "serve", f"the answer broke off ({type(error).__name__}); what you said is kept if it was confirmed"
        ) from error
    finally:
        waiting = [each for each in (upcoming, stopping) if each is not None]
        for each in waiting:
            each.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        with suppress(NotImplementedError, ValueError):
            loop.remove_signal_handler(signal.SIGINT)


async def _events(answer: httpx.Response) -> AsyncIterator[tuple[str, Any]]:
    name = ""
    async for line in answer.aiter_lines():
        if line.startswith("event: "):
            name = line.removeprefix("event: ")
        elif line.startswith("data: "):
            try:
                yield name, msgspec.json.decode(line.removeprefix("data: "))
            except msgspec.DecodeError as error:
                raise ConfigurationError(
                    f"what answers at {answer.request.url.host} is not `switchboard serve`: set "
                    "SWITCHBOARD_API_PORT"
                ) from error


def _as_json(name: str, told: Any) -> None:
    print_json({"event": name, "data": told})


class _Shown:
    """A turn as a person reads it: text as it comes, what went wrong, and sources at the end."""

    def __init__(self) -> None:
        self._has_text = False

    def take(self, name: str, told: Any) -> None:
        """Show an event."""
        match name:
            case "text":
                print("it   " * (not self._has_text) + printable_lines(told["text"]), end="", flush=True)
                self._has_text = True
            case "notice":
                self._line(f"!    {printable(told['message'])}")
            case "search":
                self._line(
                    f"     searched for “{printable(told['query'])}”: {len(told.get('found', ()))} found"
                )
            case "duplicate" if not told.get("kept"):
                self._line(f"     said already: “{printable(told['duplicate_sentence'])}”")
            case "message":
                self._line("")
                self._sources(told.get("metadata", {}).get("answer") or {})
            case "tokens":
                print(f"     context: {told['total']:,} / {told['threshold']:,} tokens")
            case "summary":
                print(f"     summarized: {told['tokens_before']:,} → {told['tokens_after']:,} tokens")
            case "end" if told.get("message"):
                self._line(f"!    {printable(told['message'])}")

    def _sources(self, answer: dict[str, Any]) -> None:
        for item in answer.get("prompt", {}).get("items", ()):
            if item.get("quoted"):
                print(f"     [{item['n']}] {item['tier']}: {printable(item['text'][:100])}")

    def _line(self, text: str) -> None:
        if self._has_text:
            print()
            self._has_text = False
        if text:
            print(text)
