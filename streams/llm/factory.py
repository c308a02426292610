"""Dependencies of a worker with a model, opened in the order in which each can be refused."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack

import structlog
from redis.asyncio import Redis

from models.errors import DependencyUnavailable
from processors.text.tokens import TokenCounter
from streams.clients.local_valkey import LocalValkey
from streams.clients.redis_client import open_redis
from streams.config.settings import Settings
from streams.config.settings.endpoints import Endpoint
from streams.llm.asking import Asking
from streams.llm.limiter import Limiter, Limits
from streams.llm.memo.memo import MemoLog
from streams.llm.memo.topic import MemoTopic
from streams.llm.memo.view import MemoView
from streams.llm.port import Provider
from streams.telemetry.metrics import Metrics

log = structlog.get_logger("streams.llm")

#: Awaited before Redis is spoken to.
Ready = Callable[[], Awaitable[None]] | None


async def open_asking(
    settings: Settings, metrics: Metrics, count: TokenCounter, resources: AsyncExitStack, name: str = "memo"
) -> Asking:
    """Return the access to the model; resources to close at the end go on ``resources``.

    ``name`` distinguishes services of one machine that keep the memo's view each in a Valkey of its own.

    Raises:
        ConfigurationError: the endpoint does not take the key, has no such model, or speaks another API.
    """
    endpoint = settings.model_endpoint
    client = await open_client(endpoint, resources)
    limiter, redis, ready = open_limiter(settings, endpoint.model, name, resources)
    memos = open_memos(settings, redis, ready, resources)
    return Asking(settings, client, limiter, memos, metrics, count)


def open_memos(settings: Settings, redis: Redis, ready: Ready, resources: AsyncExitStack) -> MemoLog:
    """Return the memo, with its view in a Redis that :func:`open_limiter` has opened."""
    topic = MemoTopic(settings)
    resources.push_async_callback(topic.close)
    memos = MemoLog(topic, MemoView(redis, settings.namespace.live, ready))
    resources.push_async_callback(memos.close)
    return memos


async def open_client(endpoint: Endpoint, resources: AsyncExitStack) -> Provider:
    """Return the provider of an endpoint, after a first look at it.

    Raises:
        ConfigurationError: the endpoint does not take the key, has no such model, or speaks another API.
    """
    client = provider(endpoint)
    resources.push_async_callback(client.close)
    try:
        await client.check()
    except DependencyUnavailable as error:
        # What is down is waited for where it is needed, with all else at work.
        log.warning("the model's endpoint does not answer yet", error=str(error))
    return client


def provider(endpoint: Endpoint) -> Provider:
    """Return the provider for the endpoint's API; its libraries load in about a second."""
    if endpoint.api == "openai":
        from streams.llm.openai.client import OpenAIClient

        return OpenAIClient(endpoint)
    from streams.llm.gemini.client import GeminiClient

    return GeminiClient(endpoint)


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
        settings.model_requests_per_minute,
        settings.model_tokens_per_minute,
        settings.model_calls_in_flight,
    )
    lease = settings.model_timeout_seconds + 5.0
    limiter = Limiter(redis, settings.namespace.live, model, limits, lease_seconds=lease, ready=ready)
    return limiter, redis, ready
