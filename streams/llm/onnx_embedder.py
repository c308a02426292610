"""An offline embedder on onnxruntime: all-MiniLM-L6-v2 (int8 weights), or another sentence model.

The model runs in worker threads, a small batch at a time, so the event loop is never blocked.  What nobody
waits for, a backlog of turns and facts, has a thread of its own that lets everything else on the machine go
first: an answer of 256 tokens takes 130 ms of a core, and neither who searches meanwhile nor a chat that is
being answered waits for it.  Queries that wait at the same time are one batch: eight short texts take half the
time of one and one again.
"""

from __future__ import annotations

import asyncio
import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from models.errors import DependencyUnavailable
from models.index import Vectors
from models.ports import Embedder
from streams.llm.onnx_model import BuiltIn, Loaded, SentenceModel
from streams.llm.onnx_worker import Worker, answer_of, batches, step_back

#: A backlog of so few texts begins a moment later (seconds): they may be of a turn that was said just now, and
#: whoever makes its context asks for the same vectors and does wait.
_FEW_TEXTS, _DELAY_SECONDS = 8, 0.05


class OnnxEmbedder:
    """Implements :class:`models.ports.Embedder`; so does :attr:`behind`, for what nobody waits for.

    Without a ``model`` it is the built-in one.  The same text always gets the same vector, whatever else is in
    its batch, and one that is being computed is not computed once more.  The empty text is a text like any
    other: its vector is the model's for "no words".  ``threads`` is the number of cores that one batch may use;
    ``timeout`` (seconds) bounds the wait for one batch, queueing included; the vectors of the ``cache_size``
    texts used last are kept (4 bytes a number).
    """

    def __init__(
        self,
        model: SentenceModel | None = None,
        *,
        threads: int = 1,
        timeout: float = 30.0,
        cache_size: int = 2048,
    ) -> None:
        self._model = model if model is not None else BuiltIn()
        self._threads = threads
        self._timeout = timeout
        self._cache_size = cache_size
        self._cache: OrderedDict[str, NDArray[np.float32]] = OrderedDict()
        self._loaded: Loaded | None = None
        self._loading = threading.Lock()
        self._soon = Worker("embedder", lambda batch: self._compute(batch))
        self._later = Worker("embedder-behind", lambda batch: self._compute(batch), initializer=step_back)
        self._closed = False

    @property
    def model(self) -> str:
        return self._model.name

    @property
    def dimensions(self) -> int:
        return self._model.dimensions

    def coverage(self, text: str) -> float:
        """See :class:`models.ports.ReportsCoverage`."""
        return self._model.coverage(text)

    @property
    def behind(self) -> Embedder:
        """The same embedder for a backlog: what is asked for here delays nothing that is asked for there."""
        return _Behind(self, self._later)

    @property
    def behind_contexts(self) -> Embedder:
        """As :attr:`behind`, for texts that whoever makes a context asks for as well: each is computed once."""
        return _Behind(self, self._later, _DELAY_SECONDS)

    async def start(self) -> None:
        """Load and verify the model now (about a second) rather than with the first text.

        Raises :class:`ConfigurationError` when a file is missing or not the expected one.
        """
        await self._in_worker(self._soon, ())

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one unit vector per text, float32, shape ``(len(texts), dimensions)``.

        Raises :class:`DependencyUnavailable` when a batch takes longer than the timeout or the embedder
        is closed, :class:`ConfigurationError` when the model cannot be loaded.
        """
        return await self._embed(self._soon, texts)

    async def close(self) -> None:
        """Refuse further work and drop what is queued.  A batch that is being computed is not awaited."""
        self._closed = True
        self._soon.close()
        self._later.close()
        self._cache.clear()

    async def _embed(self, worker: Worker, texts: Sequence[str]) -> Vectors:
        if not texts:
            return np.empty((0, self.dimensions), dtype=np.float32)
        found: dict[str, NDArray[np.float32]] = {}
        computing: dict[str, asyncio.Future[NDArray[np.float32]]] = {}
        missing: list[str] = []
        for text in dict.fromkeys(texts):
            if (vector := self._cache.get(text)) is not None:
                self._cache.move_to_end(text)
                found[text] = vector
            elif (elsewhere := self._in_progress(worker, text)) is not None:
                computing[text] = elsewhere
            else:
                missing.append(text)
        found |= await self._computed(worker, missing)
        if computing:
            await asyncio.wait(computing.values(), timeout=self._timeout)
        for text, vector_of in computing.items():
            if vector_of.done() and not vector_of.cancelled():
                found[text] = vector_of.result()
        if left := [text for text in computing if text not in found]:  # whoever asked for them gave up
            found |= await self._computed(worker, left)
        return np.stack([found[text] for text in texts])

    def _in_progress(self, worker: Worker, text: str) -> asyncio.Future[NDArray[np.float32]] | None:
        """Return the running computation of a text's vector, shared by all callers."""
        found = self._soon.computing.get(text)
        return self._later.computing.get(text) if found is None and worker is self._later else found

    async def _computed(self, worker: Worker, texts: Sequence[str]) -> dict[str, NDArray[np.float32]]:
        """Compute vectors, and let everybody who asks for one of them meanwhile know."""
        loop = asyncio.get_running_loop()
        own = {text: loop.create_future() for text in texts}
        worker.computing |= own
        try:
            for batch in batches(texts):
                for text, vector in zip(batch, await self._in_worker(worker, batch), strict=True):
                    self._remember(text, vector)
                    own[text].set_result(vector)
        finally:
            for text, future in own.items():
                future.cancel()
                if worker.computing.get(text) is future:
                    del worker.computing[text]
        return {text: future.result() for text, future in own.items()}

    async def _in_worker(self, worker: Worker, batch: Sequence[str]) -> Vectors:
        if self._closed:
            raise DependencyUnavailable("embedder", "it is closed")
        return await answer_of(worker.submit(batch), "embedder", "vectors", self._timeout)

    def _remember(self, text: str, vector: NDArray[np.float32]) -> None:
        self._cache[text] = vector
        self._cache.move_to_end(text)
        while len(self._cache) > self._cache_size:
            self._cache.popitem(last=False)

    def _compute(self, batch: Sequence[str]) -> Vectors:
        """Run the model, in a worker thread; whichever comes first loads it."""
        with self._loading:
            loaded = self._loaded
            if loaded is None:
                loaded = self._loaded = self._model.load(self._threads)
        return loaded.embed(batch) if batch else np.empty((0, self.dimensions), dtype=np.float32)


class _Behind(NamedTuple):
    """Implements :class:`models.ports.Embedder` in the thread that steps back."""

    embedder: OnnxEmbedder
    worker: Worker
    delay: float = 0.0

    @property
    def model(self) -> str:
        return self.embedder.model

    @property
    def dimensions(self) -> int:
        return self.embedder.dimensions

    async def embed(self, texts: Sequence[str]) -> Vectors:
        if len(texts) <= _FEW_TEXTS:
            await asyncio.sleep(self.delay)
        return await self.embedder._embed(self.worker, texts)
