"""Every example of every topic that a service reads goes through the stage that reads it, as deployed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from stage_harness import StageHarness

from models.errors import ConfigurationError
from streams.runtime.effects import Effects
from streams.runtime.stage import Stage
from streams.services import SERVICES, open_service
from streams.settings import Settings
from streams.telemetry.metrics import Metrics
from streams.topics.catalog import load_catalog
from streams.topics.examples import Example, load_examples, load_invalid_examples

#: Topics with a dead-letter queue are those that a stage reads.
SOURCES = [spec.contract_name for spec in load_catalog() if spec.dead_letter]

#: Sources whose records are about something that another source must have brought first.
ANSWERS = ("memory.summaries.v1", "memory.embeddings.v1")


@pytest.fixture
async def stages(tmp_path: Path) -> AsyncIterator[dict[str, Stage]]:
    """The stages of all services, as a worker opens them, by source."""
    async with AsyncExitStack() as resources:
        found = {}
        for name in SERVICES:
            try:
                service = await open_service(name, Settings(data_dir=tmp_path / name), Metrics(), resources)
            except ConfigurationError as error:
                assert "no service is called" in str(error)
                continue
            found.update({source: stage for stage in service.stages for source in stage.sources})
        yield found


def stage_of(source: str, stages: dict[str, Stage]) -> Stage:
    if source not in stages:
        readers = load_catalog().get(source).readers
        assert not {*readers} & {"ingest", "memory"}, f"no stage reads {source}"
        pytest.skip(f"{', '.join(readers)} has no stage for it yet")
    return stages[source]


async def replay(stage: Stage, source: str, example: Example) -> Effects:
    """Run the stage, as if it had seen nothing before, over the example."""
    harness = StageHarness(stage)
    record = harness.record(example.value, source, key=example.key, headers=example.headers)
    return harness.feed(record) if stage.step is not None else await harness.call(record)


@pytest.mark.parametrize("source", SOURCES)
async def test_valid_examples_pass(source: str, stages: dict[str, Stage]) -> None:
    stage = stage_of(source, stages)
    had_effect = False
    for example in load_examples(source):
        effects = await replay(stage, source, example)
        assert [letter.message for letter in effects.dead_letters] == [], example.name
        had_effect = had_effect or bool(effects)
    assert had_effect or source in ANSWERS


@pytest.mark.parametrize("source", SOURCES)
async def test_invalid_examples_are_dead_lettered_for_their_reason(
    source: str, stages: dict[str, Stage]
) -> None:
    stage = stage_of(source, stages)
    examples = load_invalid_examples(source)
    assert examples
    for example in examples:
        effects = await replay(stage, source, example)
        assert [letter.reason for letter in effects.dead_letters] == [example.reason], example.name
        assert effects.dead_letters[0].record.value == example.value
        assert (effects.outputs, effects.changes) == ([], {}), example.name
