"""A sentence model in a folder: ``SWITCHBOARD_EMBEDDER=onnx:FOLDER``, offline, whatever its languages and size.

The folder holds ``model.onnx`` (or ``onnx/model.onnx``) and ``tokenizer.json``, as models are published for
sentence-transformers.  How token vectors become one is read from ``1_Pooling/config.json``, unless
``switchboard.json`` says so, which may also set what is put before every text::

    {"pooling": "mean", "prefix": "query: ", "max_tokens": 512}

``pooling`` is ``mean``, ``cls`` (the first token) or ``last``; a model that gives one vector itself needs none.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import onnxruntime
from tokenizers import Tokenizer

from models.errors import ConfigurationError
from streams.llm.onnx_model import Loaded, open_session

_POOLING: Mapping[str, Literal["mean", "cls", "last"]] = {
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_cls_token": "cls",
    "pooling_mode_lasttoken": "last",
}

#: What a sentence model may be asked for.
_INPUTS = frozenset({"input_ids", "attention_mask", "token_type_ids", "position_ids"})


#: How tokenizers call what is not in their vocabulary.
_UNKNOWN = frozenset(("[UNK]", "<unk>"))


class Recipe(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a text becomes a vector; ``switchboard.json``."""

    pooling: Literal["mean", "cls", "last"] = "mean"
    prefix: Annotated[str, msgspec.Meta(max_length=1000)] = ""
    max_tokens: Annotated[int, msgspec.Meta(ge=8, le=8192)] = 512


class OnnxFolder:
    """The model of a folder, read and tried at once.

    Raises:
        ConfigurationError: something is missing, damaged, or no sentence model; the message says what.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder.expanduser().absolute()
        if not self._folder.is_dir():
            raise self._wrong("there is no such folder")
        self._model = self._file("model.onnx", "onnx/model.onnx")
        self._tokenizer = self._file("tokenizer.json")
        self._recipe = self._read_recipe()
        with self._model.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256")
        digest.update(self._tokenizer.read_bytes())
        digest.update(msgspec.json.encode(self._recipe))
        #: Made of what it is made of: vectors of another file, or another prefix, do not compare with these.
        self.name = f"{self._folder.name}-{digest.hexdigest()[:12]}"
        loaded = self.load(1)
        self._known = loaded.tokenizer
        try:
            self.dimensions = int(loaded.embed(["hello"]).shape[1])
        except Exception as error:
            raise self._wrong(f"the model cannot be run ({_first_line(error)})") from error

    def coverage(self, text: str) -> float:
        """See :class:`models.ports.ReportsCoverage`: the share of tokens that are not "unknown"."""
        tokens = self._known.encode(text, add_special_tokens=False).tokens
        return sum(token not in _UNKNOWN for token in tokens) / len(tokens) if tokens else 0.0

    def load(self, threads: int) -> Loaded:
        """Return the loaded model."""
        try:
            tokenizer = Tokenizer.from_file(str(self._tokenizer))
        except Exception as error:
            raise self._wrong(f"tokenizer.json cannot be read ({_first_line(error)})") from error
        tokenizer.enable_truncation(max_length=self._recipe.max_tokens)
        tokenizer.enable_padding()
        try:
            session = open_session(self._model, threads)
        except Exception as error:
            raise self._wrong(f"{self._model.name} cannot be read ({_first_line(error)})") from error
        self._check(session)
        return Loaded(tokenizer, session, self._recipe.pooling, self._recipe.prefix)

    def _check(self, session: onnxruntime.InferenceSession) -> None:
        asked = {each.name for each in session.get_inputs()}
        if "input_ids" not in asked or asked - _INPUTS:
            raise self._wrong(
                f"the model wants {', '.join(sorted(asked))}, a sentence model input_ids and attention_mask"
            )

    def _file(self, *names: str) -> Path:
        found = next((path for name in names if (path := self._folder / name).is_file()), None)
        if found is None:
            raise self._wrong(f"{' or '.join(names)} is missing")
        return found

    def _read_recipe(self) -> Recipe:
        own, published = self._folder / "switchboard.json", self._folder / "1_Pooling" / "config.json"
        try:
            if own.is_file():
                return msgspec.json.decode(own.read_bytes(), type=Recipe)
            given: dict[str, Any] = (
                msgspec.json.decode(published.read_bytes(), type=dict[str, Any]) if published.is_file() else {}
            )
        except (OSError, msgspec.MsgspecError) as error:
            raise self._wrong(f"how it pools cannot be read ({_first_line(error)})") from error
        chosen = [name for name, on in given.items() if name.startswith("pooling_mode_") and on is True]
        if len(chosen) > 1 or any(name not in _POOLING for name in chosen):
            raise self._wrong(f"it pools by {', '.join(chosen)}: say mean, cls or last in switchboard.json")
        return Recipe(pooling=_POOLING[chosen[0]]) if chosen else Recipe()

    def _wrong(self, what: str) -> ConfigurationError:
        return ConfigurationError(
            f"SWITCHBOARD_EMBEDDER=onnx:{self._folder}: {what}. Give a folder with model.onnx and "
            "tokenizer.json"
        )


def _first_line(error: Exception) -> str:
    return (str(error) or type(error).__name__).strip().partition("\n")[0][:200]
