"""``switchboard chat``: a chat with memory in the terminal, over HTTP like any other."""

from __future__ import annotations

import asyncio
import secrets
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import suppress
from typing import Annotated
from urllib.parse import quote

import httpx
import typer

from models.errors import DependencyUnavailable
from models.messages import DEFAULT_TENANT
from streams.cli import recall_api
from streams.cli.chat_shown import AsJson, Shown
from streams.cli.chat_turn import NoAnswer, PendingMessage, Showing, Speaking
from streams.cli.output import count
from streams.config.namespace import PREFIX_HEADER
from streams.config.settings import Settings, load_settings

#: Longest silence between two events: a comment comes every 15 s.
_SILENCE_SECONDS = 60.0

#: How long it may take to leave a conversation.
_LEAVING_SECONDS = 5.0

#: What tries again what has no whole answer.
_AGAIN = "/again"


def talk(
    message: Annotated[
        str,
        typer.Argument(help="What to say; without it, line by line until the input ends.", show_default=False),
    ] = "",
    user: Annotated[str, typer.Option("--user", "-u", help="Who talks.", show_default=False)] = "me",
    conversation: Annotated[
        str, typer.Option("--conversation", "-c", help="Where; a new one unless one says.", show_default=False)
    ] = "",
    again: Annotated[
        str, typer.Option("--again", metavar="TURN", help="Try an interrupted turn again.", show_default=False)
    ] = "",
    tenant: Annotated[str, typer.Option("--tenant", help="The tenant of the person.")] = DEFAULT_TENANT,
    json: Annotated[bool, typer.Option("--json", help="One JSON object per event of a turn.")] = False,
) -> None:
    """Talk with an assistant that remembers.  Needs `switchboard serve`; Ctrl-C stops an answer.

    The line /again tries again what was interrupted or not taken.
    """
    settings = load_settings()
    place = conversation or f"chat-{secrets.token_hex(4)}"
    if not conversation:
        print(f"conversation {place}; go on later with --conversation {place}", file=sys.stderr)
    said = [message] if message else [] if again else None
    asyncio.run(_talk(settings, place, {"user_id": user, "tenant_id": tenant}, said, json, again))


async def _talk(
    settings: Settings,
    conversation: str,
    who: dict[str, str],
    said: Sequence[str] | None,
    as_json: bool,
    again: str = "",
) -> None:
    base = await recall_api.base_of(settings)
    headers = {PREFIX_HEADER: settings.topic_prefix}
    if token := settings.api_token.get_secret_value():
        headers["authorization"] = f"Bearer {token}"
    timeout = httpx.Timeout(_SILENCE_SECONDS)
    async with httpx.AsyncClient(base_url=base, timeout=timeout, trust_env=False, headers=headers) as client:
        session = _Session(Speaking(client, conversation, who), AsJson if as_json else Shown)
        try:
            if again:
                await session.say(PendingMessage("", again, is_over=True))
            async for line in _lines(said):
                if line.strip() == _AGAIN:
                    await session.again()
                else:
                    await session.say(PendingMessage(line))
        finally:
            if session.has_spoken:
                await _leave(client, conversation, who)
        session.leave(f"switchboard chat --user {who['user_id']} --conversation {conversation}")


class _Session:
    """Session of a chat; a message without a whole answer is kept for a retry."""

    def __init__(self, speaking: Speaking, showing: Callable[[], Showing]) -> None:
        self.has_spoken = False
        self._speaking, self._showing = speaking, showing
        self._kept: list[PendingMessage] = []

    async def say(self, said: PendingMessage) -> None:
        """Say something and show what is answered; without an answer it is kept, and the session goes on."""
        self.has_spoken = True
        shown = self._showing()
        try:
            await self._speaking.say(said, shown)
        except NoAnswer as error:
            self._kept.append(said)
            shown.note(f"{error.why.rstrip('.')}. The line {_AGAIN} tries it again.")

    async def again(self) -> None:
        """Say once more what has no whole answer."""
        if not self._kept:
            self._showing().note("There is nothing to try again.")
        kept, self._kept = self._kept, []
        for each in kept:
            await self.say(each)

    def leave(self, command: str) -> None:
        """Raise :class:`DependencyUnavailable` if something has no whole answer."""
        said = [each.turn_id for each in self._kept if each.is_heard or each.is_over]
        ways = [f"without a whole answer, `{command} --again {name}` tries again" for name in said]
        if unsaid := len(self._kept) - len(said):
            ways.append(f"{count(unsaid, 'line')} not said as far as is known, say it again later")
        if ways:
            raise DependencyUnavailable("serve", "; ".join(ways))


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
