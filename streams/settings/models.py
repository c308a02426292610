"""Which models are asked, for what, and how much that may cost.

Nothing leaves the machine unless one of these says so: a key alone changes nothing.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from pydantic import field_validator, model_validator

from streams.settings.stages import StageSettings
from streams.settings.text import env_name, setting

#: What can be asked of Gemini, by the settings that say so.
_BY_GEMINI = (
    "extractor",
    "summarizer",
    "graph_reader",
    "embedder",
    "merge_validator",
    "understander",
    "responder",
)

_MODEL_NAME = r"^[A-Za-z0-9._-]{1,100}$"
_OWN = re.compile(r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$")
_PRICE = re.compile(r"^\s*([A-Za-z0-9._-]+)\s*=\s*(\d+(?:\.\d+)?)\s*/\s*(\d+(?:\.\d+)?)\s*$")


class Price(NamedTuple):
    """US dollars per million tokens."""

    input: float
    output: float


class ModelSettings(StageSettings):
    """Extractor, summarizer and embedder; Gemini, its limits and its prices.  Part of ``Settings``."""

    # Models: what is asked of whom
    extractor: str = setting(
        "builtin",
        "what finds facts in windows: a small model on this machine, Gemini, which is sent them, or one of "
        "your own",
        allowed="builtin, gemini, or package.module:name",
    )

    summarizer: Literal["builtin", "gemini"] = setting(
        "builtin",
        "what summarizes a conversation: a small model on this machine, or Gemini, which is sent messages",
    )

    graph_reader: Literal["builtin", "gemini"] = setting(
        "builtin",
        "what finds how people and places are related: tables, or Gemini as well, which is sent the messages",
    )
    merge_validator: Literal["builtin", "gemini"] = setting(
        "builtin",
        "what says whether two facts are one, where no rule can: nobody (all stay), or Gemini",
    )
    understander: Literal["builtin", "gemini"] = setting(
        "builtin", "what says what a question means: rules on this machine, or Gemini, which is sent it"
    )
    responder: Literal["builtin", "gemini"] = setting(
        "builtin",
        "what answers in a chat: what is remembered, quoted; or Gemini, which is sent question and memories",
    )
    answer_tokens: int = setting(
        1500, "tokens of a prompt for an answer, all tiers together", "tokens", ge=1000, le=100_000
    )
    answer_style: str = setting(
        "", "what a responder should heed besides, such as a tone", allowed="text, or empty"
    )

    embedder: str = setting(
        "builtin",
        "what makes vectors; another one has an index of its own, to be built from the topics",
        allowed="builtin, gemini or onnx:FOLDER",
        pattern=r"^(builtin|gemini|onnx:.+)$",
    )
    tokenizer: str = setting(
        "cl100k_base",
        "vocabulary that tokens are counted in; besides those named, any of tiktoken's from TIKTOKEN_CACHE_DIR",
        allowed="cl100k_base, o200k_base, o200k_harmony or another name of tiktoken's",
        pattern=r"^[a-z0-9_]{1,40}$",
    )

    # Models: Gemini
    gemini_url: str = setting(
        "https://generativelanguage.googleapis.com",
        "where the Gemini API is",
        allowed="http:// or https:// URL",
        pattern=r"^https?://[^\s]+$",
        repr=False,
    )
    gemini_model: str = setting(
        "gemini-2.5-flash-lite", "model that reads and writes", allowed="name of a model", pattern=_MODEL_NAME
    )
    gemini_embedding_model: str = setting(
        "gemini-embedding-001", "model that makes vectors", allowed="name of a model", pattern=_MODEL_NAME
    )
    gemini_embedding_dimensions: int = setting(768, "length of its vectors", "numbers", ge=64, le=3072)
    gemini_timeout_seconds: float = setting(30.0, "longest wait for an answer of Gemini", "s", gt=0, le=600)
    gemini_hedge_seconds: float = setting(
        0.0,
        "silence after which a call is made again beside, the first answer taken, both paid (0: never)",
        "s",
        ge=0,
        le=600,
    )
    gemini_windows_per_call: int = setting(
        4, "most windows, of one person, that one call is about", "windows", ge=1, le=20
    )
    gemini_requests_per_minute: int = setting(
        300, "calls per minute of each model, of all processes together", "calls", ge=1, le=1_000_000
    )
    gemini_tokens_per_minute: int = setting(
        1_000_000, "tokens per minute of each model, both ways", "tokens", ge=10_000, le=10**12
    )
    gemini_calls_in_flight: int = setting(8, "calls of each model open at once", "calls", ge=1, le=10_000)
    model_budget_usd: float = setting(
        5.0,
        "what models may cost per day (UTC) and tenant; above it the built-ins do the work (0: always), "
        "and new vectors by Gemini wait: a tenant's own, or, while an index is built anew, all of a partition; "
        "what calls in flight may cost counts, of all processes that share a Redis (without one each knows its "
        "own alone: the budget may be passed by what the calls in flight of the others cost); "
        "with SWITCHBOARD_EMBEDDER=gemini, less than a batch of texts may cost (0, too) is refused",
        "US$",
        ge=0,
        le=1_000_000,
    )
    model_prices: str = setting(
        "",
        "prices (US$ per million tokens) of models that are not in the table, or have changed",
        allowed="model=input/output[,...], such as my-model=0.10/0.40, or empty",
    )

    @field_validator(
        "extractor",
        "summarizer",
        "graph_reader",
        "merge_validator",
        "understander",
        "responder",
        mode="before",
    )
    @classmethod
    def _fold_choice(cls, value: object) -> object:
        return value.lower() if isinstance(value, str) and ":" not in value else value

    @field_validator("extractor")
    @classmethod
    def _check_extractor(cls, value: str) -> str:
        if value not in ("builtin", "gemini") and _OWN.match(value) is None:
            raise ValueError(
                f"{value!r} is not builtin, gemini, or where one of your own stands (package.module:name)"
            )
        return value

    @field_validator("model_prices")
    @classmethod
    def _check_prices(cls, value: str) -> str:
        for entry in filter(None, map(str.strip, value.split(","))):
            if _PRICE.match(entry) is None:
                raise ValueError(f"{entry!r} is not model=input/output (for example my-model=0.10/0.40)")
        return value

    @model_validator(mode="after")
    def _check_models(self) -> ModelSettings:
        asked = [name for name in _BY_GEMINI if getattr(self, name, "") == "gemini"]
        if asked and not self.gemini_api_key.get_secret_value():
            raise ValueError(
                f"{env_name(asked[0])}=gemini needs a key: set GEMINI_API_KEY or GEMINI_API_KEY_FILE, or leave "
                f"{env_name(asked[0])} out for the built-in one"
            )
        return self

    @property
    def names_own_extractor(self) -> bool:
        """Whether the extractor is one of somebody's own."""
        return ":" in self.extractor

    @property
    def uses_gemini(self) -> bool:
        """Whether Gemini reads conversations."""
        return "gemini" in (self.extractor, self.summarizer, self.graph_reader, self.merge_validator)

    @property
    def talks_with_gemini(self) -> bool:
        """Whether Gemini understands or answers what people ask."""
        return "gemini" in (self.understander, self.responder)

    @property
    def own_prices(self) -> dict[str, Price]:
        """The prices of ``model_prices``, by model."""
        found = (_PRICE.match(entry) for entry in self.model_prices.split(","))
        return {each[1]: Price(float(each[2]), float(each[3])) for each in found if each is not None}
