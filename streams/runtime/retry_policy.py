"""Waiting for what a stage calls: in place, visible from the first failure to the first success."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from models.errors import DependencyUnavailable, Unanswered
from streams.config.backoff import backoff
from streams.runtime.ports import StepperHost
from streams.runtime.stage_status import StageStatus

T = TypeVar("T")

#: Asked after each call that was not answered in time, with how many there were in a row: give it up?
GiveUp = Callable[[int], Awaitable[bool]]


class NoAnswer(Exception):
    """A call was not answered in time, ``attempts`` times in a row, and is not made again."""

    def __init__(self, attempts: int, error: str) -> None:
        super().__init__(f"not answered {attempts} times in a row: {error}")
        self.attempts = attempts


class RetryPolicy:
    """Makes the calls of one lane, again and again where it must."""

    def __init__(self, runtime: StepperHost, status: StageStatus) -> None:
        self._runtime = runtime
        self._status = status
        self._failures = 0

    async def call(self, call: Callable[[], Awaitable[T]], give_up: GiveUp) -> T:
        """Call until there is an answer, with jittered backoff.

        Raises:
            NoAnswer: none came in time, and ``give_up`` said that it is no use to go on.  A dependency that
                says itself that it is down is waited for without end.
        """
        unanswered = 0
        timeout = self._runtime.settings.step_timeout_seconds
        while True:
            try:
                async with asyncio.timeout(timeout):
                    answer = await call()
            except DependencyUnavailable as exc:
                dependency, error = exc.dependency, str(exc)
                unanswered = unanswered + 1 if isinstance(exc, Unanswered) else 0
            except TimeoutError:
                dependency, error = self._status.stage, f"no answer within {timeout:g} s"
                unanswered += 1
            else:
                self.settle()
                return answer
            self._status.failed(self._runtime, dependency, self)
            if unanswered and await give_up(unanswered):
                raise NoAnswer(unanswered, error)
            await self._pause(dependency, error)

    def settle(self) -> None:
        """Nothing is waited for any more: there was an answer, or nobody asks again."""
        self._failures = 0
        self._status.settled(self._runtime, self)

    async def _pause(self, dependency: str, error: str) -> None:
        runtime, settings = self._runtime, self._runtime.settings
        self._failures += 1
        delay = backoff(self._failures, settings.retry_min_seconds, settings.retry_max_seconds)
        runtime.metrics.retries_total.labels(self._status.stage, dependency).inc()
        runtime.log.warning(
            "waiting for a dependency",
            stage=self._status.stage,
            dependency=dependency,
            attempt=self._failures,
            delay=round(delay, 2),
            error=error,
        )
        await asyncio.sleep(delay)
