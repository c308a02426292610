"""Names of generations: which topics they share, and that no two of them share anything else."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.errors import ConfigurationError
from streams.clients.catalog import catalog_for, load_catalog
from streams.config.namespace import Namespace, is_generation, is_prefix
from streams.config.settings import Settings, load_settings
from streams.runtime.effects import Effects

SHARED = {
    "access.tokens.v1",
    "chat.duplicates.v1",
    "chat.messages.v1",
    "chat.response-chunks.v1",
    "chat.responses.v1",
    "memory.commands.v1",
    "memory.control.v1",
    "memory.erasures.v1",
    "memory.policies.v1",
    "models.memo.v1",
    "webhooks.endpoints.v1",
    "webhooks.undelivered.v1",
}

PREFIXES = st.from_regex(r"[A-Za-z0-9._-]{0,20}", fullmatch=True).filter(is_prefix)
GENERATIONS = st.just("") | st.from_regex(r"[a-z0-9-]{1,20}", fullmatch=True).filter(is_generation)


def derived(prefix: str, generation: str) -> set[str]:
    """Names on the broker, in Qdrant, in Redis and on disk that belong to one generation."""
    own = Namespace(prefix, generation)
    found = {spec.name for spec in load_catalog(prefix, generation=generation).derived()}
    found |= {own.group(service) for service in ("ingest", "memory", "recall", "respond")}
    return found | {own.collection("facts"), own.redis_key("context", "ada"), str(own.folder(Path("/data")))}


@given(PREFIXES, GENERATIONS, PREFIXES, GENERATIONS)
def test_generations_share_no_derived_name(prefix: str, one: str, other_prefix: str, other: str) -> None:
    if (prefix, one) != (other_prefix, other):
        assert derived(prefix, one).isdisjoint(derived(other_prefix, other))


def test_sources_commands_tokens_and_memo_have_one_name() -> None:
    live, replayed = load_catalog("p-"), load_catalog("p-", generation="b")
    assert {spec.contract_name for spec in live if spec.shared} == SHARED
    for spec in replayed:
        same = spec.name == live.name(spec.contract_name)
        assert same == (spec.contract_name in SHARED), spec.name


def test_live_names_are_as_before() -> None:
    live = Settings(topic_prefix="p-", data_dir=Path("/data"))
    for spec in catalog_for(live):
        assert spec.name == f"p-{spec.contract_name}"
    assert live.group("ingest") == "p-switchboard-ingest"
    assert live.namespace.collection("facts") == "p-switchboard_facts"
    assert live.namespace.redis_key("log", "ada") == "p-switchboard:log:ada"
    assert live.folder == Path("/data/prefix=p-")
    assert Settings(data_dir=Path("/data")).folder == Path("/data")


def test_names_of_a_generation() -> None:
    replayed = Settings(topic_prefix="p-", data_dir=Path("/data"), generation="b2")
    assert catalog_for(replayed).name("memory.facts.v1") == "p-generation-b2.memory.facts.v1"
    assert catalog_for(replayed).name("chat.messages.v1") == "p-chat.messages.v1"
    assert catalog_for(replayed).dead_letter_name("chat.messages.v1") == "p-generation-b2.chat.messages.v1.dlq"
    assert replayed.folder == Path("/data/prefix=p-/generation=b2")
    assert f"{replayed.group('ingest')}-conversations-changelog" in catalog_for(replayed)
    assert replayed.namespace.live == Settings(topic_prefix="p-").namespace


@pytest.mark.parametrize(
    "name",
    ["chat.messages.v1", "memory", "Ada", "x" * 21, "-a", "live", "a\n", "../a"],
)
def test_names_that_are_no_generation_are_refused(name: str) -> None:
    with pytest.raises(ConfigurationError, match=r"SWITCHBOARD_GENERATION.*lowercase letters"):
        load_settings(generation=name)


@pytest.mark.parametrize("prefix", ["generation-b.", "p-generation-2026-11."])
def test_a_prefix_that_ends_like_a_generation_is_refused(prefix: str) -> None:
    with pytest.raises(ConfigurationError, match="choose another prefix"):
        load_settings(topic_prefix=prefix)


def test_only_the_live_generation_writes_shared_topics() -> None:
    assert load_catalog().withheld == frozenset()
    withheld = load_catalog(generation="b").withheld
    assert withheld == SHARED
    effects = Effects()
    effects.emit("chat.messages.v1", b"c", b"a tick")
    effects.emit("memory.windows.v1", b"c", b"a window")
    effects.withhold(withheld)
    assert [output.topic for output in effects.outputs] == ["memory.windows.v1"]
