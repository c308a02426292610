"""``GET /v1/context`` and ``switchboard context``: a real Valkey and index, an HTTP server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from context_rig import Rig, fact, open_rig, turn

from models.statements import Kind
from streams.server.api.app import create_api
from streams.server.api.parts import Parts

GOOD = {"user_id": "ada", "conversation_id": "c"}


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[Rig]:
    async with open_rig(tmp_path) as made:
        await made.know(fact("Likes blueberries"), fact("Be brief", kind=Kind.INSTRUCTION))
        await made.say(turn(0, "What goes with blueberries?"))
        yield made


@pytest.fixture
async def client(rig: Rig) -> AsyncIterator[httpx.AsyncClient]:
    app = create_api(Parts(contexts=rig.reader))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as made:
        yield made


@pytest.mark.parametrize(
    ("changes", "status", "said"),
    [
        ({"user_id": "bob"}, 404, "bob takes part in no conversation c of tenant default"),
        ({"conversation_id": "d"}, 404, "ada takes part in no conversation d"),
        ({"tenant_id": "acme"}, 403, "Only the tenant default is answered for"),
        ({"conversation": "c"}, 400, "unknown field `conversation`"),
    ],
)
async def test_what_cannot_be_answered(
    client: httpx.AsyncClient, changes: dict[str, str], status: int, said: str
) -> None:
    answer = await client.get("/v1/context", params=GOOD | changes)
    assert answer.status_code == status, answer.text
    assert said in answer.json()["detail"]
