"""The logs: one format for all, quiet libraries, no contents."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
import structlog

from streams.telemetry.logs import configure_logging, get_logger

SECRET = "I am allergic to walnuts"


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    for handler in list(root.handlers):
        root.removeHandler(handler)
    for handler in handlers:
        root.addHandler(handler)
    root.setLevel(level)
    structlog.reset_defaults()
    logging.captureWarnings(False)


def lines(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_json_lines_carry_event_level_logger_time_and_ids() -> None:
    out = io.StringIO()
    configure_logging("info", "json", out)
    get_logger("streams.agents.ingest.conversations", service="ingest").info(
        "window published", window_id="w-1"
    )
    (line,) = lines(out)
    assert line["event"] == "window published"
    assert line["level"] == "info"
    assert line["logger"] == "streams.agents.ingest.conversations"
    assert line["window_id"] == "w-1"
    assert line["service"] == "ingest"
    assert line["timestamp"].endswith("Z")


@pytest.mark.parametrize("form", ["console", "json"])
def test_contents_are_replaced_by_their_length(form: Any) -> None:
    out = io.StringIO()
    configure_logging("info", form, out)
    get_logger("streams.server.process.worker").info(
        "a message", content=SECRET, statement=[SECRET], message_id="m-1"
    )
    logging.getLogger("faust").warning("told", extra={"quote": SECRET})
    assert "walnuts" not in out.getvalue()
    assert "m-1" in out.getvalue()
    assert f"<{len(SECRET)} long>" in out.getvalue()


@pytest.mark.parametrize("form", ["console", "json"])
def test_tracebacks_show_no_local_variables(form: Any) -> None:
    out = io.StringIO()
    configure_logging("info", form, out)

    def step(said: str) -> None:
        raise RuntimeError(f"step failed after {len(said)} characters")

    try:
        step(SECRET)
    except RuntimeError:
        get_logger("streams.server.process.worker").exception("step failed")
        logging.getLogger("faust").exception("step failed")
    assert out.getvalue().count("RuntimeError: step failed after 24 characters") == 2
    assert "walnuts" not in out.getvalue()
