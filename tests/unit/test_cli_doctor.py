"""What ``doctor`` says of serve and of the model's key, against a server that answers."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from starlette.responses import JSONResponse

from deploy.local.model_server import ModelServer
from deploy.local.ports import free_ports
from streams.cli.doctor_outside import Finding, outside
from streams.config.settings import Settings
from tests.contract.qdrant_stand_in import a_qdrant


@pytest.fixture
async def server() -> AsyncIterator[ModelServer]:
    async with ModelServer() as running:
        yield running


async def found(**given: object) -> list[Finding]:
    [port] = free_ports(1)
    settings = Settings(**{"api_port": port, **given})  # type: ignore[arg-type]
    return await outside(settings)


async def test_the_version_of_qdrant_is_looked_at() -> None:
    async with a_qdrant((1, 20)) as (qdrant, url):
        [ok, *_] = (await found(qdrant_url=url))[1:]
        assert (ok.state, ok.what) == ("ok", f"Qdrant 1.20.3 answers at {url}")
        qdrant.version = (1, 19)
        [old, *_] = (await found(qdrant_url=url))[1:]
        assert old.state == "look" and "1.20 or newer" in old.what
        qdrant.version = (1, 9)
        [refused, *_] = (await found(qdrant_url=url))[1:]
        assert refused.state == "wrong" and "upgrade it to 1.16" in refused.what
        qdrant.says = JSONResponse({"title": "qdrant", "version": "dev"})
        [unchecked, *_] = (await found(qdrant_url=url))[1:]
        assert unchecked.state == "look" and unchecked.what.startswith("unchecked")


async def test_the_model_s_key_is_checked_at_no_cost(server: ModelServer) -> None:
    given = {"responder": "gemini", "model_url": server.url, "GEMINI_API_KEY": "scripted"}
    assert [each.state for each in (await found(**given))[1:]] == ["ok"]
    [wrong] = (await found(**given | {"GEMINI_API_KEY": "another"}))[1:]
    assert (wrong.state, "GEMINI_API_KEY" in wrong.what) == ("wrong", True)
    [wrong] = (await found(**given, model_name="gemini-0"))[1:]
    assert (wrong.state, "SWITCHBOARD_MODEL_NAME" in wrong.what) == ("wrong", True)
    [nobodys] = free_ports(1)
    [down] = (await found(**given | {"model_url": f"http://127.0.0.1:{nobodys}"}))[1:]
    assert (down.state, "built-in" in down.advice) == ("look", True)
    assert server.count() == 0


async def test_a_model_s_limits_are_told_for_one_short_answer(server: ModelServer) -> None:
    given = {
        "responder": "model",
        "model_api": "openai",
        "model_url": f"{server.url}/v1",
        "model_name": "scripted",
    }
    server.scripts.append(lambda body: '{"right": true}')
    assert [each.state for each in (await found(**given))[1:]] == ["ok"]
    assert server.count() == 1
    server.lacks = {"schemas", "tools"}
    _, ok, form, tools = await found(**given)
    assert [each.state for each in (ok, form, tools)] == ["ok", "look", "look"]
    assert "SWITCHBOARD_MODEL_STRUCTURED=json" in form.advice and "no tools" in tools.what
