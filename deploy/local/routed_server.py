"""The server that the routes of both APIs answer for, as they see it (:mod:`deploy.local.model_server`)."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from typing import Any, Literal, Protocol

from starlette.requests import Request

from deploy.local.model_faults import Fault

#: What an endpoint of OpenAI's API may not take.
Lack = Literal["schemas", "json", "tools", "temperature", "max_tokens", "stream_options", "dimensions", "list"]


class RoutedServer(Protocol):
    """The part of the server that the routes use."""

    lacks: set[Lack]
    redirect_to: str
    context_tokens: int
    counts_usage: bool
    pause_seconds: float
    answer_seconds: float
    answering: asyncio.Event

    def arrived(
        self, request: Request, method: str, model: str, body: Mapping[str, Any]
    ) -> tuple[Fault | None, int]:
        """Count a call; return what becomes of it, and its number."""
        ...

    def takes(self, key: str) -> bool: ...
    def says(self, body: Mapping[str, Any]) -> str: ...
    @property
    def models(self) -> Collection[str]: ...
    @property
    def always(self) -> Fault | None: ...
