"""Errors of the tools in our own words: what to do, without the caller's input."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError, UnexpectedToolError
from mcp.types import CallToolResult, InputRequiredResult
from mcp.types import Tool as Described
from pydantic import ValidationError

from streams.config.printing import printable

#: Names of what was given that are repeated: so many, each up to so many characters.
_MOST_NAMES, _NAME_CHARACTERS = 5, 40

_OURS = (
    "{name} failed for a reason that the server's log tells. Go on without it, and say so to whoever runs this "
    "memory."
)


class Memory(MCPServer[Any]):
    """A server whose errors say what to do.  The SDK would answer in its own words, with what was given."""

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        """Call a tool.  Raises :class:`ToolError` with what to do."""
        tools = {each.name: each for each in await self.list_tools()}
        if name not in tools:
            raise ToolError(f"There is no tool {_names([name])}: use {', '.join(tools)}.")
        tool = tools[name]
        if unknown := arguments.keys() - _properties(tool):
            raise ToolError(
                f"{name} takes no {_names(unknown)}: it takes {', '.join(_properties(tool))}. Whose memory it "
                f"is the connection says. {_example(tool)}"
            )
        try:
            return await super().call_tool(name, arguments, context)
        except UnexpectedToolError as error:
            raise UnexpectedToolError(_OURS.format(name=name)) from error.__cause__
        except ToolError as error:
            cause = error.__cause__
            if isinstance(cause, ValidationError):
                raise ToolError(f"{name} was not called. {_refused(tool, cause)} {_example(tool)}") from cause
            raise ToolError(str(cause) if isinstance(cause, ToolError) else str(error)) from cause


def _refused(tool: Described, error: ValidationError) -> str:
    """Say of each argument that does not fit what it must be."""
    wrong: dict[str, str] = {}
    for each in error.errors(include_url=False, include_input=False):
        name = str(each["loc"][0]) if each["loc"] else ""
        wrong.setdefault(name, "is missing: it" if each["type"] == "missing" else "does not fit: it")
    properties = _properties(tool)
    return " ".join(
        f"{name} {what} must be {_must_be(properties.get(name, {}))}." for name, what in wrong.items()
    )


def _properties(tool: Described) -> Mapping[str, Any]:
    found: Mapping[str, Any] = tool.input_schema["properties"]
    return found


def _must_be(schema: Mapping[str, Any]) -> str:
    """Return a schema's requirement in words."""
    if kinds := [each for each in schema.get("anyOf", ()) if each.get("type") != "null"]:
        return f"{_must_be(kinds[0])}, or left out"
    if values := schema.get("enum"):
        return f"one of {', '.join(values)}"
    if schema.get("type") == "integer":
        least, most = schema.get("minimum"), schema.get("maximum")
        bounds = f" from {least}" * (least is not None) + f" to {most}" * (most is not None)
        return f"a whole number{bounds}"
    most = schema.get("maxLength")
    return "a text" if most is None else f"a text of {schema.get('minLength', 0)} to {most:,} characters"


def _example(tool: Described) -> str:
    told = (tool.description or "").partition("Example: ")[2]
    return f"Example: {' '.join(told.split())}"


def _names(given: Iterable[str]) -> str:
    names = sorted(given)
    shown = ", ".join(printable(each[:_NAME_CHARACTERS]) for each in names[:_MOST_NAMES])
    return f"{shown}, ..." if len(names) > _MOST_NAMES else shown
