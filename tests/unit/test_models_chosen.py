"""Which models are asked: settings, the demo's choice, prices, and the words of ``switchboard costs``."""

from __future__ import annotations

import pytest

from models.errors import ConfigurationError
from streams.config.settings import Settings, load_settings
from streams.config.settings.models import Price
from streams.llm.prices import FREE, price_of


@pytest.mark.parametrize("name", ["EXTRACTOR", "SUMMARIZER"])
def test_gemini_without_a_key_is_refused_with_a_sentence(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.delenv("GEMINI_API_KEY", raising=False)
    monkeypatch.setenv(f"SWITCHBOARD_{name}", "gemini")
    with pytest.raises(ConfigurationError, match=f"SWITCHBOARD_{name}=gemini needs a key: set GEMINI_API_KEY"):
        load_settings()


@pytest.mark.parametrize(
    ("variable", "value", "words"),
    [
        ("SWITCHBOARD_EXTRACTOR", "gpt", "builtin, model, gemini, or where"),
        ("SWITCHBOARD_MODEL_URL", "gemini.example", "http:// or https://"),
        ("SWITCHBOARD_MODEL_EXTRA", "[1]", "no object of JSON"),
        ("SWITCHBOARD_MODEL_BUDGET_USD", "-1", "from 0"),
        ("SWITCHBOARD_MODEL_PRICES", "cheap", "is not model=input/output"),
    ],
)
def test_what_is_wrong_is_said(monkeypatch: pytest.MonkeyPatch, variable: str, value: str, words: str) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(ConfigurationError, match=words):
        load_settings()


@pytest.mark.parametrize("variable", ["SWITCHBOARD_MODEL_API_KEY", "OPENAI_API_KEY"])
def test_a_key_is_used_without_trailing_line_break(monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    monkeypatch.setenv(variable, "sk-secret\n")
    settings = load_settings(extractor="model", model_api="openai", model_name="gpt-5-mini")
    assert settings.model_endpoint.key.get_secret_value() == "sk-secret"


def test_a_key_is_not_sent_to_another_host_for_vectors() -> None:
    given = {"embedder": "model", "model_api": "openai", "embedding_name": "e", "model_api_key": "one"}
    here = Settings(**given, model_url="https://a.example/v1")
    there = Settings(**given, model_url="https://a.example/v1", embedding_url="https://b.example/v1")
    own = Settings(
        **given, model_url="https://a.example/v1", embedding_url="https://b.example/v1", embedding_api_key="two"
    )
    keys = [each.embedding_endpoint.key.get_secret_value() for each in (here, there, own)]
    assert keys == ["one", "", "two"]


def priced(name: str, url: str = "", prices: str = "") -> Price | None:
    api = "openai" if url else "gemini"
    settings = Settings(model_api=api, model_url=url, model_name=name, model_prices=prices)
    return price_of(settings.model_endpoint, settings.own_prices)


@pytest.mark.parametrize("host", ["127.0.0.1:11434", "192.168.1.7", "[::1]:80", "ollama:11434", "box.local"])
def test_a_model_at_a_private_address_is_free(host: str) -> None:
    assert priced("gpt-4o", f"http://{host}/v1") == FREE
