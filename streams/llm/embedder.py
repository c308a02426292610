"""The embedder that asks a model: texts leave the machine, and vectors come back.

What it answered is not in the memo, for ``memory.embeddings.v1`` is the log of vectors; what is asked for that
log is bound by the budget (:mod:`.vectors`), the few words of a question by the limits alone.
"""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from models.index import Vectors
from processors.text.tokens import TokenCounter
from streams.config.settings.endpoints import Endpoint
from streams.llm.account import Account, pause_of
from streams.llm.limiter import Limiter
from streams.llm.port import Answer, Provider, Throttled, Usage

#: What its calls are counted as.
PURPOSE = "embedding"

#: Texts of one call.
_BATCH = 32

#: Vectors of the texts used last that are kept.
_CACHE = 2048

#: How long a call may wait for its turn.
_WAIT_SECONDS = 20.0


class ModelEmbedder:
    """Implements :class:`models.ports.Embedder`.

    Without a ``limiter`` and an ``account``: for a single question of a person.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        client: Provider,
        count: TokenCounter,
        limiter: Limiter | None = None,
        account: Account | None = None,
    ) -> None:
        self._client = client
        self._count = count
        self._limiter = limiter
        self._account = account
        self._model = endpoint.model
        self._dimensions = endpoint.dimensions
        self._cache: OrderedDict[str, NDArray[np.float32]] = OrderedDict()
        #: Tokens that texts in the cache took, and that nobody's budget has yet.
        self._owed: Counter[str] = Counter()

    @property
    def model(self) -> str:
        """Name of the model, as stored beside its vectors; another length is another model."""
        return f"{self._model}-{self._dimensions}"

    @property
    def dimensions(self) -> int:
        """Length of a vector."""
        return self._dimensions

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one unit vector per text, shape ``(len(texts), dimensions)``.

        Raises:
            DependencyUnavailable: the endpoint is down, slow or throttling, or its limits are reached.
        """
        found = {text: self._cache[text] for text in texts if text in self._cache}
        missing = [text for text in dict.fromkeys(texts) if text not in found]
        for at in range(0, len(missing), _BATCH):
            batch = missing[at : at + _BATCH]
            tokens = [*map(self._count, batch)]
            for text, vector in zip(batch, await self._call(batch, sum(tokens)), strict=True):
                found[text] = self._cache[text] = vector
            self.owe(dict(zip(batch, tokens, strict=True)))
        while len(self._cache) > _CACHE:
            oldest, _ = self._cache.popitem(last=False)
            if oldest not in found:
                self._owed.pop(oldest, None)
        if not texts:
            return np.empty((0, self._dimensions), dtype=np.float32)
        return np.stack([found[text] for text in texts])

    def unpaid(self, texts: Sequence[str]) -> dict[str, int]:
        """Return the texts that :meth:`embed` would call for, and how many tokens each takes."""
        return {text: self._count(text) for text in texts if text not in self._cache}

    def take_owed(self, texts: Sequence[str]) -> dict[str, int]:
        """Return the tokens of those texts that were called for and are in nobody's budget: now they are."""
        return {text: self._owed.pop(text) for text in texts if text in self._owed}

    def owe(self, tokens: Mapping[str, int]) -> None:
        """Note how many tokens texts took that are in nobody's budget yet, or after all."""
        self._owed.update(tokens)

    async def _call(self, batch: Sequence[str], tokens: int) -> Vectors:
        # The API takes no text without a word.
        asked = [text if text.strip() else "." for text in batch]
        if self._limiter is None or self._account is None:
            vectors = await self._client.embed(asked)
        else:
            vectors = await self._in_turn(self._limiter, self._account, asked, tokens)
        found = np.array(vectors, dtype=np.float32)
        # Only the longest ones come with unit length.
        unit: Vectors = found / np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-12)
        return unit

    async def _in_turn(
        self, limiter: Limiter, account: Account, asked: Sequence[str], tokens: int
    ) -> list[list[float]]:
        deadline = asyncio.get_running_loop().time() + _WAIT_SECONDS
        async with limiter.turn(tokens, deadline):
            with account.call(PURPOSE) as call:
                try:
                    found = await self._client.embed(asked)
                except Throttled as error:
                    call.outcome = "throttled"
                    await limiter.pause(pause_of(error))
                    raise
                call.ended(Answer("", Usage(tokens)), "answered")
                return found
