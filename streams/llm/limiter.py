"""How often a model is called, by all processes together: calls and tokens per minute, and calls open at once.

What was called stands in Redis (keys ``model-limits:<model>``, ``model-calls:<model>``).  When it is emptied,
one minute may see more calls than allowed, and the API says so.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from importlib.resources import files
from typing import Any, NamedTuple, TypeVar

import structlog
from redis.asyncio import Redis

from models.errors import DependencyUnavailable
from streams.clients.redis_client import answered
from streams.config.namespace import Namespace
from streams.llm.port import Throttled

T = TypeVar("T")

log = structlog.get_logger("streams.llm")

#: How often it is looked whether one of the open calls has ended.
_LOOK_SECONDS = 0.05

_SCRIPT = (files(__package__) / "limiter.lua").read_text(encoding="utf-8")

#: Puts off the next call; an earlier, longer wait stays.
_PAUSE = """
local clock = redis.call('TIME')
local at = clock[1] * 1000 + math.floor(clock[2] / 1000) + ARGV[1]
if at > tonumber(redis.call('HGET', KEYS[1], 'paused') or '0') then redis.call('HSET', KEYS[1], 'paused', at)
end redis.call('PEXPIRE', KEYS[1], 7200000)
"""


class Limits(NamedTuple):
    """Rate limits of a model: ``calls`` and ``tokens`` per minute, ``in_flight`` at once."""

    calls: int
    tokens: int
    in_flight: int


class Limiter:
    """The limiter of one model.  ``lease_seconds``: after that an open call is taken for dead."""

    def __init__(
        self,
        client: Redis,
        namespace: Namespace,
        model: str,
        limits: Limits,
        *,
        lease_seconds: float,
        ready: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self._client: Any = client  # its types allow for answers that it is not asked to give
        self._limits_key = namespace.redis_key("model-limits", model)
        self._calls_key = namespace.redis_key("model-calls", model)
        self._model = model
        self._limits = limits
        self._lease_ms = round(lease_seconds * 1000)
        self._ready = ready
        self._take = client.register_script(_SCRIPT)
        self._put_off = client.register_script(_PAUSE)

    @asynccontextmanager
    async def turn(self, tokens: int, deadline: float) -> AsyncIterator[None]:
        """Wait for a turn to make a call of about so many tokens, until ``deadline`` (the event loop's time).

        Raises:
            Throttled: there is none before the deadline.  DependencyUnavailable: Redis does not answer.
        """
        name = uuid.uuid4().hex
        await self._wait(name, tokens, deadline)
        try:
            yield
        finally:
            try:
                await asyncio.shield(self._ask(lambda: self._client.zrem(self._calls_key, name)))
            except DependencyUnavailable as error:
                # What was answered is paid: it is not lost for this.
                log.warning("a call that has ended counts as open until its lease ends", error=str(error))

    async def pause(self, seconds: float) -> None:
        """Let no call begin for so long: the API asked for it."""
        await self._ask(lambda: self._put_off([self._limits_key], [round(seconds * 1000)]))

    async def _wait(self, name: str, tokens: int, deadline: float) -> None:
        loop = asyncio.get_running_loop()
        arguments: list[int | str] = [*self._limits, name, tokens, self._lease_ms]
        while answer := await self._ask(lambda: self._take([self._limits_key, self._calls_key], arguments)):
            wait = _LOOK_SECONDS if answer < 0 else answer / 1000
            if loop.time() + wait > deadline:
                what = "too many calls are open" if answer < 0 else f"the next call may begin in {wait:.1f} s"
                raise Throttled(f"the limits of {self._model} are reached: {what}", None)
            await asyncio.sleep(wait)

    async def _ask(self, ask: Callable[[], Awaitable[T]]) -> T:
        return await answered(ask, self._ready)
