"""Which models are asked: settings, the demo's choice, prices, and the words of ``switchboard costs``."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import structlog
from typer.testing import CliRunner

from deploy.local.demo_model import DemoModel, chosen
from models.errors import ConfigurationError
from streams.cli.costs import Costs, print_costs, since_of
from streams.cli.main import app
from streams.llm.port import Usage
from streams.llm.prices import FREE, cost, price_of
from streams.settings import Settings, load_settings
from streams.settings.models import Price

NOW = datetime(2026, 3, 10, 12, tzinfo=UTC)


def with_key(**given: Any) -> Settings:
    return Settings(**{"GEMINI_API_KEY": "a-key-for-tests", **given})


# -- settings ----------------------------------------------------------------------------------------------


def test_a_key_alone_changes_nothing() -> None:
    settings = with_key()
    assert (settings.extractor, settings.summarizer, settings.reads_with_model) == ("builtin", "builtin", False)


@pytest.mark.parametrize("name", ["EXTRACTOR", "SUMMARIZER"])
def test_gemini_without_a_key_is_refused_with_a_sentence(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.delenv("GEMINI_API_KEY", raising=False)
    monkeypatch.setenv(f"SWITCHBOARD_{name}", "gemini")
    with pytest.raises(ConfigurationError, match=f"SWITCHBOARD_{name}=gemini needs a key: set GEMINI_API_KEY"):
        load_settings()


@pytest.mark.parametrize("name", ["extractor", "summarizer"])
def test_each_is_switched_by_itself(name: str) -> None:
    settings = with_key(**{name: "Gemini"})
    assert settings.reads_with_model
    assert [settings.extractor, settings.summarizer].count("gemini") == 1


@pytest.mark.parametrize(
    ("variable", "value", "words"),
    [
        ("SWITCHBOARD_EXTRACTOR", "gpt", "builtin, model, gemini, or where"),
        ("SWITCHBOARD_MODEL_URL", "gemini.example", "http:// or https://"),
        ("SWITCHBOARD_MODEL_NAME", "two words", "name of a model"),
        ("SWITCHBOARD_MODEL_EXTRA", "[1]", "no object of JSON"),
        ("SWITCHBOARD_MODEL_STRUCTURED", "perhaps", "strict or schema or json or prompt"),
        ("SWITCHBOARD_MODEL_BUDGET_USD", "-1", "from 0"),
        ("SWITCHBOARD_MODEL_PRICES", "cheap", "is not model=input/output"),
        ("SWITCHBOARD_MODEL_TIMEOUT_SECONDS", "0", "above 0"),
    ],
)
def test_what_is_wrong_is_said(monkeypatch: pytest.MonkeyPatch, variable: str, value: str, words: str) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(ConfigurationError, match=words):
        load_settings()


@pytest.mark.parametrize("name", ["llama3.1:8b", "qwen/qwen3-32b", "models/gemini", "ft:gpt-4o:acme::a1"])
def test_any_name_of_a_model_is_taken(name: str) -> None:
    settings = Settings(extractor="model", model_api="openai", model_url="http://box:11434/v1", model_name=name)
    assert settings.model_endpoint.model == name


def test_former_names_of_settings_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SWITCHBOARD_GEMINI_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("SWITCHBOARD_GEMINI_TIMEOUT_SECONDS", "7")
    endpoint = load_settings().model_endpoint
    assert (endpoint.url, endpoint.timeout) == ("http://127.0.0.1:1", 7.0)


def test_an_endpoint_without_a_model_is_refused() -> None:
    with pytest.raises(ValueError, match="SWITCHBOARD_MODEL_NAME"):
        Settings(extractor="model", model_api="openai", model_url="http://127.0.0.1:1/v1")


def test_gemini_beside_another_api_is_refused() -> None:
    with pytest.raises(ValueError, match="SWITCHBOARD_EXTRACTOR=gemini asks another API"):
        with_key(extractor="gemini", model_api="openai", model_name="x")


@pytest.mark.parametrize("variable", ["SWITCHBOARD_MODEL_API_KEY", "OPENAI_API_KEY"])
def test_a_key_is_used_without_the_line_break_at_its_end(
    monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv(variable, "sk-secret\n")
    settings = load_settings(extractor="model", model_api="openai", model_name="gpt-5-mini")
    assert settings.model_endpoint.key.get_secret_value() == "sk-secret"


def test_a_key_with_a_line_break_in_it_is_refused_unseen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret\nX-Header: 1")
    load_settings()  # nothing asks for it
    with pytest.raises(ConfigurationError, match=r"OPENAI_API_KEY .*line break") as caught:
        load_settings(extractor="model", model_api="openai", model_name="gpt-5-mini")
    assert "sk-secret" not in str(caught.value)


def test_a_key_is_not_sent_to_another_host_for_vectors() -> None:
    given = {"embedder": "model", "model_api": "openai", "embedding_name": "e", "model_api_key": "one"}
    here = Settings(**given, model_url="https://a.example/v1")
    there = Settings(**given, model_url="https://a.example/v1", embedding_url="https://b.example/v1")
    own = Settings(
        **given, model_url="https://a.example/v1", embedding_url="https://b.example/v1", embedding_api_key="two"
    )
    keys = [each.embedding_endpoint.key.get_secret_value() for each in (here, there, own)]
    assert keys == ["one", "", "two"]


# -- prices ------------------------------------------------------------------------------------------------


def priced(name: str, url: str = "", prices: str = "") -> Price | None:
    api = "openai" if url else "gemini"
    settings = Settings(model_api=api, model_url=url, model_name=name, model_prices=prices)
    return price_of(settings.model_endpoint, settings.own_prices)


def test_cached_tokens_cost_what_cached_tokens_cost() -> None:
    assert cost(Price(1.0, 2.0, 0.1), Usage(1_000_000, 500_000, 600_000)) == pytest.approx(0.4 + 0.06 + 1.0)
    assert cost(Price(1.0, 2.0), Usage(1_000_000, 0, 600_000)) == pytest.approx(1.0)


def test_a_listed_model_has_its_list_price() -> None:
    flash = priced("gemini-2.5-flash-lite")
    assert flash is not None and 0 < (flash.cached or 0) < flash.input < flash.output
    assert priced("gemini-2.5-flash-lite-001") == flash
    assert priced("gpt-5-mini", "https://api.openai.com/v1") is not None
    assert priced("qwen/qwen3-32b", "https://openrouter.ai/api/v1") is not None


@pytest.mark.parametrize("host", ["127.0.0.1:11434", "192.168.1.7", "[::1]:80", "ollama:11434", "box.local"])
def test_a_model_at_a_private_address_is_free(host: str) -> None:
    assert priced("gpt-4o", f"http://{host}/v1") == FREE


def test_a_model_without_a_price_is_counted_in_tokens_and_says_so() -> None:
    with structlog.testing.capture_logs() as logs:
        assert priced("my-own-tune", "https://llm.example.com/v1") is None
    assert [each["model"] for each in logs] == ["my-own-tune"]
    assert cost(None, Usage(10, 10)) == 0.0


def test_prices_of_the_settings_win() -> None:
    prices = "gemini-2.5-flash = 1/2, llama3.1:8b=0.5/0/0.1"
    assert with_key(model_prices=prices).own_prices["llama3.1:8b"] == Price(0.5, 0.0, 0.1)
    assert priced("gemini-2.5-flash", prices=prices) == Price(1.0, 2.0)
    assert priced("llama3.1:8b", "http://127.0.0.1/v1", prices) == Price(0.5, 0.0, 0.1)


# -- the demo ----------------------------------------------------------------------------------------------


def test_the_demo_asks_gemini_only_with_a_key(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("GEMINI_API_KEY", raising=False)
    assert chosen("", Settings()) == "builtin"
    assert chosen("", with_key()) == "gemini"
    assert chosen("builtin", with_key()) == "builtin"
    assert chosen("scripted", Settings()) == "scripted"
    with pytest.raises(ConfigurationError, match="needs a key"):
        chosen("gemini", Settings())
    with pytest.raises(ConfigurationError, match="none of builtin, scripted, gemini"):
        chosen("gpt", Settings())
    with pytest.raises(ConfigurationError, match="does not name a model"):
        chosen("http://127.0.0.1:11434/v1", Settings())
    assert DemoModel("builtin", tmp_path).environment["SWITCHBOARD_EXTRACTOR"] == "builtin"


def test_the_demo_asks_any_endpoint_by_its_url_and_model(tmp_path: Path) -> None:
    model = DemoModel(chosen("http://127.0.0.1:11434/v1#llama3.1:8b", Settings()), tmp_path)
    assert model.environment["SWITCHBOARD_MODEL_URL"] == "http://127.0.0.1:11434/v1"
    assert model.environment["SWITCHBOARD_MODEL_NAME"] == "llama3.1:8b"
    assert "llama3.1:8b at http://127.0.0.1:11434/v1" in model.sentence


def test_the_scripted_model_of_the_demo_starts_and_ends(tmp_path: Path) -> None:
    model = DemoModel("scripted", tmp_path / "logs" / "model.log")
    model.start()
    assert model.environment["SWITCHBOARD_MODEL_URL"].startswith("http://127.0.0.1:")
    assert model.pid is not None
    model.close()
    assert model._server is not None and model._server.poll() is not None


# -- costs -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", None),
        ("7d", NOW - timedelta(days=7)),
        ("90m", NOW - timedelta(minutes=90)),
        ("2026-03-01", datetime(2026, 3, 1, tzinfo=UTC)),
        ("2026-03-01T10:00+02:00", datetime(2026, 3, 1, 8, tzinfo=UTC)),
    ],
)
def test_since(text: str, expected: datetime | None) -> None:
    assert since_of(text, NOW) == expected


@pytest.mark.parametrize("text", ["yesterday", "7", "-7d", "7x", "9999999999d"])
def test_since_when(text: str) -> None:
    result = CliRunner().invoke(app, ["costs", f"--since={text}"])
    assert isinstance(result.exception, ConfigurationError)


def test_costs_are_summed_up(capsys: pytest.CaptureFixture[str]) -> None:
    row = Costs(asked=2, calls=1, answered=2, input_tokens=1500, output_tokens=20, cost_usd=0.25)
    print_costs({("extraction", "m"): row, ("summary", "m"): row})
    printed = capsys.readouterr().out.splitlines()
    assert printed[-1].split() == ["all", "4", "2", "4", "0", "0", "3,000", "40", "0.5000"]
    print_costs({("extraction", "local"): Costs(asked=1, calls=1, answered=1, input_tokens=9)})
    assert capsys.readouterr().out.splitlines()[-1].split()[-3:] == ["0", "no", "price"]
    print_costs({})
    assert "no language model was asked" in capsys.readouterr().out
