"""Check of the Qdrant server at the start of ``serve``, and until it has answered."""

from __future__ import annotations

import asyncio

from models.errors import ConfigurationError, DependencyUnavailable
from streams.config.settings import Settings
from streams.telemetry.health import INDEX_SERVER, HealthState

#: How long the start waits for an answer, and how long until a server that did not answer is asked again.
_START_SECONDS, _AGAIN_SECONDS = 5.0, 5.0


async def check(settings: Settings, health: HealthState) -> bool:
    """Describe in ``health`` what there is to know of the server; return False if it does not answer.

    Raises:
        ConfigurationError: it cannot be used.
    """
    if not settings.qdrant_url:
        return True
    from streams.stores.qdrant_version import server_version  # the client takes a second to load

    try:
        version = await server_version(settings, min(_START_SECONDS, settings.request_timeout_seconds))
    except DependencyUnavailable as error:
        health.describe(INDEX_SERVER, f"unchecked: {error}")
        return False
    health.describe(INDEX_SERVER, version.reservation or None)
    return True


async def check_until_known(settings: Settings, health: HealthState) -> None:
    """Check again until the server has answered.  One that cannot be used then is named, and searches fail."""
    is_known = False
    while not is_known:
        await asyncio.sleep(_AGAIN_SECONDS)
        try:
            is_known = await check(settings, health)
        except ConfigurationError as error:
            health.describe(INDEX_SERVER, str(error))
