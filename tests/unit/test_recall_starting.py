"""A command and a recall service that starts meanwhile do not keep each other from the index."""

from __future__ import annotations

import asyncio
import os
import threading
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route

from deploy.local.ports import free_ports
from models.errors import ConfigurationError
from streams.cli import recall_api
from streams.config.service_registry import ServiceAddress, register
from streams.config.settings import Settings
from streams.server.api.server import serve
from streams.stores.folder_lock import FolderLock


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    (port,) = free_ports(1)
    return Settings(data_dir=tmp_path, api_port=port, services="serve=127.0.0.1:1")


def note(settings: Settings, service: str = "recall") -> None:
    register(settings, ServiceAddress(service, "here", os.getpid(), "127.0.0.1", 1))


async def test_a_service_that_has_just_been_started_is_waited_for(settings: Settings) -> None:
    note(settings)
    asked = asyncio.create_task(recall_api.get(settings, "/v1/x", {}, dict))
    await asyncio.sleep(0)
    app = Starlette(routes=[Route("/v1/x", lambda request: JSONResponse({"found": 1}))])
    server = await serve(app, settings.api_host, settings.api_port)
    try:
        assert await asked == {"found": 1}
    finally:
        await server.stop()


def test_a_folder_is_waited_for_with_patience(tmp_path: Path) -> None:
    first = FolderLock(tmp_path, "Stop it.")
    with pytest.raises(ConfigurationError, match="in use by process"):
        FolderLock(tmp_path, "Stop it.")
    taken = threading.Event()

    def second() -> None:
        FolderLock(tmp_path, "Stop it.", patience=60.0).release()
        taken.set()

    waiting = threading.Thread(target=second)
    waiting.start()
    assert not taken.is_set()
    first.release()
    assert taken.wait(60.0)
    waiting.join()
    with pytest.raises(ConfigurationError, match="in use by process"):
        held = FolderLock(tmp_path, "Stop it.")
        try:
            FolderLock(tmp_path, "Stop it.", patience=0.01)
        finally:
            held.release()
