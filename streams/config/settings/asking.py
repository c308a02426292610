"""Where language models are, and how they are asked."""

from __future__ import annotations

import json

from pydantic import SecretStr, field_validator

from streams.config.settings.endpoints import DEFAULT_URLS, OPENAI_URL, Api, Endpoint, Structured, origin
from streams.config.settings.stages import StageSettings
from streams.config.settings.text import setting

#: Values of a setting that ask a model; ``gemini`` was the only provider once.
MODEL_VALUES = ("model", "gemini")

_DEFAULT_MODEL, _DEFAULT_EMBEDDING = "gemini-2.5-flash-lite", "gemini-embedding-001"

_MODEL_NAME = r"^(|[^\s,=]{1,200})$"
_NAME_ALLOWED = "name of a model, as its endpoint has it"
_URL = r"^(|https?://[^\s]+)$"


class EndpointSettings(StageSettings):
    """Endpoints of models and the limits of their calls.  Part of ``Settings``."""

    # Models: where they are, and how they are asked
    model_api: Api = setting(
        "gemini",
        "what the endpoint speaks: Gemini's API, or OpenAI's, as Ollama, vLLM, llama.cpp, OpenRouter and Azure "
        "do, too",
    )
    model_url: str = setting(
        "",
        "where the API is; empty: Google's or OpenAI's own",
        allowed="http:// or https:// URL (of OpenAI's API up to /v1), or empty",
        pattern=_URL,
        repr=False,
        names=("SWITCHBOARD_MODEL_URL", "SWITCHBOARD_GEMINI_URL"),
    )
    model_name: str = setting(
        "",
        f"model that reads and writes; empty: {_DEFAULT_MODEL}, if it is Gemini's API",
        allowed=_NAME_ALLOWED,
        pattern=_MODEL_NAME,
        names=("SWITCHBOARD_MODEL_NAME", "SWITCHBOARD_GEMINI_MODEL"),
    )
    model_structured: Structured = setting(
        "strict",
        "how OpenAI's API is asked for JSON: by a strict schema, by the schema as it is, for any JSON, "
        "or by words alone; an endpoint that refuses one is asked by the next",
    )
    request_extra: str = setting(  # pydantic has a name of its own for `model_extra`
        "",
        "what else goes into the body of every request, and wins",
        allowed='object of JSON, such as {"reasoning_effort": "low"}, or empty',
        names=("SWITCHBOARD_MODEL_EXTRA",),
    )
    embedding_url: str = setting(
        "",
        "where vectors are made; empty: SWITCHBOARD_MODEL_URL",
        allowed="http:// or https:// URL, or empty",
        pattern=_URL,
        repr=False,
    )
    embedding_name: str = setting(
        "",
        f"model that makes vectors; empty: {_DEFAULT_EMBEDDING}, if it is Gemini's API",
        allowed=_NAME_ALLOWED,
        pattern=_MODEL_NAME,
        names=("SWITCHBOARD_EMBEDDING_NAME", "SWITCHBOARD_GEMINI_EMBEDDING_MODEL"),
    )
    embedding_dimensions: int = setting(
        768,
        "length of its vectors",
        "numbers",
        ge=32,
        le=4096,
        names=("SWITCHBOARD_EMBEDDING_DIMENSIONS", "SWITCHBOARD_GEMINI_EMBEDDING_DIMENSIONS"),
    )
    model_timeout_seconds: float = setting(
        30.0,
        "longest wait for an answer of a model, and between two pieces of a streamed one",
        "s",
        gt=0,
        le=600,
        names=("SWITCHBOARD_MODEL_TIMEOUT_SECONDS", "SWITCHBOARD_GEMINI_TIMEOUT_SECONDS"),
    )
    model_hedge_seconds: float = setting(
        0.0,
        "silence after which a second call is made too; the first answer counts, both are paid (0: never)",
        "s",
        ge=0,
        le=600,
        names=("SWITCHBOARD_MODEL_HEDGE_SECONDS", "SWITCHBOARD_GEMINI_HEDGE_SECONDS"),
    )
    model_windows_per_call: int = setting(
        4,
        "most windows, of one person, that one call is about",
        "windows",
        ge=1,
        le=20,
        names=("SWITCHBOARD_MODEL_WINDOWS_PER_CALL", "SWITCHBOARD_GEMINI_WINDOWS_PER_CALL"),
    )
    model_requests_per_minute: int = setting(
        300,
        "calls per minute of each model, of all processes together",
        "calls",
        ge=1,
        le=1_000_000,
        names=("SWITCHBOARD_MODEL_REQUESTS_PER_MINUTE", "SWITCHBOARD_GEMINI_REQUESTS_PER_MINUTE"),
    )
    model_tokens_per_minute: int = setting(
        1_000_000,
        "tokens per minute of each model, both ways",
        "tokens",
        ge=10_000,
        le=10**12,
        names=("SWITCHBOARD_MODEL_TOKENS_PER_MINUTE", "SWITCHBOARD_GEMINI_TOKENS_PER_MINUTE"),
    )
    model_calls_in_flight: int = setting(
        8,
        "calls of each model open at once",
        "calls",
        ge=1,
        le=10_000,
        names=("SWITCHBOARD_MODEL_CALLS_IN_FLIGHT", "SWITCHBOARD_GEMINI_CALLS_IN_FLIGHT"),
    )

    @field_validator("model_api", "model_structured", mode="before")
    @classmethod
    def _fold_name(cls, value: object) -> object:
        return value.lower() if isinstance(value, str) else value

    @field_validator("request_extra")
    @classmethod
    def _check_extra(cls, value: str) -> str:
        try:
            given = json.loads(value or "{}")
        except ValueError as error:
            raise ValueError(f"it is no JSON ({error})") from None
        if isinstance(given, dict):
            return value
        raise ValueError("it is no object of JSON")

    @property
    def model_endpoint(self) -> Endpoint:
        """Where a language model reads and writes."""
        key, variable = self._model_key(self.model_api)
        return Endpoint(
            api=self.model_api,
            url=self.model_url or DEFAULT_URLS[self.model_api],
            model=self.model_name or (_DEFAULT_MODEL if self.model_api == "gemini" else ""),
            key=key,
            variables=("SWITCHBOARD_MODEL_URL", "SWITCHBOARD_MODEL_NAME", variable),
            timeout=self.model_timeout_seconds,
            connections=self.model_calls_in_flight,
            structured=self.model_structured,
            extra=json.loads(self.request_extra or "{}"),
        )

    @property
    def embedding_endpoint(self) -> Endpoint:
        """Where vectors are made.  The key of the model's endpoint is not sent to another host."""
        api: Api = "gemini" if getattr(self, "embedder", "") == "gemini" else self.model_api
        model_url = (self.model_url if api == self.model_api else "") or DEFAULT_URLS[api]
        url = self.embedding_url or model_url
        key, variable = self.embedding_api_key, "SWITCHBOARD_EMBEDDING_API_KEY"
        if not key.get_secret_value() and origin(url) == origin(model_url):
            key, variable = self._model_key(api)
        return Endpoint(
            api=api,
            url=url,
            model=self.embedding_name or (_DEFAULT_EMBEDDING if api == "gemini" else ""),
            key=key,
            variables=("SWITCHBOARD_EMBEDDING_URL", "SWITCHBOARD_EMBEDDING_NAME", variable),
            timeout=self.model_timeout_seconds,
            connections=self.model_calls_in_flight,
            dimensions=self.embedding_dimensions,
        )

    def _model_key(self, api: Api) -> tuple[SecretStr, str]:
        """Return the key of an API, and the variable that it is, or would be, set by."""
        if self.model_api_key.get_secret_value() and api == self.model_api:
            return self.model_api_key, "SWITCHBOARD_MODEL_API_KEY"
        if api == "gemini":
            return self.gemini_api_key, "GEMINI_API_KEY"
        named = "OPENAI_API_KEY" if self.openai_api_key.get_secret_value() or not self.model_url else ""
        return self.openai_api_key, named or "SWITCHBOARD_MODEL_API_KEY"


def check_endpoint(asking: str, endpoint: Endpoint) -> None:
    """Refuse an endpoint that cannot be asked; ``asking`` is the setting that wants it."""
    _, name, key_variable = endpoint.variables
    if not endpoint.model:
        raise ValueError(f"{asking} needs the name of a model: set {name}, for example {name}=llama3.1:8b")
    key = endpoint.key.get_secret_value()
    needs_key = endpoint.api == "gemini" or origin(endpoint.url) == origin(OPENAI_URL)
    if needs_key and not key:
        own = asking.partition("=")[0]
        raise ValueError(
            f"{asking} needs a key: set {key_variable} or {key_variable}_FILE, or leave {own} out for the "
            "built-in one"
            + ("; SWITCHBOARD_MODEL_API=openai asks another endpoint" if endpoint.api == "gemini" else "")
        )
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise ValueError(
            f"{key_variable} (or what {key_variable}_FILE holds) has a line break, a space or another "
            "character that no key has: set it to the key alone"
        )
