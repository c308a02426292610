"""What a worker that asks Gemini needs, opened in the order in which it can be refused."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack

import structlog
from redis.asyncio import Redis

from models.errors import DependencyUnavailable
from processors.text.tokens import TokenCounter
from streams.adapters.local_valkey import LocalValkey
from streams.adapters.redis_client import open_redis
from streams.llm.asking import Asking
from streams.llm.client import GeminiClient
from streams.llm.limiter import Limiter, Limits
from streams.llm.memo.memo import MemoLog
from streams.llm.memo.topic import MemoTopic
from streams.llm.memo.view import MemoView
from streams.settings import Settings
from streams.telemetry.metrics import Metrics

log = structlog.get_logger("streams.gemini")

#: Awaited before Redis is spoken to.
Ready = Callable[[], Awaitable[None]] | None


async def open_asking(
    settings: Settings, metrics: Metrics, count: TokenCounter, resources: AsyncExitStack, name: str = "memo"
) -> Asking:
    """Return what everything is asked through; what must be closed at the end goes on ``resources``.

    ``name`` tells services of one machine apart that keep the memo's view each in a Valkey of its own.

    Raises:
        ConfigurationError: Gemini does not take the key, has no such model, or is not what answers.
    """
    client = await open_client(settings, settings.gemini_model, "SWITCHBOARD_GEMINI_MODEL", resources)
    limiter, redis, ready = open_limiter(settings, settings.gemini_model, name, resources)
    memos = open_memos(settings, redis, ready, resources)
    return Asking(settings, client, limiter, memos, metrics, count)


def open_memos(settings: Settings, redis: Redis, ready: Ready, resources: AsyncExitStack) -> MemoLog:
    """Return the memo, with its view in a Redis that :func:`open_limiter` has opened."""
    topic = MemoTopic(settings)
    resources.push_async_callback(topic.close)
    memos = MemoLog(topic, MemoView(redis, settings.namespace, ready))
    resources.push_async_callback(memos.close)
    return memos


async def open_client(settings: Settings, model: str, variable: str, resources: AsyncExitStack) -> GeminiClient:
    """Return a client that may ask ``model``, which the setting ``variable`` names.

    Raises:
        ConfigurationError: Gemini does not take the key, has no such model, or is not what answers.
    """
    client = GeminiClient(settings)
    resources.push_async_callback(client.close)
    try:
        await client.check(model, variable)
    except DependencyUnavailable as error:
        # What is down is waited for where it is needed, with all else at work.
        log.warning("Gemini does not answer yet", error=str(error))
    return client


def open_limiter(
    settings: Settings, model: str, name: str, resources: AsyncExitStack
) -> tuple[Limiter, Redis, Ready]:
    """Return the limiter of a model, and the Redis that it keeps its count in: a Valkey ``name`` if none is
    set.
    """
    ready: Ready = None
    if settings.redis_url:
        redis = open_redis(settings)
    else:
        valkey = LocalValkey(settings.folder, f"{name}-{settings.instance_id}")
        resources.push_async_callback(valkey.close)
        redis, ready = valkey.client(), valkey.ensure
    resources.push_async_callback(redis.aclose)
    limits = Limits(
        settings.gemini_requests_per_minute,
        settings.gemini_tokens_per_minute,
        settings.gemini_calls_in_flight,
    )
    lease = settings.gemini_timeout_seconds + 5.0
    limiter = Limiter(redis, settings.namespace, model, limits, lease_seconds=lease, ready=ready)
    return limiter, redis, ready
