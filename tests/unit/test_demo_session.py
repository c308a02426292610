"""The demo that stays: Ctrl-C at any line ends it in order."""

from __future__ import annotations

import asyncio
import io
import sys
from typing import Any

import pytest

from deploy.local import demo_run, demo_session
from deploy.local.demo_parts import Parts
from deploy.local.demo_report import Progress
from models.responses import ResponseChunk
from streams.settings import Settings


class Reader(io.StringIO):
    """A terminal at which somebody presses Ctrl-C at once when it says what that does."""

    def write(self, text: str, /) -> int:
        written = super().write(text)
        if "Ctrl-C" in text:
            raise KeyboardInterrupt
        return written


def test_ctrl_c_as_soon_as_it_is_named_is_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Reader()
    monkeypatch.setattr(sys, "stdout", terminal)
    try:
        demo_session._stay(Parts.__new__(Parts))
    except KeyboardInterrupt:
        pytest.fail("it was not yet listening")
    assert terminal.getvalue().endswith("ending ...\n")


async def test_a_response_is_there_when_what_repeats_in_it_is_there_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    parts: Any = Parts.__new__(Parts)
    parts.settings, parts.check = Settings(), lambda: None
    run = demo_run.Run(parts, [], Progress(), "It is late. It is late.")
    last = ResponseChunk(response_id="r", conversation_id="c", sequence=0, text="It is late.", final=True)
    run._view.response[0] = last
    # The service has written what is shown, and has not yet said that it has written all that came of it.
    lags = iter([{}, {"respond": 3}, {"respond": 0}])

    async def behind() -> dict[str, int]:
        return next(lags)

    monkeypatch.setattr(run, "_behind", behind)
    monkeypatch.setattr(demo_run, "_LOOK_SECONDS", 0.0)
    async with asyncio.timeout(60):
        await run._filter_a_response()
    assert not list(lags)
