"""Choice of the Redis: the one whose URL is set, else a Valkey of this process's own."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import NamedTuple

import structlog
from redis.asyncio import Redis

from models.errors import DependencyUnavailable
from streams.clients.local_valkey import LocalValkey
from streams.clients.redis_client import open_redis, open_socket
from streams.config.settings import Settings
from streams.stores.context_log import ContextLog
from streams.stores.conversation_log import ConversationLog
from streams.stores.turn_leases import TurnLeases

logger = structlog.get_logger("streams.recall")


#: How often it is looked whether the Valkey of the recall service runs, which others read too (seconds).
_LOOK_SECONDS = 0.5

#: Is awaited before anything is asked; ``None``: nothing is to be made ready.
Ready = Callable[[], Awaitable[None]] | None


class Views(NamedTuple):
    """Views in Redis: logs of conversations, contexts for their next turns, and who answers those.

    ``ready`` starts the server that holds them, if it is one of this process's own.
    """

    log: ConversationLog
    contexts: ContextLog
    leases: TurnLeases
    ready: Ready = None

    async def keep_running(self) -> None:
        """Have the server run for those who read it from outside, until cancelled."""
        while self.ready is not None:
            try:
                await self.ready()
            except DependencyUnavailable as error:
                logger.warning("the Valkey of this folder does not run", error=str(error))
            await asyncio.sleep(_LOOK_SECONDS)


def open_views(settings: Settings, resources: AsyncExitStack) -> Views:
    """Return the views; what must be closed at the end goes on ``resources``.

    Nobody is spoken to, and nothing is started, before one is first used.
    """
    if settings.redis_url:
        return _views(settings, open_redis(settings), None, resources)
    valkey = _valkey_of_recall(settings)
    resources.push_async_callback(valkey.close)
    return _views(settings, valkey.client(), valkey.ensure, resources)


def open_views_of_recall(settings: Settings, ready: Ready, resources: AsyncExitStack) -> Views:
    """Return the views that the recall service of this folder has, as another process reads them.

    Asked directly, its Valkey answers in a millisecond, whatever the service is busy with.  ``ready`` tells
    whether it runs.
    """
    return _views(settings, open_socket(_valkey_of_recall(settings).socket), ready, resources)


def _valkey_of_recall(settings: Settings) -> LocalValkey:
    return LocalValkey(settings.folder, "recall")


def _views(settings: Settings, client: Redis, ready: Ready, resources: AsyncExitStack) -> Views:
    space, live = settings.namespace, settings.turn_log_days * 86_400
    resources.push_async_callback(client.aclose)
    return Views(
        log=ConversationLog(client, space, expire_seconds=live, ready=ready),
        contexts=ContextLog(client, space, expire_seconds=live, ready=ready),
        leases=TurnLeases(client, space, ready=ready),
        ready=ready,
    )
