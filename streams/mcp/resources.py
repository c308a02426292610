"""Resources: what a client may show or attach without a tool."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ResourceError, ToolError

from processors.text.tokens import TokenCounter
from streams.mcp import answers
from streams.mcp.asking import segment
from streams.mcp.hints import Asking
from streams.mcp.reading import facts_of


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
            return (await facts_of(ask, count, limit=200)).model_dump_json(indent=2)

    @server.resource(
        "switchboard://conversations/{conversation_id}",
        title="A conversation",
        description="Its first messages as JSON; get_window reads on.",
        mime_type="application/json",
    )
    async def conversation(conversation_id: str, ctx: Context[Any, Any]) -> str:
        with _saying_why():
            path = f"/v1/conversations/{segment(conversation_id)}/window"
            found = await asking(ctx).get(path, first=0, last=0, turns=100)
        said = [
            {"index": m["index"], "role": m["role"], "text": answers.cut(m["text"], count)}
            for m in found["messages"]
        ]
        while len(said) > 1 and count(msgspec.json.encode(said).decode()) > answers.MOST_TOKENS:
            said = said[: len(said) * 3 // 4]
        return msgspec.json.encode({"conversation_id": conversation_id, "messages": said}).decode()
