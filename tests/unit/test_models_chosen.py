"""Which models are asked: settings, the demo's choice, prices, and the words of ``switchboard costs``."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from deploy.local.demo_model import DemoModel, chosen
from models.errors import ConfigurationError
from streams.cli.costs import Costs, print_costs, since_of
from streams.cli.main import app
from streams.llm.prices import PRICES, cost, price_of
from streams.settings import Settings, load_settings
from streams.settings.models import Price

NOW = datetime(2026, 3, 10, 12, tzinfo=UTC)


def with_key(**given: Any) -> Settings:
    return Settings(**{"GEMINI_API_KEY": "a-key-for-tests", **given})


# -- settings ----------------------------------------------------------------------------------------------


def test_a_key_alone_changes_nothing() -> None:
    settings = with_key()
    assert (settings.extractor, settings.summarizer, settings.uses_gemini) == ("builtin", "builtin", False)


@pytest.mark.parametrize("name", ["EXTRACTOR", "SUMMARIZER"])
def test_gemini_without_a_key_is_refused_with_a_sentence(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.delenv("GEMINI_API_KEY", raising=False)
    monkeypatch.setenv(f"SWITCHBOARD_{name}", "gemini")
    with pytest.raises(ConfigurationError, match=f"SWITCHBOARD_{name}=gemini needs a key: set GEMINI_API_KEY"):
        load_settings()


@pytest.mark.parametrize("name", ["extractor", "summarizer"])
def test_each_is_switched_by_itself(name: str) -> None:
    settings = with_key(**{name: "Gemini"})
    assert settings.uses_gemini
    assert [settings.extractor, settings.summarizer].count("gemini") == 1


@pytest.mark.parametrize(
    ("variable", "value", "words"),
    [
        ("SWITCHBOARD_EXTRACTOR", "gpt", "builtin, gemini, or where"),
        ("SWITCHBOARD_GEMINI_URL", "gemini.example", "http:// or https://"),
        ("SWITCHBOARD_GEMINI_MODEL", "models/gemini", "name of a model"),
        ("SWITCHBOARD_MODEL_BUDGET_USD", "-1", "from 0"),
        ("SWITCHBOARD_MODEL_PRICES", "cheap", "is not model=input/output"),
        ("SWITCHBOARD_GEMINI_TIMEOUT_SECONDS", "0", "above 0"),
    ],
)
def test_what_is_wrong_is_said(monkeypatch: pytest.MonkeyPatch, variable: str, value: str, words: str) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(ConfigurationError, match=words):
        load_settings()


# -- prices ------------------------------------------------------------------------------------------------


def test_what_a_call_costs() -> None:
    assert cost(PRICES["gemini-2.5-flash-lite"], 1_000_000, 500_000) == pytest.approx(0.10 + 0.20)


def test_a_model_goes_by_its_longest_prefix() -> None:
    assert price_of("gemini-2.5-flash-lite-001", {}) == PRICES["gemini-2.5-flash-lite"]
    assert price_of("gemini-2.5-flash-001", {}) == PRICES["gemini-2.5-flash"]


def test_a_model_without_a_price_is_the_dearest() -> None:
    assert price_of("gemini-9", {}).output == max(each.output for each in PRICES.values())


def test_prices_of_the_settings_win() -> None:
    own = with_key(model_prices="gemini-2.5-flash = 1/2, mine=0.5/0").own_prices
    assert own == {"gemini-2.5-flash": Price(1.0, 2.0), "mine": Price(0.5, 0.0)}
    assert price_of("gemini-2.5-flash", own) == Price(1.0, 2.0)
    assert price_of("gemini-2.5-flash-lite", own) == PRICES["gemini-2.5-flash-lite"]


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
    assert DemoModel("builtin", tmp_path).environment["SWITCHBOARD_EXTRACTOR"] == "builtin"


def test_the_scripted_model_of_the_demo_starts_and_ends(tmp_path: Path) -> None:
    model = DemoModel("scripted", tmp_path / "logs" / "model.log")
    model.start()
    assert model.environment["SWITCHBOARD_GEMINI_URL"].startswith("http://127.0.0.1:")
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
    print_costs({})
    assert "no language model was asked" in capsys.readouterr().out
