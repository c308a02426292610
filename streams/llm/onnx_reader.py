"""The reader model on onnxruntime: a small transformer that says of sentences whether they are worth a note.

Its file ``reader.onnx`` comes with :mod:`processors.extraction` (see MODEL_CARD.md there), its tokenizer is
that of the built-in embedder.  It runs in a thread of its own, at a low priority.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, cached_property
from typing import NamedTuple

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from tokenizers import Tokenizer

from models.errors import ConfigurationError, DependencyUnavailable
from models.readings import KINDS, LEVELS, Reading, Sentence
from processors.extraction.keeper import MODEL_FILE
from streams.llm.onnx_model import open_session, tokenizer_file
from streams.llm.onnx_worker import answer_of, step_back

#: Tokens of the context, the last ones, and of the sentence, the first ones.
CONTEXT_TOKENS, SENTENCE_TOKENS = 72, 96
#: Sentences of one run; all have about the same length.
_BATCH = 16
_BEGIN, _BETWEEN = 101, 102

Floats = NDArray[np.float32]


class Encoded(NamedTuple):
    """Tokens of a context and of a sentence behind it; ``first`` is the place of the sentence's first token.

    ``spans``: the places in the text, in characters, of the sentence's tokens.
    """

    ids: list[int]
    first: int
    spans: Sequence[tuple[int, int]]


def tokenizer() -> Tokenizer:
    """Return the tokenizer of the model, without its padding."""
    found = Tokenizer.from_file(str(tokenizer_file()))
    found.no_padding()
    found.no_truncation()
    return found


def encoded(tokenizer: Tokenizer, sentence: Sentence) -> Encoded:
    """Return the tokens of a sentence in its context."""
    context = tokenizer.encode(sentence.context, add_special_tokens=False).ids[-CONTEXT_TOKENS:]
    text = tokenizer.encode(sentence.text, add_special_tokens=False)
    ids = [_BEGIN, *context, _BETWEEN, *text.ids[:SENTENCE_TOKENS], _BETWEEN]
    return Encoded(ids, len(context) + 2, text.offsets[:SENTENCE_TOKENS])


class Batch(NamedTuple):
    """Inputs of the model, a row per sentence: token ids, 1 for tokens of the sentence, 1 for any token."""

    input_ids: NDArray[np.int64]
    token_type_ids: NDArray[np.int64]
    attention_mask: NDArray[np.int64]


def batch_of(some: Sequence[Encoded]) -> Batch:
    """Return the inputs of a run, padded at the end to the longest row."""
    longest = max(len(each.ids) for each in some)
    arrays = Batch(*(np.zeros((len(some), longest), dtype=np.int64) for _ in Batch._fields))
    for row, each in enumerate(some):
        arrays.input_ids[row, : len(each.ids)] = each.ids
        arrays.token_type_ids[row, each.first : len(each.ids)] = 1
        arrays.attention_mask[row, : len(each.ids)] = 1
    return arrays


class ReaderModel:
    """The model, to be called in a thread that may block: about 5 ms of a core for a sentence."""

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        return tokenizer()

    @cached_property
    def _session(self) -> onnxruntime.InferenceSession:
        if not MODEL_FILE.is_file():
            raise ConfigurationError(f"the reader model {MODEL_FILE} is missing; reinstall switchboard")
        return open_session(MODEL_FILE, 1)

    def read(self, sentences: Sequence[Sentence]) -> list[Reading]:
        """Return the reading of each sentence."""
        some = [encoded(self._tokenizer, each) for each in sentences]
        found: dict[int, Reading] = {}
        order = sorted(range(len(some)), key=lambda at: len(some[at].ids))
        for start in range(0, len(order), _BATCH):
            places = order[start : start + _BATCH]
            inputs = batch_of([some[at] for at in places])
            logits, added = self._session.run(None, inputs._asdict())
            for at, scores, words in zip(places, logits, added, strict=True):
                found[at] = reading_of(scores, *_added(sentences[at].text, some[at], words))
        return [found[at] for at in range(len(some))]


def reading_of(scores: Floats, words: tuple[float, ...] = (), around: float = 0.0) -> Reading:
    """Return the reading of a row of scores: levels, kinds and acts."""
    levels, kinds, acts = np.split(scores, np.cumsum([LEVELS, len(KINDS)]))
    return Reading(_shares(levels), _shares(kinds), _shares(acts), words, around)


def _shares(scores: Floats) -> tuple[float, ...]:
    powers = np.exp(scores - scores.max())
    return tuple((powers / powers.sum()).tolist())


def _added(text: str, encoded: Encoded, added: Floats) -> tuple[tuple[float, ...], float]:
    """Return the part of each word, words being parted by spaces, and that of the context."""
    words = [0.0] * len(text.split())
    for (begins, _), each in zip(encoded.spans, added[encoded.first :], strict=False):
        words[len(text[: begins + 1].split()) - 1] += float(each)
    return tuple(words), float(added.sum()) - sum(words)


@cache
def _model() -> ReaderModel:
    """The model of all readers of a process."""
    return ReaderModel()


class OnnxReader:
    """Implements :class:`models.ports.SentenceReader`.

    ``timeout`` (seconds) bounds the wait for one run of a few sentences, queueing included.
    """

    def __init__(self, *, timeout: float = 30.0) -> None:
        self._timeout = timeout
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="reader", initializer=step_back)
        self._closed = False

    async def read(self, sentences: Sequence[Sentence]) -> list[Reading]:
        """Return the reading of each sentence.

        Raises:
            DependencyUnavailable: a run takes longer than the timeout, or the reader is closed.
            ConfigurationError: the model's file is missing.
        """
        found: list[Reading] = []
        for start in range(0, len(sentences), _BATCH):
            found += await self._run(sentences[start : start + _BATCH])
        return found

    async def _run(self, sentences: Sequence[Sentence]) -> list[Reading]:
        if self._closed:
            raise DependencyUnavailable("reader", "it is closed")
        run = self._executor.submit(_model().read, sentences)
        return await answer_of(run, "reader", "answer", self._timeout)

    async def close(self) -> None:
        """Refuse further work and drop what is queued.  A run that has begun is not awaited."""
        self._closed = True
        self._executor.shutdown(wait=False, cancel_futures=True)
