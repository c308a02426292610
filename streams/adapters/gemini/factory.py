"""What a worker that asks Gemini needs, opened in the order in which it can be refused."""

from __future__ import annotations

from contextlib import AsyncExitStack

import structlog

from models.errors import DependencyUnavailable
from processors.text.tokens import TokenCounter
from streams.adapters.gemini.asking import Asking
from streams.adapters.gemini.client import GeminiClient
from streams.adapters.gemini.limiter import Limiter, Limits
from streams.adapters.local_valkey import LocalValkey
from streams.adapters.memo.memo import MemoLog
from streams.adapters.memo.topic import MemoTopic
from streams.adapters.memo.view import MemoView
from streams.adapters.redis_client import open_redis
from streams.settings import Settings
from streams.telemetry.metrics import Metrics

log = structlog.get_logger("streams.gemini")


async def open_asking(
    settings: Settings, metrics: Metrics, count: TokenCounter, resources: AsyncExitStack
) -> Asking:
    """Return what everything is asked through; what must be closed at the end goes on ``resources``.

    Raises:
        ConfigurationError: Gemini does not take the key, has no such model, or is not what answers.
    """
    client = GeminiClient(settings)
    resources.push_async_callback(client.close)
    try:
        await client.check(settings.gemini_model, "SWITCHBOARD_GEMINI_MODEL")
    except DependencyUnavailable as error:
        # What is down is waited for where it is needed, with all else at work.
        log.warning("Gemini does not answer yet", error=str(error))
    ready = None
    if settings.redis_url:
        redis = open_redis(settings)
    else:
        valkey = LocalValkey(settings.folder, f"memo-{settings.instance_id}")
        resources.push_async_callback(valkey.close)
        redis, ready = valkey.client(), valkey.ensure
    resources.push_async_callback(redis.aclose)
    topic = MemoTopic(settings)
    resources.push_async_callback(topic.close)
    limiter = Limiter(
        redis,
        settings.namespace,
        settings.gemini_model,
        Limits(
            settings.gemini_requests_per_minute,
            settings.gemini_tokens_per_minute,
            settings.gemini_calls_in_flight,
        ),
        lease_seconds=settings.gemini_timeout_seconds + 5.0,
        ready=ready,
    )
    memos = MemoLog(topic, MemoView(redis, settings.namespace, ready))
    return Asking(settings, client, limiter, memos, metrics, count)
