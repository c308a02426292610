"""Commands ask one API over one of two transports, and say what to start where nothing runs."""

from __future__ import annotations

import json
from pathlib import Path

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from deploy.local.ports import free_ports
from streams.cli import main, recall_api
from streams.config.exits import EXIT_UNAVAILABLE
from streams.config.settings import Settings
from streams.server.api.server import serve
from streams.stores.remembered.recall_rpc import recall_socket


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    (port,) = free_ports(1)
    monkeypatch.setenv("SWITCHBOARD_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("SWITCHBOARD_API_PORT", str(port))
    monkeypatch.setenv("SWITCHBOARD_SERVICES", "serve=127.0.0.1:1")
    return Settings(data_dir=tmp_path, api_port=port, services="serve=127.0.0.1:1")


@pytest.mark.parametrize(
    "command",
    [
        ["context", "trip", "--user", "ada"],
        ["graph", "--user", "ada"],
        ["understand", "which one?", "--user", "ada"],
    ],
)
def test_a_command_says_what_to_start(
    settings: Settings, command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.run(command) == EXIT_UNAVAILABLE
    told = capsys.readouterr().err
    for start in ("`switchboard serve`", "`switchboard worker recall`", "`switchboard demo`"):
        assert start in told


async def _echo(request: Request) -> JSONResponse:
    return JSONResponse({"asked": str(request.url.path), "body": json.loads(await request.body() or b"{}")})


async def test_both_transports_carry_the_same_request(settings: Settings) -> None:
    app = Starlette(routes=[Route("/v1/x", _echo, methods=["GET", "POST"])])
    question = {"method": "POST", "url": "/v1/x", "json": {"q": "peanuts"}}
    server = await serve(app, settings.api_host, settings.api_port)
    try:
        over_http = await recall_api.post(settings, "/v1/x", {"q": "peanuts"}, dict)
    finally:
        await server.stop()
    here = await recall_api._send("http://localhost", httpx.ASGITransport(app), question, {})
    assert over_http == here.json() == {"asked": "/v1/x", "body": {"q": "peanuts"}}


async def test_the_socket_of_a_killed_recall_is_as_none(settings: Settings) -> None:
    recall_socket(settings).touch()
    assert await recall_api.get(settings, "/v1/people", {"tenant_id": "default", "limit": 5}, dict) is None
