"""Hints of the tools, and their access to the API."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mcp.server.mcpserver import Context
from mcp.types import ToolAnnotations

from streams.server.mcp.asking import Ask

Asking = Callable[[Context[Any, Any]], Ask]


def hints(title: str, *, reads: bool, destroys: bool = False, again: bool = True) -> ToolAnnotations:
    """Return all four annotations; nothing here reaches beyond the memory."""
    return ToolAnnotations(
        title=title,
        read_only_hint=reads,
        destructive_hint=destroys,
        idempotent_hint=again,
        open_world_hint=False,
    )
