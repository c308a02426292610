"""The embedder that made the vectors of the living indexes, and so the one that asks them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AsyncExitStack

import structlog

from models.errors import ConfigurationError, DependencyUnavailable
from models.index import Vectors, VectorSpace
from models.ports import Embedder
from streams.config.settings import Settings
from streams.llm.embedders import open_embedder
from streams.stores.index_dirs import noted
from streams.telemetry.metrics import Metrics

log = structlog.get_logger("streams.living_embedder")


async def open_living(settings: Settings, resources: AsyncExitStack, *, start: bool = False) -> Embedder:
    """Return the embedder for a single question to the living indexes: that of the settings, unless they have
    another one; arguments and errors as of :func:`open_embedder`.
    """
    embedder = await open_embedder(settings, resources, start=start)
    note = noted(settings)
    if note is None or note[0] == (embedder.model, embedder.dimensions):
        return embedder
    return await open_former(*note, resources, start=start)


async def open_former(
    space: VectorSpace,
    settings: Settings,
    resources: AsyncExitStack,
    metrics: Metrics | None = None,
    *,
    start: bool = False,
) -> Embedder:
    """Return the embedder of ``space``, which ``settings`` chose, or one that always says that it is gone."""
    try:
        embedder = await open_embedder(settings, resources, metrics, start=start)
    except ConfigurationError as error:
        why = str(error)
    else:
        if space == (embedder.model, embedder.dimensions):
            return embedder
        why = f"{settings.embedder} is now {embedder.model}"
    log.warning("the living index is searched by words alone until the new one is whole", why=why)
    return _Gone(space)


class _Gone:
    """An embedder that cannot be had any more."""

    def __init__(self, space: VectorSpace) -> None:
        self.model, self.dimensions = space

    async def embed(self, texts: Sequence[str]) -> Vectors:
        raise DependencyUnavailable("embedder", f"{self.model} cannot be loaded any more")
