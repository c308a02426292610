"""What ``POST …/turns`` answers when no turn may begin."""

from __future__ import annotations

from typing import Any

import httpx

from streams.chat.turn_limiter import NoRoom
from streams.server.api.access import Access
from streams.server.api.app import create_api
from streams.server.api.parts import Parts


class Full:
    """Chats among which there is no room."""

    def find(self, *_: str) -> None:
        return None

    async def begin(self, *_: str) -> None:
        raise NoRoom("100 turns run at this server, which has room for 100")


async def test_where_no_turn_has_room_one_is_told_when_to_come_again() -> None:
    full: Any = Full()
    app = create_api(Parts(chats=full), Access())
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client:
        said = {"user_id": "ada", "content": "Hello"}
        answer = await client.post("/v1/conversations/c-1/turns", json=said)
    assert answer.status_code == 503 and int(answer.headers["retry-after"]) > 0
    problem = answer.json()
    assert problem["type"] == "urn:switchboard:problem:too-many-turns"
    assert "not written" in problem["detail"] and "100" in problem["detail"]
