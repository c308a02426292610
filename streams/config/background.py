"""Tasks that nobody waits for: what they fail of is said at once; and work beside the event loop.

asyncio says it when such a task is collected, in the midst of whatever runs then.  That may be late, or never;
and where the compiler is just at work, Python 3.11 ends it with "AST constructor recursion depth mismatch".
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import structlog

T = TypeVar("T")

#: How long a cancelled task may clean up before it is cancelled again.
_CLEANING_SECONDS = 10.0

log = structlog.get_logger("streams.config.background")


def in_background(doing: Coroutine[Any, Any, T], name: str) -> asyncio.Task[T]:
    """Return a task that does it; if it fails, its log line says so, whoever else asks for its outcome."""
    task = asyncio.create_task(doing, name=name)
    task.add_done_callback(_tell)
    return task


async def cancel_and_wait(*tasks: asyncio.Future[Any]) -> None:
    """Cancel tasks and return when all have ended, whatever their outcome.

    A task that goes on is cancelled again.  The first time may be lost: ``asyncio.wait_for`` of Python 3.11
    forgets it if its own future ends at that moment, and aiokafka and other libraries wait with it.
    """
    pending = {task for task in tasks if not task.done()}
    while pending:
        for task in pending:
            task.cancel()
        _, pending = await asyncio.wait(pending, timeout=_CLEANING_SECONDS)
    await asyncio.gather(*tasks, return_exceptions=True)


@contextmanager
def keeping_cancellation() -> Iterator[None]:
    """Raise ``CancelledError`` at the end if this task was cancelled inside and a library lost it."""
    task = asyncio.current_task()
    before = task.cancelling() if task is not None else 0
    try:
        yield
    finally:
        if task is not None and task.cancelling() > before:
            raise asyncio.CancelledError


async def in_own_loop(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run ``work`` on an event loop of its own, in a thread; return its result.  Cancel it with the caller."""
    loop = asyncio.new_event_loop()
    task = loop.create_task(work())

    def run() -> T:
        with asyncio.Runner(loop_factory=lambda: loop) as runner:
            return runner.run(_outcome(task))

    running = asyncio.get_running_loop().run_in_executor(None, run)
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        if not running.done():
            loop.call_soon_threadsafe(task.cancel)
        raise


async def _outcome(task: asyncio.Task[T]) -> T:
    return await task


async def until(stop: asyncio.Event, needed: Iterable[asyncio.Task[Any]]) -> bool:
    """Wait for ``stop``, or for the end of one of the tasks that are ``needed``; ``False``: for such an end."""
    stopped = asyncio.create_task(stop.wait())
    try:
        await asyncio.wait([stopped, *needed], return_when=asyncio.FIRST_COMPLETED)
    finally:
        stopped.cancel()
    return stop.is_set()


def _tell(task: asyncio.Task[Any]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        log.error("what was done in the background failed", task=task.get_name(), exc_info=error)
