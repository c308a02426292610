"""Threads that make vectors, and the batches of texts that they are given."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from models.errors import DependencyUnavailable, Unanswered
from models.index import Vectors
from streams.llm.onnx_model import MAX_TOKENS

Answer = TypeVar("Answer")

#: A batch is at most this many texts and (padded) tokens: about half a second of one core.
_BATCH_TEXTS = 32
_BATCH_TOKENS = 1024

#: Padding that a batch may hold: a share of its own tokens, and a few more, since a call has a cost of its own.
_PADDING_SHARE, _PADDING_TOKENS = 0.15, 8

#: Texts that were asked for apart are one batch up to so many of them, and (padded) tokens: more gain nothing.
_TOGETHER_TEXTS = 8
_TOGETHER_TOKENS = 256

#: How far the thread of what nobody waits for steps back (0: not at all, 19: as far as it goes).
_NICENESS = 10


class _Job(NamedTuple):
    """A batch that waits for a worker thread, and where its vectors go."""

    texts: Sequence[str]
    vectors: Future[Vectors]


class Worker:
    """A thread that makes vectors of what waits, oldest first; ``computing`` has the texts."""

    def __init__(
        self,
        name: str,
        compute: Callable[[Sequence[str]], Vectors],
        initializer: Callable[[], None] | None = None,
    ) -> None:
        self._compute = compute
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix=name, initializer=initializer)
        self._waiting: deque[_Job] = deque()
        self.computing: dict[str, asyncio.Future[NDArray[np.float32]]] = {}

    def submit(self, batch: Sequence[str]) -> Future[Vectors]:
        """Have a batch computed."""
        job = _Job(batch, Future())
        self._waiting.append(job)
        self._executor.submit(self._work)
        return job.vectors

    def close(self) -> None:
        """Drop what waits; what is being computed is not awaited."""
        self._executor.shutdown(wait=False, cancel_futures=True)
        for job in self._waiting.copy():
            job.vectors.cancel()

    # -- in the thread -------------------------------------------------------------------------------------

    def _work(self) -> None:
        """Do what waits longest; nothing, if it was done together with what was asked for before."""
        if jobs := self._next():
            self._do(jobs)

    def _next(self) -> list[_Job]:
        jobs: list[_Job] = []
        texts: list[str] = []
        while self._waiting:
            texts += self._waiting[0].texts
            if jobs and (len(texts) > _TOGETHER_TEXTS or not _fit(texts, _TOGETHER_TOKENS)):
                break
            job = self._waiting.popleft()
            if job.vectors.set_running_or_notify_cancel():
                jobs.append(job)
        return jobs

    def _do(self, jobs: Sequence[_Job]) -> None:
        try:
            vectors = self._compute([text for job in jobs for text in job.texts])
        except BaseException as error:  # noqa: BLE001 - whoever asked is told
            if len(jobs) == 1:
                jobs[0].vectors.set_exception(error)
                return
            for job in jobs:  # what fails alone fails nobody else
                self._do([job])
            return
        start = 0
        for job in jobs:
            job.vectors.set_result(vectors[start : start + len(job.texts)])
            start += len(job.texts)


async def answer_of(run: Future[Answer], of: str, missing: str, timeout: float) -> Answer:
    """Return the answer of a thread, which errors call ``missing``, within ``timeout`` seconds.

    Raises:
        Unanswered: it takes longer.  DependencyUnavailable: the run was dropped from the queue.
    """
    try:
        async with asyncio.timeout(timeout):
            return await asyncio.wrap_future(run)
    except TimeoutError:
        raise Unanswered(of, f"no {missing} within {timeout:g} s; is the machine overloaded?") from None
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        # Nobody cancelled us: close() dropped the run from the queue.
        raise DependencyUnavailable(of, "it was closed") from None


def step_back() -> None:
    """Let everything else on this machine go before this thread: niceness is a thread's own on Linux alone."""
    if sys.platform == "linux":
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICENESS)


def batches(texts: Sequence[str]) -> Iterator[list[str]]:
    """Cut into batches of texts of like length."""
    batch: list[str] = []
    for text in sorted(texts, key=len):
        if batch and (len(batch) == _BATCH_TEXTS or not _fit([*batch, text], _BATCH_TOKENS)):
            yield batch
            batch = []
        batch.append(text)
    if batch:
        yield batch


def _fit(texts: Sequence[str], most: int) -> bool:
    """Tell whether texts make one batch: each is padded to the longest, and padding takes as long as words."""
    tokens = [_tokens(text) for text in texts]
    padded, own = len(texts) * max(tokens), sum(tokens)
    return padded <= min(most, (1 + _PADDING_SHARE) * own + _PADDING_TOKENS)


def _tokens(text: str) -> int:
    # Four characters to a token is the rule of thumb for English; a wrong guess costs only time.
    return min(len(text) // 4 + 2, MAX_TOKENS)
