"""Which Redis holds what is kept there: the one whose URL is set, else a Valkey of this process's own."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import NamedTuple

from streams.adapters.context_log import ContextLog
from streams.adapters.conversation_log import ConversationLog
from streams.adapters.local_valkey import LocalValkey
from streams.adapters.redis_client import open_redis
from streams.adapters.turn_leases import TurnLeases
from streams.settings import Settings


class Views(NamedTuple):
    """What is kept in Redis: logs of conversations, contexts for their next turns, and who answers those."""

    log: ConversationLog
    contexts: ContextLog
    leases: TurnLeases


def open_views(settings: Settings, resources: AsyncExitStack) -> Views:
    """Return the views; what must be closed at the end goes on ``resources``.

    Nobody is spoken to, and nothing is started, before one is first used.
    """
    live = settings.turn_log_days * 86_400
    ready: Callable[[], Awaitable[None]] | None = None
    if settings.redis_url:
        client = open_redis(settings)
    else:
        valkey = LocalValkey(settings.folder, settings.instance_id)
        resources.push_async_callback(valkey.close)
        client, ready = valkey.client(), valkey.ensure
    log = ConversationLog(client, settings.namespace, expire_seconds=live, ready=ready)
    contexts = ContextLog(client, settings.namespace, expire_seconds=live, ready=ready)
    leases = TurnLeases(client, settings.namespace, ready=ready)
    resources.push_async_callback(client.aclose)
    return Views(log, contexts, leases)
