"""The demo that stays: Ctrl-C at any line ends it in order."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from deploy.local import demo_run
from deploy.local.demo_next import print_next
from deploy.local.demo_parts import Parts
from deploy.local.demo_report import Progress
from models.responses import ResponseChunk
from streams.settings import Settings, load_settings


def test_what_was_given_to_the_demo_is_given_to_the_next_commands_too(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in [name for name in os.environ if name.startswith("SWITCHBOARD_")]:
        monkeypatch.delenv(name)
    parts: Any = Parts.__new__(Parts)
    parts.folder = tmp_path

    def told(*, stay: bool, **chosen: Any) -> str:
        parts.settings = load_settings(**chosen)
        print_next(parts, stay)
        return capsys.readouterr().out

    assert "export" not in told(stay=True) + told(stay=False), "everything is where it usually is"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SWITCHBOARD_DATA_DIR", "my data")
    monkeypatch.setenv("SWITCHBOARD_LOG_LEVEL", "INFO")
    monkeypatch.setenv("SWITCHBOARD_REDIS_URL", "redis://:canary@127.0.0.1:1")
    monkeypatch.setenv("SWITCHBOARD_API_TOKEN", "canary")
    given = f"export SWITCHBOARD_DATA_DIR='{tmp_path}/my data'"
    hidden = "(and SWITCHBOARD_REDIS_URL, SWITCHBOARD_API_TOKEN, as given)"
    ended = told(stay=False, bootstrap_servers="127.0.0.1:19092")
    assert f"  {given}\n  {hidden}\n" in ended, ended
    stays = told(stay=True, bootstrap_servers="127.0.0.1:19092", api_port=8000)
    more = "SWITCHBOARD_API_PORT=8000 SWITCHBOARD_BOOTSTRAP_SERVERS=127.0.0.1:19092"
    assert f"  {given} {more}\n  {hidden}\n" in stays, stays
    assert "canary" not in ended + stays


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
