"""Two deployments on one machine, one broker and one Qdrant, told apart by their prefix alone."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from fact_samples import SPACE, make_fact
from hypothesis import given
from hypothesis import strategies as st

from models.errors import ConfigurationError
from streams.admin.topics import reset
from streams.clients.catalog import load_catalog
from streams.config.settings import Settings, load_settings
from streams.stores.index_factory import open_index
from streams.stores.qdrant_kinds import FACTS

PREFIXES = st.from_regex(r"[A-Za-z0-9._-]{0,60}", fullmatch=True)


def names(prefix: str) -> set[str]:
    """Everything that outlives a process and is found by its name."""
    own = Settings(topic_prefix=prefix, data_dir=Path("/data"), qdrant_url="http://q")
    found = {spec.name for spec in load_catalog(prefix)}
    found |= {own.group(service) for service in ("ingest", "memory", "recall", "respond")}
    found |= {own.namespace.redis_key("context", "ada"), str(own.folder)}
    return found | {str(reset.index_collection(own, "recall"))}


@given(PREFIXES, PREFIXES)
def test_two_prefixes_share_no_name(one: str, other: str) -> None:
    assert one == other or names(one).isdisjoint(names(other))


async def test_what_one_stores_the_other_does_not_find_and_each_has_a_folder(
    tmp_path: Path,
) -> None:
    """Both indexes are open at once, as two ``recall`` workers have them."""
    fact = make_fact()
    places = [load_settings(data_dir=tmp_path, topic_prefix=prefix) for prefix in ("", "prod-", "staging-")]
    indexes = [open_index(settings, FACTS, SPACE) for settings in places]
    try:
        await indexes[2].upsert([fact])
        assert [await index.get([fact.fact_id]) for index in indexes] == [[], [], [fact]]
        with pytest.raises(ConfigurationError, match="in use by process"):
            await asyncio.to_thread(open_index, places[2], FACTS, SPACE)
    finally:
        for index in indexes:
            await index.close()
    assert {reset.index_folder(settings, "recall") for settings in places} == {
        tmp_path / "qdrant",
        tmp_path / "prefix=prod-" / "qdrant",
        tmp_path / "prefix=staging-" / "qdrant",
    }


async def test_on_a_server_each_has_a_collection_of_its_own() -> None:
    asked: list[str] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while line := await reader.readline():
            if line.startswith((b"GET", b"PUT")):
                asked.append(line.split()[1].decode())
            if line == b"\r\n":
                body = b'{"title": "qdrant", "version": "1.20.0"}' if asked[-1] == "/" else b'{"result": {}}'
                status = b"200 OK" if asked[-1] == "/" else b"503 Busy"
                head = b"HTTP/1.1 %s\r\ncontent-length: %d\r\n" % (status, len(body))
                writer.write(head + b"content-type: application/json\r\n\r\n" + body)
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        for prefix in ("", "prod-"):
            index = open_index(load_settings(qdrant_url=url, topic_prefix=prefix), FACTS, SPACE)
            with pytest.raises(Exception, match="503"):
                await index.count()
            await index.close()
    assert {path.split("/")[2] for path in asked if path.startswith("/collections/")} == {
        "switchboard_facts",
        "prod-switchboard_facts",
    }
