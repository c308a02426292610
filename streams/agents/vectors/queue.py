"""Vectors for those who cannot wait: what was asked for last comes first, and whoever runs out of time goes on.

Texts that wait are embedded together, each once, a few at a time.  What is asked for meanwhile goes before what
waits longer; of that, the oldest is dropped when there is too much.  What was embedded is remembered for a
while: who ran out of time asks again, and each turn is looked up with twice.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Sequence

import numpy as np
import structlog
from numpy.typing import NDArray

from models.errors import DependencyUnavailable
from models.ports import Embedder
from streams.config.background import cancel_and_wait, in_background

log = structlog.get_logger("streams.agents.vectors.queue")

#: Texts in one call, and texts that may wait.
_AT_ONCE = 8
_MOST = 256

#: Vectors that are remembered: 1.5 MB of 384 dimensions, and their texts.
_REMEMBERED = 1_000

_Waiting = OrderedDict[str, "asyncio.Future[NDArray[np.float32]]"]


class VectorQueue:
    """Asks ``embedder``; ``told`` is called with the number of texts that wait whenever that changes.

    ``remembered``: how many vectors are kept, those that were asked for last.
    """

    def __init__(
        self,
        embedder: Embedder,
        told: Callable[[int], None] = lambda waiting: None,
        *,
        remembered: int = _REMEMBERED,
    ) -> None:
        self._embedder = embedder
        self._told = told
        self._remembered = remembered
        self._known: OrderedDict[str, NDArray[np.float32]] = OrderedDict()
        self._waiting: _Waiting = OrderedDict()
        self._asked: _Waiting = OrderedDict()
        self._worker: asyncio.Task[None] | None = None

    async def get(self, texts: Sequence[str], patience: float) -> dict[str, NDArray[np.float32]]:
        """Return the vectors of those texts that were embedded within ``patience`` seconds."""
        wanted = dict.fromkeys(texts)
        known = {text: self._known[text] for text in wanted if text in self._known}
        for text in known:
            self._known.move_to_end(text)
        futures = {text: self._future(text) for text in wanted if text not in known}
        if not futures:
            return known
        if self._worker is None or self._worker.done():
            self._worker = in_background(self._work(), "vector-queue")
        self._told(len(self._waiting))
        await asyncio.wait(futures.values(), timeout=patience)
        return known | {
            text: future.result()
            for text, future in futures.items()
            if future.done() and not future.cancelled() and future.exception() is None
        }

    async def close(self) -> None:
        """Stop; what waits is not embedded."""
        if self._worker is not None:
            await cancel_and_wait(self._worker)
        for future in (*self._waiting.values(), *self._asked.values()):
            future.cancel()
        self._waiting.clear()

    def _future(self, text: str) -> asyncio.Future[NDArray[np.float32]]:
        if (asked := self._asked.get(text)) is not None:
            return asked
        future = self._waiting.get(text)
        if future is None:
            future = self._waiting[text] = asyncio.get_running_loop().create_future()
        self._waiting.move_to_end(text)
        while len(self._waiting) > _MOST:
            _, oldest = self._waiting.popitem(last=False)
            oldest.cancel()
        return future

    async def _work(self) -> None:
        while self._waiting:
            while self._waiting and len(self._asked) < _AT_ONCE:
                text, future = self._waiting.popitem()
                self._asked[text] = future
            self._told(len(self._waiting))
            try:
                vectors = await self._embedder.embed([*self._asked])
                for (text, future), vector in zip(self._asked.items(), vectors, strict=True):
                    self._remember(text, vector)
                    if not future.done():
                        future.set_result(vector)
            except DependencyUnavailable as error:
                log.warning("no vectors for contexts", reason=str(error))
                for future in self._asked.values():
                    future.cancel()
            finally:
                self._asked.clear()

    def _remember(self, text: str, vector: NDArray[np.float32]) -> None:
        # a copy, or the row keeps the whole batch
        self._known[text] = np.array(vector, dtype=np.float32)
        while len(self._known) > self._remembered:
            self._known.popitem(last=False)
