"""RPC to the recall service, for views that it alone can read, over a socket in the data folder.

The embedded index belongs to one process.  The Valkey of the service they ask themselves.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import msgspec

from models.errors import ConfigurationError, NotFound
from processors.retrieval.recall.question import InvalidQuestion
from streams.clients.remote.client import Remote
from streams.clients.remote.server import ObjectServer
from streams.config.settings import Settings
from streams.config.socket_path import socket_path
from streams.stores.remembered.ports import Facts, Graph, Search
from streams.stores.search import Empty, Result, Results, Scope, Wanted
from streams.stores.search.explaining import Explanation

#: Errors that mean something to whoever asked, beside that something is down.
_TOLD = (InvalidQuestion, NotFound, ConfigurationError)

#: Searches at once: more of them end no sooner, and keep whoever asks for less, such as a fact, waiting.
_SEARCHES = 8

_ADVICE = "start it on this machine (switchboard worker recall), with the same SWITCHBOARD_DATA_DIR"


class Indexes(NamedTuple):
    """Read access to the index."""

    search: Search
    facts: Facts
    graph: Graph


class _Found(msgspec.Struct, frozen=True):
    """:class:`Results`, which are a list, with what they say besides."""

    results: list[Result]
    scope: Scope
    degraded: bool
    empty: Empty | None
    explanation: Explanation | None = None


class _FarSearch(Protocol):
    async def search(self, wanted: Wanted) -> _Found: ...

    async def knows(self, user_id: str, tenant_id: str) -> bool: ...

    async def has_turns(self, user_id: str, tenant_id: str, until: datetime) -> bool: ...


class _Answering:
    """A search as the socket has it."""

    def __init__(self, search: Search) -> None:
        self._search = search
        self._room = asyncio.Semaphore(_SEARCHES)
        self.knows, self.has_turns = search.knows, search.has_turns

    async def search(self, wanted: Wanted) -> _Found:
        async with self._room:
            found = await self._search.search(wanted)
        return _Found(list(found), found.scope, found.degraded, found.empty, found.explanation)


class _Asking:
    """A search over the socket."""

    def __init__(self, far: _FarSearch) -> None:
        self._far = far
        self.knows, self.has_turns = far.knows, far.has_turns

    async def search(self, wanted: Wanted) -> Results:
        found = await self._far.search(wanted)
        return Results(
            found.results,
            scope=found.scope,
            degraded=found.degraded,
            empty=found.empty,
            explanation=found.explanation,
        )


def recall_socket(settings: Settings) -> Path:
    """Return where the recall service listens, if it does."""
    return socket_path(settings.folder / "recall.sock")


async def answer_others(
    settings: Settings, indexes: Indexes, waited_for: Callable[[], Mapping[str, float]]
) -> ObjectServer:
    """Answer other processes until it is closed.

    Raises:
        ConfigurationError: the socket cannot be made.
    """
    objects: dict[str, tuple[type[Any], object]] = {
        "search": (_FarSearch, _Answering(indexes.search)),
        "facts": (Facts, indexes.facts),
        "graph": (Graph, indexes.graph),
    }
    server = ObjectServer(objects, _TOLD, waited_for)
    await server.open(recall_socket(settings))
    return server


def ask_recall(socket: Path) -> tuple[Indexes, Remote]:
    """Return the recall service's indexes behind a socket, and the connection, which the caller closes."""
    remote = Remote(socket, "recall", _ADVICE, _TOLD)
    # mypy takes a Protocol for a class to be instantiated
    return (
        Indexes(
            search=_Asking(remote.object(_FarSearch, "search")),  # type: ignore[type-abstract]
            facts=remote.object(Facts, "facts"),  # type: ignore[type-abstract]
            graph=remote.object(Graph, "graph"),  # type: ignore[type-abstract]
        ),
        remote,
    )
