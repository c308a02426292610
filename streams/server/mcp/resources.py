"""Resources: what a client may show or attach without a tool."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ResourceError, ToolError

from processors.text.tokens import TokenCounter
from streams.server.mcp.answers import Conversation, ShownMessage, cut, fitting, reading_on
from streams.server.mcp.asking import segment
from streams.server.mcp.hints import Asking
from streams.server.mcp.reading import facts_of

#: Facts or messages of a resource; of these, as many as fit.
_MOST_AT_ONCE = 200


@contextmanager
def _saying_why() -> Iterator[None]:
    """Let what a tool would say be said of a resource."""
    try:
        yield
    except ToolError as error:
        raise ResourceError(str(error)) from error


def add_resources(server: MCPServer[Any], asking: Asking, count: TokenCounter) -> None:
    """Add them to a server."""

    @server.resource(
        "switchboard://people/{user_id}/facts",
        title="Facts about a person",
        description="The facts that hold, as JSON; of the person that the connection is for, and nobody else.",
        mime_type="application/json",
    )
    async def people_facts(user_id: str, ctx: Context[Any, Any]) -> str:
        ask = asking(ctx)
        with _saying_why():
            person = await ask.person()
            if user_id != person:
                own = f"switchboard://people/{segment(person)}/facts"
                raise ToolError(f"This memory is that of {person}: {own}.")
            found = await facts_of(ask, count, _MOST_AT_ONCE, following='list_facts(cursor="{}")')
            return found.model_dump_json(indent=2)

    @server.resource(
        "switchboard://conversations/{conversation_id}",
        title="A conversation",
        description="Its first messages as JSON, and how many there are; `next` says the call that reads on.",
        mime_type="application/json",
    )
    async def conversation(conversation_id: str, ctx: Context[Any, Any]) -> str:
        with _saying_why():
            path = f"/v1/conversations/{segment(conversation_id)}"
            found = await asking(ctx).get(path, limit=_MOST_AT_ONCE)
        total = found["total"]
        said = [
            ShownMessage(index=m["index"], role=m["role"], text=cut(m["content"], count), sent_at=m["sent_at"])
            for m in found["messages"]
        ]

        def make(some: Sequence[Any], left: int) -> Conversation:
            # What was erased has left its index behind.
            read = some[-1].index + 1 if left else min(total, _MOST_AT_ONCE)
            following = reading_on(conversation_id, read, total - 1) if read < total else ""
            return Conversation(
                conversation_id=conversation_id, total=total, messages=list(some), next=following
            )

        return fitting(said, make, count).model_dump_json(indent=2)
