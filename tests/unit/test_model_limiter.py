"""The limiter of a model on a real Valkey, which goes while a call is open."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from models.errors import DependencyUnavailable
from streams.clients.local_valkey import LocalValkey
from streams.config.namespace import Namespace
from streams.llm.limiter import Limiter, Limits


async def test_what_was_answered_is_not_lost_when_redis_goes_meanwhile(tmp_path: Path) -> None:
    valkey = LocalValkey(tmp_path, "limits")
    await valkey.ensure()
    # That it is gone is seen at once: nobody starts it again.
    redis = Redis(unix_socket_path=str(valkey.socket), retry=Retry(NoBackoff(), 0))
    try:
        limiter = Limiter(redis, Namespace(), "m", Limits(10, 10, 10), lease_seconds=1.0)
        deadline = asyncio.get_running_loop().time() + 60.0
        async with limiter.turn(1, deadline):
            await valkey.close()
            answer = "paid"
        assert answer == "paid"
        with pytest.raises(DependencyUnavailable, match="redis"):
            async with limiter.turn(1, deadline):
                pass
    finally:
        await redis.aclose()
        await valkey.close()
