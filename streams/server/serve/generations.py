"""A generation, opened for ``serve``: all that reads its views, and the app in front of it."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

from models.control import Generation
from models.messages import DEFAULT_TENANT
from models.ports import Embedder
from processors.text.tokens import TokenCounter
from streams.clients.broker_clock import BrokerClock
from streams.clients.serving import settings_of
from streams.config.settings import Settings
from streams.llm.embedders import open_embedder
from streams.server.api.access import Access
from streams.server.api.app import create_api
from streams.server.api.parts import Parts
from streams.server.mcp.app import mounted as mcp
from streams.server.serve.opening import open_all
from streams.server.serve.switching import Opened
from streams.stores.search import Wanted
from streams.telemetry.metrics import Metrics

#: What a generation is asked before it serves, by nobody: the index, the embedder and the log must answer.
_NOBODY, _QUESTION, _NOWHERE = "switchboard-probe", "Is anybody there?", "switchboard-probe"


class Generations:
    """Opens generations.  ``resources`` are those of the process: what generations share is closed with them.

    ``stopping`` is set when the server stops.
    """

    def __init__(
        self,
        settings: Settings,
        metrics: Metrics,
        access: Access,
        count: TokenCounter,
        resources: AsyncExitStack,
        stopping: asyncio.Event,
        clock: BrokerClock,
    ) -> None:
        self._settings = settings
        self._metrics = metrics
        self._access = access
        self._count = count
        self._resources = resources
        self._stopping = stopping
        self._clock = clock
        self._embedders: dict[str, Embedder] = {}

    async def open(self, generation: Generation, resources: AsyncExitStack) -> Opened:
        """Return a generation, opened; see :data:`streams.server.serve.switching.Open`.

        Raises:
            ConfigurationError: one of its settings is wrong.
        """
        # Without another one, what is pinned by SWITCHBOARD_GENERATION stays.
        settings = settings_of(self._settings, generation) if generation.name else self._settings
        opened = await open_all(settings, self._metrics, resources, self._open_embedder, self._clock)
        parts = opened.parts
        app = create_api(
            parts,
            self._access,
            stopping=self._stopping,
            mounted=[*opened.mounted, mcp(parts, self._access, self._count)],
            pages=opened.pages,
            metrics=self._metrics,
        )
        await resources.enter_async_context(app.router.lifespan_context(app))
        live, chats = parts.part("live"), parts.part("chats")
        return Opened(app, live.tasks, lambda: _probe(parts), live.hub.end, lambda: chats.is_idle)

    async def _open_embedder(self, settings: Settings, resources: AsyncExitStack, metrics: Metrics) -> Embedder:
        """Open an embedder; a model on this machine, which takes a second to load, is loaded once."""
        if settings.asks_model("embedder"):
            return await open_embedder(settings, resources, metrics)
        if settings.embedder not in self._embedders:
            self._embedders[settings.embedder] = await open_embedder(settings, self._resources, metrics)
        return self._embedders[settings.embedder]


async def _probe(parts: Parts) -> None:
    search, log = parts.part("search"), parts.part("log")
    await asyncio.gather(
        search.search(Wanted(query=_QUESTION, user_id=_NOBODY)),
        log.extent(DEFAULT_TENANT, _NOWHERE),
    )
