"""Messages of a conversation, and their results."""

from __future__ import annotations

import asyncio
from enum import StrEnum
from typing import Annotated

import msgspec
from starlette.responses import Response

from models.errors import NotFound, NotReadYet
from models.messages import DEFAULT_TENANT, Identifier
from models.summaries import Summary
from processors.conversations.token_table import TableRange
from processors.retrieval.recall.window import DEFAULT_TURNS, InvalidWindow, MessageWindow
from streams.config.printing import encode_json
from streams.queries.conversations.exporting import Exported
from streams.queries.conversations.listing import (
    Conversations,
    ListedConversation,
    LoggedMessage,
    OpenWindow,
    Tokens,
)
from streams.queries.conversations.windows import WindowRetriever
from streams.server.api.cursors import after, cursor_of
from streams.server.api.operations import Call, Parameters, Scope, operation
from streams.server.api.problems import INVALID_REQUEST, NOT_READ_YET, UNKNOWN_CONVERSATION, Problem
from streams.server.api.usage import usage

#: Of an index in a cursor.
_MOST_DIGITS = 15

_Number = Annotated[int, msgspec.Meta(ge=-(2**53), le=2**53)]


class WindowParameters(Parameters, frozen=True, kw_only=True):
    """``first`` and ``last``: the match, as indices of turns; ``turns``: how many more to each side."""

    conversation_id: str
    user_id: Identifier
    first: _Number
    last: _Number
    turns: _Number = DEFAULT_TURNS
    tenant_id: Identifier = DEFAULT_TENANT


class ConversationsParameters(Parameters, frozen=True, kw_only=True):
    """``cursor``: the ``next`` of the page before."""

    user_id: Identifier
    limit: Annotated[int, msgspec.Meta(ge=1, le=200)] = 50
    cursor: str | None = None
    tenant_id: Identifier = DEFAULT_TENANT


class ConversationParameters(Parameters, frozen=True, kw_only=True):
    """``user_id``: who must take part in it."""

    conversation_id: Identifier
    user_id: Identifier | None = None
    tenant_id: Identifier = DEFAULT_TENANT


class Order(StrEnum):
    """Order of messages."""

    OLDEST = "oldest"
    NEWEST = "newest"


class PageParameters(Parameters, frozen=True, kw_only=True):
    """``order``: which messages come first; ``cursor``: the ``next`` of the page before, in the same order."""

    conversation_id: Identifier
    user_id: Identifier | None = None
    order: Order = Order.OLDEST
    limit: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 200
    cursor: str | None = None
    tenant_id: Identifier = DEFAULT_TENANT


class ConversationsAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """A page, the conversation with the latest message first; ``next``: the cursor of the next, if any.

    ``known``: there is a conversation of theirs.  ``unread``: there is none, and something was said that nobody
    has read yet.
    """

    user_id: str
    tenant_id: str
    conversations: list[ListedConversation]
    next: str | None
    known: bool
    unread: bool


class ConversationAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """A conversation.  ``tokens`` is missing until ingest has read any of it; ``open_window`` is what no fact
    can have come of yet; ``ranges``: what is summarized, what is being, and what is not.
    """

    conversation_id: str
    tenant_id: str
    messages: list[LoggedMessage]
    total: int
    tokens: Tokens | None
    open_window: OpenWindow | None
    ranges: list[TableRange]
    next: str | None


class SummariesAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The summaries of a conversation, in the order in which they were made."""

    conversation_id: str
    tenant_id: str
    summaries: list[Summary]


@operation(
    "GET",
    "/v1/conversations/{conversation_id}/window",
    scope=Scope.READ,
    example={"conversation_id": "c-1", "user_id": "ada", "first": 10, "last": 11},
    problems=[UNKNOWN_CONVERSATION, NOT_READ_YET],
)
async def get_window(call: Call, wanted: WindowParameters) -> MessageWindow:
    """The messages around a match."""
    windows: WindowRetriever = call.part("windows")
    found = call.parts.conversations
    try:
        return await windows.window(
            wanted.tenant_id, wanted.user_id, wanted.conversation_id, wanted.first, wanted.last, wanted.turns
        )
    except InvalidWindow as error:
        raise Problem(INVALID_REQUEST, f"{error}. {usage(get_window)}.") from error
    except NotFound as error:
        if found is not None and await found.waits(wanted.tenant_id, wanted.user_id, wanted.conversation_id):
            raise Problem(
                NOT_READ_YET, f"What was said in {wanted.conversation_id} is not read yet."
            ) from error
        raise Problem(UNKNOWN_CONVERSATION, f"{error}.") from error


@operation(
    "GET",
    "/v1/conversations",
    scope=Scope.READ,
    example={"user_id": "ada"},
    links={
        name: {"conversation_id": "/conversations/0/conversation_id", "user_id": "/conversations/0/user_id"}
        for name in ("get_conversation", "get_summaries", "export_conversation")
    },
)
async def list_conversations(call: Call, wanted: ConversationsParameters) -> ConversationsAnswer:
    """The conversations of a person, the one with the latest message first, a page at a time."""
    found: Conversations = call.part("conversations")
    # It may have moved up since, by a new message: then what is behind it comes again; nothing is passed over.
    last = "" if wanted.cursor is None else after("conversations", wanted.cursor)
    names = await found.page(wanted.tenant_id, wanted.user_id, wanted.limit + 1, last)
    page = names[: wanted.limit]

    async def has_any() -> bool:
        return bool(await found.page(wanted.tenant_id, wanted.user_id, 1))

    known = bool(names) or await has_any()
    listed = await asyncio.gather(*(found.listed(wanted.tenant_id, wanted.user_id, name) for name in page))
    return ConversationsAnswer(
        user_id=wanted.user_id,
        tenant_id=wanted.tenant_id,
        conversations=list(listed),
        next=cursor_of("conversations", page[-1]) if len(names) > len(page) else None,
        known=known,
        unread=not known and await call.is_unread(wanted.tenant_id, wanted.user_id, has_any),
    )


@operation(
    "GET",
    "/v1/conversations/{conversation_id}/export",
    scope=Scope.READ,
    example={"conversation_id": "c-1", "user_id": "ada"},
    problems=[UNKNOWN_CONVERSATION, NOT_READ_YET],
    media_type="application/x-ndjson",
    answer=Exported,
)
async def export_conversation(call: Call, wanted: ConversationParameters) -> Response:
    """A conversation as lines of JSON: each message with its tokens and metadata, then the summaries."""
    found: Conversations = call.part("conversations")
    await checked(found, wanted)
    lines = [
        encode_json(each) + b"\n" for each in await found.exported(wanted.tenant_id, wanted.conversation_id)
    ]
    headers = {"content-disposition": 'attachment; filename="conversation.jsonl"', "cache-control": "no-store"}
    return Response(b"".join(lines), headers=headers, media_type="application/x-ndjson")


@operation(
    "GET",
    "/v1/conversations/{conversation_id}",
    scope=Scope.READ,
    example={"conversation_id": "c-1", "user_id": "ada"},
    problems=[UNKNOWN_CONVERSATION, NOT_READ_YET],
)
async def get_conversation(call: Call, wanted: PageParameters) -> ConversationAnswer:
    """A conversation: its messages a page at a time, its tokens, and the window that is still open."""
    found: Conversations = call.part("conversations")
    total = await checked(found, wanted)
    rows = _rows(wanted, total)
    overview = await found.overview(wanted.tenant_id, wanted.conversation_id)
    first = min(rows, default=0)
    said = await found.said(wanted.tenant_id, wanted.conversation_id, first, len(rows), overview)
    more = bool(rows) and rows[-1] != (0 if wanted.order is Order.NEWEST else total - 1)
    return ConversationAnswer(
        conversation_id=wanted.conversation_id,
        tenant_id=wanted.tenant_id,
        messages=said[:: rows.step],
        total=total,
        tokens=overview.tokens,
        open_window=overview.open_window,
        ranges=overview.ranges,
        next=cursor_of(_list(wanted), str(rows[-1])) if more else None,
    )


@operation(
    "GET",
    "/v1/conversations/{conversation_id}/summaries",
    scope=Scope.READ,
    example={"conversation_id": "c-1", "user_id": "ada"},
    problems=[UNKNOWN_CONVERSATION, NOT_READ_YET],
)
async def get_summaries(call: Call, wanted: ConversationParameters) -> SummariesAnswer:
    """The summaries of a conversation, each with the range of messages that it stands for."""
    found: Conversations = call.part("conversations")
    await checked(found, wanted)
    summaries = await found.summaries(wanted.tenant_id, wanted.conversation_id)
    return SummariesAnswer(
        conversation_id=wanted.conversation_id, tenant_id=wanted.tenant_id, summaries=summaries
    )


def _list(wanted: PageParameters) -> str:
    """Return the list that a cursor belongs to."""
    order = "newest " if wanted.order is Order.NEWEST else ""
    return f"{order}messages {wanted.conversation_id}"


def _rows(wanted: PageParameters, total: int) -> range:
    """Return the indices of a page, in its order."""
    newest = wanted.order is Order.NEWEST
    begin = total if newest else -1
    if wanted.cursor is not None:
        last = after(_list(wanted), wanted.cursor)
        if not (last.isdecimal() and len(last) <= _MOST_DIGITS):
            raise Problem(INVALID_REQUEST, "cursor is none of ours: take the `next` of a page.")
        begin = min(int(last), total)
    if newest:
        return range(begin - 1, max(-1, begin - 1 - wanted.limit), -1)
    return range(begin + 1, min(total, begin + 1 + wanted.limit))


async def checked(found: Conversations, wanted: ConversationParameters | PageParameters) -> int:
    try:
        return await found.check(wanted.tenant_id, wanted.user_id, wanted.conversation_id)
    except NotReadYet as error:
        raise Problem(NOT_READ_YET, f"{error}.") from error
    except NotFound as error:
        raise Problem(UNKNOWN_CONVERSATION, f"{error}: check the names.") from error
