"""The parts of ``switchboard serve``, put together: here is where a new one is made, started and closed."""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import dataclass, field

from starlette.routing import BaseRoute

from streams.adapters.turn_topic import TurnTopic
from streams.api.app import Mounted
from streams.api.parts import Parts
from streams.context_reading import ContextReader
from streams.remembered.opening import open_remembered
from streams.settings import Settings
from streams.telemetry.metrics import Metrics
from streams.understanding import Understanding
from streams.windows import WindowRetriever


@dataclass(frozen=True)
class Opened:
    """What is served: the parts of the operations, other apps under paths of their own, and pages."""

    parts: Parts
    mounted: list[Mounted] = field(default_factory=list)
    pages: list[BaseRoute] = field(default_factory=list)


async def open_all(settings: Settings, metrics: Metrics, resources: AsyncExitStack) -> Opened:
    """Return what is served; what must be closed at the end goes on ``resources``.

    Nothing outside has to be up: a part that is down costs only the operations that need it.

    Raises:
        ConfigurationError: a setting is wrong.
    """
    return Opened(await open_parts(settings, metrics, resources))


async def open_parts(settings: Settings, metrics: Metrics, resources: AsyncExitStack) -> Parts:
    """Return the parts that need no task of their own: those that a command can use, too."""
    remembered = await open_remembered(settings, metrics, resources)
    return Parts(
        search=remembered.search,
        facts=remembered.facts,
        log=remembered.log,
        windows=WindowRetriever(remembered.log, TurnTopic(settings)),
        understanding=Understanding(remembered.search, remembered.log),
        contexts=ContextReader(remembered.contexts, remembered.log, remembered.facts),
    )
