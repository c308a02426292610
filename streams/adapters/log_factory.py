"""Which Redis holds the conversation log: the one whose URL is set, else a Valkey of this process's own."""

from __future__ import annotations

from contextlib import AsyncExitStack

from streams.adapters.conversation_log import ConversationLog
from streams.adapters.local_valkey import LocalValkey
from streams.adapters.redis_client import open_redis
from streams.settings import Settings


def open_log(settings: Settings, resources: AsyncExitStack) -> ConversationLog:
    """Return the log; what must be closed at the end goes on ``resources``.

    Nobody is spoken to, and nothing is started, before it is first used.
    """
    live = settings.turn_log_days * 86_400
    if settings.redis_url:
        log = ConversationLog(open_redis(settings), settings.namespace, expire_seconds=live)
    else:
        valkey = LocalValkey(settings.folder, settings.instance_id)
        resources.push_async_callback(valkey.close)
        log = ConversationLog(valkey.client(), settings.namespace, expire_seconds=live, ready=valkey.ensure)
    resources.push_async_callback(log.close)
    return log
