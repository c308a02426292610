"""Turns of a chat: what a person says, and what is answered as it comes."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Annotated

import msgspec

from models.errors import InvalidRecord, NotFound
from models.messages import DEFAULT_TENANT, Identifier
from streams.chat.chats import Chats
from streams.chat.elsewhere import TurnEnded
from streams.chat.events import Status, TurnEvent
from streams.chat.leases import TurnRunning
from streams.chat.turn_limiter import NoRoom
from streams.queries.live.sse import EventStream, frame
from streams.server.api.operations import Call, Parameters, Scope, operation
from streams.server.api.problems import (
    INVALID_REQUEST,
    TOO_LARGE,
    TOO_MANY_TURNS,
    TURN_RUNNING,
    UNKNOWN_CONVERSATION,
    UNKNOWN_TURN,
    Problem,
)
from streams.server.api.usage import usage

_TurnId = Annotated[str, msgspec.Meta(min_length=1, max_length=120)]

_STREAM = "text/event-stream"

#: When to come again where no turn has room (seconds): an answer takes some.
_ROOM_SECONDS = "2"


class TurnParameters(Parameters, frozen=True, kw_only=True):
    """Where it is said."""

    conversation_id: Identifier


class TurnBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``content``: what is said.  ``turn_id`` without it: a turn that was interrupted, to be tried again.

    ``turn_id`` with ``content``: a name of the asker's own for the turn.  Who does not know whether it arrived
    says it again, with both: it is said once, and its events are told.
    """

    user_id: Identifier
    content: str = ""
    turn_id: _TurnId | None = None
    tenant_id: Identifier = DEFAULT_TENANT


class TurnEventsParameters(Parameters, frozen=True, kw_only=True):
    """``after``: the number of the last event that was seen; ``Last-Event-ID`` says the same."""

    turn_id: _TurnId
    conversation_id: Identifier
    user_id: Identifier
    after: Annotated[int, msgspec.Meta(ge=0, le=2**53)] = 0
    tenant_id: Identifier = DEFAULT_TENANT


class StopParameters(Parameters, frozen=True, kw_only=True):
    """Path parameters of a turn."""

    turn_id: _TurnId


class StopBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Owner of the turn."""

    user_id: Identifier
    tenant_id: Identifier = DEFAULT_TENANT


class Stopped(msgspec.Struct, frozen=True, kw_only=True):
    """How the turn ended."""

    turn_id: str
    status: Status


@operation(
    "POST",
    "/v1/conversations/{conversation_id}/turns",
    scope=Scope.CHAT,
    example={"conversation_id": "c-1"},
    example_body={"user_id": "ada", "content": "Where do I live?"},
    problems=[UNKNOWN_CONVERSATION, UNKNOWN_TURN, TURN_RUNNING, TOO_LARGE, TOO_MANY_TURNS],
    media_type=_STREAM,
    answer=str,
)
async def post_turn(call: Call, wanted: TurnParameters, body: TurnBody) -> EventStream:
    """Say something, and be answered as it comes.

    Events, each with `id` (its number) and JSON as `data`: `turn` (the message is confirmed), `understanding`,
    `prompt`, `search`, `notice`, `text`, `duplicate`, `message`, `tokens`, `summary`, `end`.  Who leaves misses
    nothing: `GET /v1/turns/{turn_id}/events` goes on.
    """
    chats: Chats = call.part("chats")
    if not body.content.strip() and (body.content or body.turn_id is None):
        raise Problem(
            INVALID_REQUEST,
            f"Send what is said as content, or the turn_id of one to try again. {usage(post_turn)}.",
        )
    size, most = len(body.content.encode("utf-8", "replace")), call.parts.most_content_bytes
    if size > most:
        raise Problem(
            TOO_LARGE, f"What is said has {size:,} bytes, and may have {most:,}: say it in several turns."
        )
    whose = body.tenant_id, body.user_id, wanted.conversation_id
    known = chats.find(*whose, body.turn_id or "") if body.content else None
    if known is not None:
        return _stream(call, known.events())
    try:
        running = await chats.begin(*whose, body.content, body.turn_id or "")
    except TurnRunning as error:
        raise Problem(
            TURN_RUNNING,
            "A turn of this conversation has not ended: wait for it, or stop it.",
            turn_id=str(error),
        ) from None
    except NoRoom as error:
        raise Problem(
            TOO_MANY_TURNS,
            f"{error}. What you said is not written: say it again in a moment.",
            {"retry-after": _ROOM_SECONDS},
        ) from None
    except InvalidRecord as error:
        raise Problem(INVALID_REQUEST, f"{error}. {usage(post_turn)}.") from error
    except TurnEnded as error:
        if not body.content:
            raise Problem(UNKNOWN_TURN, f"{error}.") from error
        told = chats.elsewhere(*whose, body.turn_id or "")
        return _stream(call, told)
    except NotFound as error:
        raise Problem(
            UNKNOWN_TURN if body.turn_id and not body.content else UNKNOWN_CONVERSATION, f"{error}."
        ) from error
    return _stream(call, running.events())


@operation(
    "GET",
    "/v1/turns/{turn_id}/events",
    scope=Scope.CHAT,
    example={"turn_id": "t-1", "conversation_id": "c-1", "user_id": "ada"},
    problems=[UNKNOWN_TURN],
    media_type=_STREAM,
    answer=str,
)
async def get_turn_events(call: Call, wanted: TurnEventsParameters) -> EventStream:
    """Events of a turn, past and live.

    A turn of another process is told by the log: its message and its end, or that it was interrupted.
    """
    chats: Chats = call.part("chats")
    running = chats.find(wanted.tenant_id, wanted.user_id, wanted.conversation_id, wanted.turn_id)
    if running is not None:
        return _stream(call, running.events(max(wanted.after, _last_seen(call))))
    told = chats.elsewhere(wanted.tenant_id, wanted.user_id, wanted.conversation_id, wanted.turn_id)
    try:
        first = await anext(told)
    except NotFound as error:
        raise Problem(UNKNOWN_TURN, f"{error}.") from error
    return _stream(call, _with(first, told))


@operation(
    "POST",
    "/v1/turns/{turn_id}/stop",
    scope=Scope.CHAT,
    example={"turn_id": "t-1"},
    example_body={"user_id": "ada"},
    problems=[UNKNOWN_TURN],
)
async def stop_turn(call: Call, wanted: StopParameters, body: StopBody) -> Stopped:
    """End a turn; what was said so far is kept.  One that has ended stays as it is."""
    chats: Chats = call.part("chats")
    try:
        status = await chats.stop(body.tenant_id, body.user_id, wanted.turn_id)
    except NotFound as error:
        raise Problem(UNKNOWN_TURN, f"{error}.") from error
    return Stopped(turn_id=wanted.turn_id, status=status)


async def _with(first: TurnEvent, rest: AsyncGenerator[TurnEvent]) -> AsyncGenerator[TurnEvent]:
    async with aclosing(rest):
        yield first
        async for event in rest:
            yield event


def _last_seen(call: Call) -> int:
    given = call.request.headers.get("last-event-id", "")
    return int(given) if given.isdecimal() and len(given) < 16 else 0


def _stream(call: Call, events: AsyncGenerator[TurnEvent]) -> EventStream:
    framed = (frame(event.name, event.data, str(event.number)) async for event in events)
    return EventStream(framed, call.stopping, events.aclose, call.caller.holds)
