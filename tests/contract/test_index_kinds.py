"""An index of another kind than facts, as turns of a conversation are: its ``Kind`` is all that it needs."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from models import ids
from models.index import SearchIndex, TurnFilter, VectorSpace
from models.messages import Role
from streams.stores.qdrant_edge import QdrantEdgeIndex
from streams.stores.qdrant_kinds import Kind
from streams.stores.qdrant_server import QdrantServerIndex

SPACE = VectorSpace("words-1", 4)
NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


class Said(msgspec.Struct, frozen=True, kw_only=True):
    """Something that was said.  It never changes, so it has no version."""

    said_id: str
    user_id: str
    text: str
    role: Role = Role.USER
    conversation_id: str = "c-1"
    sent_at: datetime = NOON
    tenant_id: str = "default"
    labels: tuple[str, ...] = ()


SAID = Kind(
    name="said",
    type=Said,
    id_field="said_id",
    text_field="text",
    keywords=("tenant_id", "conversation_id", "role", "labels"),
    times=("sent_at",),
    filled_from="chat.messages.v1",
)


def said(text: str, **changes: Any) -> Said:
    return Said(said_id=ids.fact_id("default", "ada", text), text=text, **{"user_id": "ada", **changes})


@pytest.fixture(params=["edge", "local"])
async def index(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[SearchIndex[Said, TurnFilter]]:
    opened: SearchIndex[Said, TurnFilter]
    if request.param == "edge":
        opened = QdrantEdgeIndex(tmp_path, SAID, SPACE)
    else:
        opened = QdrantServerIndex(str(tmp_path), "said", SAID, SPACE)
    yield opened
    await opened.close()


ALL = {
    "tea": said("tea at home"),
    "answer": said(
        "tea is ready", role=Role.ASSISTANT, sent_at=NOON + timedelta(minutes=1), labels=("topic=tea",)
    ),
    "later": said(
        "tea again", sent_at=NOON + timedelta(days=9), conversation_id="c-2", labels=("topic=tea", "app=ios 17")
    ),
    "bob": said("tea of bob", user_id="bob"),
    "acme": said("tea of acme", tenant_id="acme"),
}

FILTERS: dict[str, tuple[TurnFilter, set[str]]] = {
    "person": (TurnFilter(user_id="ada"), {"tea", "answer", "later"}),
    "tenant": (TurnFilter(user_id="ada", tenant_id="acme"), {"acme"}),
    "conversation": (TurnFilter(user_id="ada", conversation_id="c-2"), {"later"}),
    "role": (TurnFilter(user_id="ada", roles=(Role.ASSISTANT,)), {"answer"}),
    "since, inclusive": (TurnFilter(user_id="ada", since=NOON + timedelta(minutes=1)), {"answer", "later"}),
    "until, exclusive": (TurnFilter(user_id="ada", until=NOON + timedelta(minutes=1)), {"tea"}),
    "labels, all of them": (TurnFilter(user_id="ada", labels=("topic=tea", "app=ios 17")), {"later"}),
    "a part of a label": (TurnFilter(user_id="ada", labels=("app=ios",)), set()),
}


@pytest.mark.parametrize("name", FILTERS)
async def test_every_filter_holds_for_every_reading(index: SearchIndex[Said, TurnFilter], name: str) -> None:
    where, names = FILTERS[name]
    await index.upsert([*ALL.values()])
    vectors = np.tile(np.eye(1, 4, dtype=np.float32), (len(ALL), 1))
    await index.store_vectors([each.said_id for each in ALL.values()], vectors, SPACE.model)
    expected = {ALL[each].text for each in names}
    assert {found.item.text for found in await index.search_text("tea", where, 9)} == expected
    assert {found.item.text for found in await index.search_vector(vectors[0], where, 9)} == expected
    assert {item.text for item in (await index.page(where, 9))[0]} == expected
    assert await index.count(where) == len(expected)


async def test_what_is_too_old_is_deleted_and_may_come_again(index: SearchIndex[Said, TurnFilter]) -> None:
    await index.upsert([*ALL.values()])
    where, _ = FILTERS["person"]
    assert ALL["tea"] in [found.item for found in await index.search_text("tea", where, 9)]
    assert await index.expire("sent_at", NOON + timedelta(minutes=1)) == 3
    assert await index.expire("sent_at", NOON + timedelta(minutes=1)) == 0
    left = {each.said_id for each in await index.get([each.said_id for each in ALL.values()])}
    assert left == {ALL["answer"].said_id, ALL["later"].said_id}
    other = msgspec.structs.replace(ALL["tea"], text="tea, again")
    await index.upsert([other])
    assert await index.get([other.said_id]) == [other]
    assert other in [found.item for found in await index.search_text("tea", where, 9)]
