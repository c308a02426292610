"""The command as a whole: errors become one line and a status, help is for newcomers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from models.errors import ConfigurationError, ConsistencyError, DependencyUnavailable, InvalidRecord, NotFound
from streams.cli import main
from streams.cli import settings as settings_command


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SWITCHBOARD_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("SWITCHBOARD_BOOTSTRAP_SERVERS", "127.0.0.1:1")
    for port in ("SWITCHBOARD_METRICS_PORT", "SWITCHBOARD_API_PORT"):
        monkeypatch.delenv(port, raising=False)


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (ConfigurationError("set X to 1"), 78),
        (NotFound("there is no topic X"), 66),
        (DependencyUnavailable("kafka", "nobody answers"), 69),
        (InvalidRecord("invalid_json", "line 3 is not JSON"), 65),
        (ConsistencyError("the topic was made again"), 70),
        (KeyboardInterrupt(), 130),
    ],
)
def test_an_error_is_one_line_on_stderr_and_a_status(
    error: BaseException, status: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail() -> None:
        raise error

    monkeypatch.setattr(settings_command, "load_settings", fail)
    assert main.run(["settings"]) == status
    out, err = capsys.readouterr()
    assert out == ""
    assert err == (f"switchboard: {error}\n" if str(error) else "")


def test_an_error_that_nobody_raised_on_purpose_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(settings_command, "load_settings", fail)
    with pytest.raises(ZeroDivisionError):
        main.run(["settings"])


def test_settings_never_print_a_secret(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GEMINI_API_KEY", "hunter2")
    assert main.run(["settings"]) == 0
    assert main.run(["settings", "--json"]) == 0
    assert "hunter2" not in capsys.readouterr().out


def test_what_is_filtered_is_told_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "The ferry leaves at nine from the old harbour. The ferry leaves at nine from the old harbour."
    file = tmp_path / "answer.txt"
    file.write_text(text)
    assert main.run(["filter", str(file), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["text"].strip() == "The ferry leaves at nine from the old harbour."
    assert told["duplicates"][0]["sentence"] == "The ferry leaves at nine from the old harbour."
