"""Stages and the catalog fit together: what could not run is refused, and what the services consist of can."""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path

import msgspec
import pytest

from models.errors import ConfigurationError
from streams.clients.catalog import Catalog, load_catalog
from streams.config.settings import Settings
from streams.config.settings.services import SERVICES
from streams.runtime.effects import Effects
from streams.runtime.faust_app import bind
from streams.runtime.stage import Stage
from streams.server.process.services import open_service
from streams.telemetry.metrics import Metrics

MESSAGES, SUMMARIES, CANDIDATES = "chat.messages.v1", "memory.summaries.v1", "memory.fact-candidates.v1"


def stage(name: str, *sources: str, table: str | None = None) -> Stage:
    return Stage(name=name, sources=sources, step=lambda batch, state: Effects(), table=table)


def refusal(*stages: Stage, catalog: Catalog | None = None) -> str:
    with pytest.raises(ConfigurationError) as caught:
        bind(stages, "ingest", catalog or load_catalog())
    return str(caught.value)


def test_a_topic_that_two_stages_read_is_refused() -> None:
    """The batches of one would carry the other's place among its sources: marks of the wrong topic."""
    said = refusal(stage("one", MESSAGES), stage("two", SUMMARIES, MESSAGES))
    assert MESSAGES in said
    assert "(by one, two)" in said
    assert "service" in said


def test_a_source_without_a_dead_letter_topic_is_refused() -> None:
    assert refusal(stage("one", "chat.responses.v1")) == (
        "chat.responses.v1 has no dead-letter topic: set dead_letter: true in its file"
    )


def test_stages_that_share_a_name_or_a_table_are_refused() -> None:
    assert "are called 'one'" in refusal(stage("one", MESSAGES), stage("one", SUMMARIES))
    shared = [stage("one", MESSAGES, table="t"), stage("two", SUMMARIES, table="t")]
    assert "keep their state in 't'" in refusal(*shared)


def test_sources_with_other_numbers_of_partitions_are_refused() -> None:
    specs = [
        msgspec.structs.replace(spec, partitions=4) if spec.name == SUMMARIES else spec
        for spec in load_catalog()
    ]
    said = refusal(stage("one", MESSAGES, SUMMARIES), catalog=Catalog(specs))
    assert f"equal partitions: {{'{MESSAGES}': 8, '{SUMMARIES}': 4}}" in said


@pytest.mark.parametrize(
    ("service", "memory"), [*((service, "response") for service in SERVICES), ("respond", "conversation")]
)
async def test_the_services_can_be_bound(service: str, memory: str, tmp_path: Path) -> None:
    catalog = load_catalog()
    async with AsyncExitStack() as resources:
        settings = Settings(data_dir=tmp_path, response_memory=memory)
        opened = await open_service(service, settings, Metrics(), resources)
        bound = bind(opened.stages, service, catalog)
    assert [each.stage for each in bound] == [*opened.stages]
    for each in bound:
        assert each.hashed.keys() == {*each.stage.sources}
        assert bool(each.changelog) == bool(each.stage.table)
        for source in each.stage.sources:
            assert service in catalog.get(source).readers, f"schemas/topics says that {service} reads {source}"


async def test_respond_is_one_for_all_generations(tmp_path: Path) -> None:
    async with AsyncExitStack() as resources:
        settings = Settings(data_dir=tmp_path, generation="b")
        with pytest.raises(ConfigurationError, match=r"SWITCHBOARD_GENERATION=b.*Unset it for this worker"):
            await open_service("respond", settings, Metrics(), resources)
