"""Two deployments on one machine, one broker and one Qdrant, distinguished by their prefix alone."""

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


async def test_two_indexes_have_folders_and_contents_of_their_own(
    tmp_path: Path,
) -> None:
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
