"""The limiter of a model, when Redis goes while a call is open."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest
from redis.asyncio import Redis
from redis.exceptions import ConnectionError as NoConnection

from models.errors import DependencyUnavailable
from streams.adapters.gemini.limiter import Limiter, Limits
from streams.namespace import Namespace


class Going:
    """A Redis that grants every turn, until it is gone."""

    def __init__(self) -> None:
        self.is_gone = False

    def register_script(self, script: str) -> Any:
        async def run(keys: Any, arguments: Any) -> int:
            return await self.zrem()

        return run

    async def zrem(self, *of: Any) -> int:
        if self.is_gone:
            raise NoConnection("gone")
        return 0


async def test_what_was_answered_is_not_lost_when_redis_goes_meanwhile() -> None:
    redis = Going()
    limiter = Limiter(cast(Redis, redis), Namespace(), "m", Limits(10, 10, 10), lease_seconds=1.0)
    deadline = asyncio.get_running_loop().time() + 60.0
    async with limiter.turn(1, deadline):
        redis.is_gone = True
        answer = "paid"
    assert answer == "paid"
    with pytest.raises(DependencyUnavailable):
        async with limiter.turn(1, deadline):
            pass
