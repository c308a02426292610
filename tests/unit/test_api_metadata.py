"""Search over HTTP by metadata: what is asked for, and what is refused."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from streams.server.api.app import create_api
from streams.server.api.parts import Parts
from streams.stores.search import Results, Wanted
from streams.stores.search.results import scope_of


class Search:
    """Finds nothing, and keeps what it was asked."""

    def __init__(self) -> None:
        self.asked: list[Wanted] = []

    async def search(self, wanted: Wanted) -> Results:
        self.asked.append(wanted)
        return Results(scope=scope_of(wanted))


async def ask(search: Any, metadata: dict[str, Any], **more: Any) -> httpx.Response:
    app = create_api(Parts(search=search, metadata_keys=("topic", "thread", "is_test")))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client:
        body = {"q": "tea", "user_id": "ada", "metadata": metadata, **more}
        return await client.post("/v1/search", json=body)


async def test_values_are_compared_as_text() -> None:
    search = Search()
    answer = await ask(search, {"topic": "tea", "thread": 7, "is_test": True})
    assert answer.status_code == 200, answer.text
    [wanted] = search.asked
    assert wanted.metadata == {"topic": "tea", "thread": "7", "is_test": "true"}
    assert answer.json()["scope"]["metadata"] == wanted.metadata


@pytest.mark.parametrize(
    ("metadata", "more", "said"),
    [
        ({"page": "x"}, {}, "metadata.page is not indexed: SWITCHBOARD_METADATA_KEYS"),
        ({"topic": ""}, {}, "1 to 256 characters"),
        ({"topic": ["tea"]}, {}, "metadata"),
        ({"topic": "tea"}, {"search_type": "facts"}, "search_type=turns"),
    ],
)
async def test_what_is_not_indexed_is_refused_with_the_setting(
    metadata: dict[str, Any], more: dict[str, Any], said: str
) -> None:
    search = Search()
    refused = await ask(search, metadata, **more)
    assert refused.status_code == 400, refused.text
    assert said in refused.json()["detail"]
    assert not search.asked
