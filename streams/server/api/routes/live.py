"""Live events, the log of a conversation, and the services' status."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import AsyncExitStack
from functools import partial
from typing import Annotated

import msgspec
from starlette.responses import Response

from models.errors import DependencyUnavailable
from models.index import Place
from models.messages import DEFAULT_TENANT, Identifier
from streams.queries.conversations.progress import FACTS
from streams.queries.live.history import ConversationLog, History
from streams.queries.live.interest import Interest, View
from streams.queries.live.reader import Live
from streams.queries.live.records import EventKind, Happened
from streams.queries.live.sse import EventStream, follow
from streams.queries.live.status import Overview, Status
from streams.server.api.operations import Call, Parameters, Scope, operation
from streams.server.api.problems import INVALID_REQUEST, Problem
from streams.stores.remembered.ports import Facts

#: The header in which a browser says where it left off.
_LAST_ID = "last-event-id"

_LONGEST_LOG = 20_000

#: How long it may take to tell whether facts are stored (seconds): events wait for it.
_STORED_SECONDS = 1.0


class EventParameters(Parameters, frozen=True, kw_only=True):
    """Filter of events: a conversation, a person, both, or a ``view``.

    ``kinds``: which kinds, with commas between them; empty: all.
    """

    conversation_id: Identifier | None = None
    user_id: Identifier | None = None
    view: View | None = None
    kinds: str = ""
    tenant_id: Identifier = DEFAULT_TENANT


class LogParameters(Parameters, frozen=True, kw_only=True):
    """``user_id``: only what this person said and what came of it; ``limit``: how many of the newest events."""

    conversation_id: Identifier
    user_id: Identifier | None = None
    limit: Annotated[int, msgspec.Meta(ge=1, le=_LONGEST_LOG)] = 5000
    tenant_id: Identifier = DEFAULT_TENANT


@operation(
    "GET",
    "/v1/events",
    scope=Scope.READ,
    example={"conversation_id": "c-1"},
    media_type="text/event-stream",
    answer=Happened,
)
async def get_events(call: Call, wanted: EventParameters) -> Response:
    """Events from now on, as server-sent events.

    The first is `ready`: what happens from then on is seen, so what was before is to be loaded then. `data`
    of the others is an event; `event` is its kind. `gap`: something was lost, or is only now there to be
    loaded: load anew. `bye`: the server stops, another generation serves from now on, or the token is
    revoked or over. `Last-Event-ID` continues where a stream broke off; `ready` says in `resumed` whether
    it could.
    """
    interest = _interest(call, wanted)
    live: Live = call.part("live")
    watching = AsyncExitStack()
    watcher = await watching.enter_async_context(
        live.watching(interest, call.request.headers.get(_LAST_ID, ""))
    )
    of_person = interest.user_id and not interest.conversation_id and interest.wants(EventKind.FACT)
    stored = partial(_stored, call.parts.facts, live.reached(interest, FACTS)) if of_person else None
    return EventStream(follow(watcher, stored), call.stopping, watching.aclose, call.caller.holds)


async def _stored(facts: Facts | None, written: Mapping[Place, int]) -> bool:
    """Tell whether the facts that were written are found: they are stored a moment after they are seen."""
    if facts is None or not written:
        return True
    try:
        async with asyncio.timeout(_STORED_SECONDS):
            marks = await facts.marks([*written])
    except (DependencyUnavailable, TimeoutError):
        return False  # whoever loads them is told so
    return all(marks[place] >= offset for place, offset in written.items())


def _interest(call: Call, wanted: EventParameters) -> Interest:
    if wanted.view is None and not (wanted.conversation_id or wanted.user_id):
        raise Problem(
            INVALID_REQUEST, "Say what to watch: conversation_id, user_id, or view (flow, dead-letters)."
        )
    if wanted.view is not None:
        # Letters are anybody's bytes, and the flow is everybody's.
        call.caller.check_scope(Scope.OPERATE)
        if wanted.conversation_id:
            raise Problem(INVALID_REQUEST, "A view is of all conversations: leave out conversation_id.")
    try:
        kinds = frozenset(EventKind(name) for name in wanted.kinds.split(",") if name)
    except ValueError as error:
        names = ", ".join(EventKind)
        raise Problem(INVALID_REQUEST, f"{error}: kinds are {names}.") from error
    return Interest(
        tenant_id=wanted.tenant_id,
        conversation_id=wanted.conversation_id or "",
        user_id=(wanted.user_id or "") if wanted.view is None else "",
        view=wanted.view,
        only_person=(call.caller.user_id or "") if wanted.view is None else "",
        kinds=kinds,
    )


@operation(
    "GET", "/v1/conversations/{conversation_id}/log", scope=Scope.READ, example={"conversation_id": "c-1"}
)
async def get_log(call: Call, wanted: LogParameters) -> ConversationLog:
    """Log of a conversation: messages, windows, and what came of them, in order of arrival.

    The same events as `/v1/events` streams, read from the topics, as long as those keep them.
    """
    history: History = call.part("history")
    interest = Interest(
        tenant_id=wanted.tenant_id,
        conversation_id=wanted.conversation_id,
        only_person=wanted.user_id or "",
    )
    return await history.log(interest, wanted.limit)


@operation("GET", "/v1/status", scope=Scope.OPERATE)
async def get_status(call: Call) -> Overview:
    """Running services, their progress, and the end of each topic, as in `switchboard status`."""
    status: Status = call.part("status")
    return await status.now()
