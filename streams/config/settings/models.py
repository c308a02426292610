"""Settings of models: which, for what, and their budget.

Nothing leaves the machine unless one of these says so: a key alone changes nothing.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from pydantic import field_validator, model_validator

from streams.config.settings.asking import MODEL_VALUES, EndpointSettings, check_endpoint
from streams.config.settings.text import env_name, setting

#: The settings that say whether a model is asked.
_ASKING = (
    "extractor",
    "summarizer",
    "graph_reader",
    "embedder",
    "merge_validator",
    "understander",
    "responder",
)

_OWN = re.compile(r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$")
_NUMBER = r"\s*(\d+(?:\.\d+)?)\s*"
_PRICE = re.compile(rf"^\s*([^\s,=]+)\s*={_NUMBER}/{_NUMBER}(?:/{_NUMBER})?$")


class Price(NamedTuple):
    """US dollars per million tokens; ``cached``: of those of the input that were read from a cache."""

    input: float
    output: float
    cached: float | None = None


class ModelSettings(EndpointSettings):
    """Extractor, summarizer and embedder, and what models may cost.  Part of ``Settings``."""

    # Models: what is asked of whom
    extractor: str = setting(
        "builtin",
        "what finds facts in windows: a small model on this machine, a language model, which is sent them, or "
        "one of your own",
        allowed="builtin, model, gemini, or package.module:name",
    )

    summarizer: Literal["builtin", "model", "gemini"] = setting(
        "builtin",
        "what summarizes a conversation: a small model on this machine, or a language model, which is sent "
        "messages",
    )

    graph_reader: Literal["builtin", "model", "gemini"] = setting(
        "builtin",
        "what finds how people and places are related: tables, or a language model as well, which is sent "
        "messages",
    )
    merge_validator: Literal["builtin", "model", "gemini"] = setting(
        "builtin",
        "what says whether two facts are one, where no rule can: nobody (all stay), or a language model",
    )
    understander: Literal["builtin", "model", "gemini"] = setting(
        "builtin",
        "what says what a question means: rules on this machine, or a language model, which is sent it",
    )
    responder: Literal["builtin", "model", "gemini"] = setting(
        "builtin",
        "what answers in a chat: what is remembered, quoted; or a language model, which is sent question and "
        "memories",
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
        allowed="builtin, model, gemini or onnx:FOLDER",
        pattern=r"^(builtin|model|gemini|onnx:.+)$",
    )
    tokenizer: str = setting(
        "cl100k_base",
        "vocabulary that tokens are counted in; besides those named, any of tiktoken's from TIKTOKEN_CACHE_DIR",
        allowed="cl100k_base, o200k_base, o200k_harmony or another name of tiktoken's",
        pattern=r"^[a-z0-9_]{1,40}$",
    )

    # Models: what they may cost
    model_budget_usd: float = setting(
        5.0,
        "what models may cost per day (UTC) and tenant; above it the built-ins do the work (0: always), "
        "and new vectors by a paid model wait: a tenant's own, or, while an index is built anew, all of a "
        "partition; "
        "what calls in flight may cost counts, of all processes that share a Redis (without one each knows its "
        "own alone: the budget may be passed by what the calls in flight of the others cost); "
        "with SWITCHBOARD_EMBEDDER=model, less than a batch of texts may cost (0, too) is refused; a model "
        "without a known price costs nothing here, and its tokens are counted",
        "US$",
        ge=0,
        le=1_000_000,
    )
    model_prices: str = setting(
        "",
        "prices (US$ per million tokens: input, output, input read from a cache) of models that are not in the "
        "list of genai-prices, or have changed",
        allowed="model=input/output[/cached][,...], such as my-model=0.10/0.40, or empty",
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
        if value not in ("builtin", *MODEL_VALUES) and _OWN.match(value) is None:
            raise ValueError(
                f"{value!r} is not builtin, model, gemini, or where one of your own stands "
                "(package.module:name)"
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
        asked = [name for name in _ASKING if getattr(self, name, "") in MODEL_VALUES]
        for name in asked:
            if name != "embedder" and getattr(self, name) == "gemini" and self.model_api != "gemini":
                raise ValueError(
                    f"{env_name(name)}=gemini asks another API than SWITCHBOARD_MODEL_API={self.model_api}: "
                    "set it to model"
                )
            endpoint = self.embedding_endpoint if name == "embedder" else self.model_endpoint
            check_endpoint(f"{env_name(name)}={getattr(self, name)}", endpoint)
        return self

    @property
    def names_own_extractor(self) -> bool:
        """True if the extractor is a custom one."""
        return ":" in self.extractor

    def asks_model(self, *names: str) -> bool:
        """Say whether one of these settings (``extractor``, ...) asks a language model."""
        return any(getattr(self, name) in MODEL_VALUES for name in names)

    @property
    def reads_with_model(self) -> bool:
        """True if a language model reads conversations."""
        return self.asks_model("extractor", "summarizer", "graph_reader", "merge_validator")

    @property
    def talks_with_model(self) -> bool:
        """True if a language model understands or answers what people ask."""
        return self.asks_model("understander", "responder")

    @property
    def own_prices(self) -> dict[str, Price]:
        """The prices of ``model_prices``, by model."""
        found = (_PRICE.match(entry) for entry in self.model_prices.split(","))
        return {
            each[1]: Price(float(each[2]), float(each[3]), None if each[4] is None else float(each[4]))
            for each in found
            if each is not None
        }
