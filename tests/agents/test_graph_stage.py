"""memory/graph and the indexes of the graph: what is published, searched, walked and erased."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from random import Random

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from memory_samples import calmly, crashing

from models.graph import Entity, GraphStatement, Relation
from models.index import VectorSpace
from processors.conversations.episodes.state import KeptTurn
from processors.extraction.graph.reading import read
from streams.agents.memory.graph import ENTITIES, RELATIONS, STATEMENTS, GraphStage
from streams.agents.recall.graph_index import entity_index, relation_index
from streams.clients.erasures import Erasing
from streams.clients.records import Record
from streams.config.settings import Settings
from streams.runtime.testing import PARTITION, START, StageHarness
from streams.stores.index_factory import open_index
from streams.stores.qdrant_kinds import ENTITIES as ENTITY_KIND
from streams.stores.qdrant_kinds import RELATIONS as RELATION_KIND
from streams.stores.search.graph import GraphSearch


def statements(*texts: str, user: str = "ada", conversation: str = "c") -> list[GraphStatement]:
    at = START.timestamp()
    names = [(f"{conversation}-t{n}", f"m{n}", user, "", "user") for n in range(len(texts))]
    turns = [
        KeptTurn("default", 0.0, n, *names[n], text, at + n, at + n, "log", 0, n)
        for n, text in enumerate(texts)
    ]
    return list(read(conversation, turns))


def stage() -> StageHarness:
    return StageHarness(GraphStage(Settings()).stage())


def latest(harness: StageHarness, topic: str) -> dict[bytes, bytes | None]:
    return {output.key or b"": output.value for output in harness.outputs if output.topic == topic}


def names(harness: StageHarness) -> set[str]:
    values = [value for value in latest(harness, ENTITIES).values() if value is not None]
    return {msgspec.json.decode(value, type=Entity).name for value in values}


def erase(
    harness: StageHarness, *, user: str = "", conversation: str = "", until: datetime | None = None
) -> None:
    erasing = Erasing("default", conversation, user, until or START + timedelta(hours=1))
    blank = harness.record(None, STATEMENTS)
    key = erasing.key(PARTITION).encode()
    harness.feed(blank._replace(key=key, headers=erasing.headers()))


def test_only_what_changed_is_published() -> None:
    harness = stage()
    first, second = (
        statements("My sister Anna lives in Berlin."),
        statements("I have a dog called Rex.", user="ada"),
    )
    harness.feed(*[harness.record(each) for each in first])
    before = len(harness.outputs)
    harness.feed(*[harness.record(msgspec.structs.replace(each)) for each in second])
    new = harness.outputs[before:]
    changed = {
        msgspec.json.decode(each.value or b"", type=Entity).name for each in new if each.topic == ENTITIES
    }
    assert changed == {"user", "Rex"}
    assert {each.route for each in harness.outputs} == {b"ada"}


@pytest.mark.parametrize(("user", "conversation"), [("ada", ""), ("", "c")])
def test_what_was_erased_is_gone_and_stays_so(user: str, conversation: str) -> None:
    harness = stage()
    told = statements("My sister Anna lives in Berlin.")
    harness.feed(*[harness.record(each) for each in told])
    harness.feed(
        *[harness.record(each) for each in statements("My friend Bob is here.", user="eve", conversation="d")]
    )
    erase(harness, user=user, conversation=conversation)
    assert names(harness) == {"user", "Bob"}
    assert set(latest(harness, RELATIONS).values()) - {None} != set()
    assert b"Anna" not in b"".join(payload for _, payload in harness.state.items())
    harness.feed(*[harness.record(each) for each in told])
    assert names(harness) == {"user", "Bob"}


def own(harness: StageHarness, topic: str, value: bytes) -> Record:
    """A copy of an entity or a relation, as a worker that was taken for dead writes it behind all else."""
    thing = msgspec.json.decode(value)
    return harness.record(value, topic, key=thing["entity_id" if topic == ENTITIES else "relation_id"].encode())


def published(harness: StageHarness) -> list[tuple[str, bytes]]:
    topics = (ENTITIES, RELATIONS)
    return [(each.topic, each.value) for each in harness.outputs if each.topic in topics and each.value]


def test_a_late_copy_of_anything_erased_is_erased() -> None:
    """Compaction keeps the last record of a key: an index that is filled anew would show it."""
    harness = stage()
    harness.feed(*[harness.record(each) for each in statements("My sister Anna lives in Berlin.")])
    before = published(harness)
    for topic, value in before:
        harness.feed(own(harness, topic, value))
        assert harness.last.outputs == [], "what was published is what it reads at once"
    erase(harness, user="ada")
    for _ in range(2):
        harness.recover()
        for topic in (ENTITIES, RELATIONS):
            harness.feed(*[own(harness, each, value) for each, value in before if each == topic])
            assert {each.value for each in harness.last.outputs} == {None}
        assert set(latest(harness, ENTITIES).values()) == set(latest(harness, RELATIONS).values()) == {None}


def test_behind_a_late_partial_copy_stands_what_is_left() -> None:
    harness = stage()
    harness.feed(*[harness.record(each) for each in statements("My sister Anna lives in Berlin.")])
    said = statements("My sister Anna is here.", conversation="d")
    harness.feed(*[harness.record(each) for each in said])
    before = published(harness)
    erase(harness, conversation="c")
    left = {key: value for key, value in latest(harness, RELATIONS).items() if value}
    for topic in (ENTITIES, RELATIONS):
        harness.feed(*[own(harness, each, value) for each, value in before if each == topic])
    after = {key: value for key, value in latest(harness, RELATIONS).items() if value}
    assert left.keys() == after.keys() and left
    for key, value in after.items():
        one, other = (msgspec.json.decode(each, type=Relation) for each in (value, left[key]))
        assert one.version > other.version
        assert msgspec.structs.replace(one, version=other.version) == other
    now = published(harness)[-1:]
    harness.feed(*[own(harness, topic, value) for topic, value in now])
    assert harness.last.outputs == []
    latest_version = max(msgspec.json.decode(value)["version"] for _, value in published(harness))
    harness.feed(*[harness.record(each) for each in statements("My friend Bob is here.", conversation="e")])
    bob = [each for _, each in published(harness) if b"Bob" in each]
    assert bob and all(msgspec.json.decode(each)["version"] > latest_version for each in bob)


def test_two_simultaneous_erasures_survive_a_crash() -> None:
    told = [
        *statements("My sister Anna lives in Berlin."),
        *statements("My friend Bob is here.", conversation="d"),
    ]

    def told_to() -> tuple[StageHarness, list[tuple[str, bytes]], int]:
        harness = stage()
        harness.feed(*[harness.record(each) for each in told])
        return harness, published(harness), len(harness.changelog)

    def erasures(harness: StageHarness) -> list[Record]:
        gone = [Erasing("default", name, "", START + timedelta(hours=1)) for name in "cd"]
        return [
            harness.record(None, STATEMENTS, key=each.key(PARTITION).encode(), headers=[*each.headers()])
            for each in gone
        ]

    whole, before, begun = told_to()
    whole.feed(*erasures(whole))
    for cut in range(begun, len(whole.changelog) + 1):
        harness, *_ = told_to()
        records = erasures(harness)
        harness.feed(*records)
        harness.recover(cut)
        harness.feed(*records)
        for topic, value in before:
            harness.feed(own(harness, topic, value))
        left = [*latest(harness, ENTITIES).values(), *latest(harness, RELATIONS).values()]
        assert {*left} == {None}, cut


TEXTS = (
    "My sister Anna lives in Berlin.",
    "My sister lives in Rome.",
    "My colleague Anna lives in Paris.",
    "I moved to Munich.",
    "I no longer live in Munich.",
)


@given(
    st.lists(st.tuples(st.sampled_from(TEXTS), st.sampled_from("ab")), max_size=8),
    st.randoms(use_true_random=False),
)
@settings(deadline=None, max_examples=25)
def test_however_it_is_read_the_graph_is_the_same(told: list[tuple[str, str]], chance: Random) -> None:
    made = StageHarness(GraphStage(Settings()).stage())
    log: list[Record] = []
    for number, (text, user) in enumerate(told):
        log += [made.record(each) for each in statements(text, user=user, conversation=f"c{number}")]
    stages = GraphStage(Settings()).stage()
    calm, trial = calmly(stages, log), crashing(stages, log, chance, 3)

    def last(outputs: Sequence[object]) -> set[tuple[str, bytes, object]]:
        found: dict[tuple[str, bytes], object] = {}
        for output in outputs:
            topic, key, value = output.topic, output.key, output.value  # type: ignore[attr-defined]
            kind = Entity if topic == ENTITIES else Relation
            thing = None if value is None else msgspec.json.decode(value, type=kind)
            # How often it changed depends on what came together.
            found[topic, key] = thing and msgspec.json.encode(msgspec.structs.replace(thing, version=1))
        return {(topic, key, value) for (topic, key), value in found.items() if value is not None}

    assert last(trial.outputs) == last(calm.outputs)


# -- the view -----------------------------------------------------------------------------------------------


@pytest.fixture
async def search(tmp_path: Path):  # type: ignore[no-untyped-def]
    space = VectorSpace("test-1", 4)
    entities = open_index(Settings(data_dir=tmp_path), ENTITY_KIND, space)
    relations = open_index(Settings(data_dir=tmp_path), RELATION_KIND, space)
    yield View(entities, relations)
    await entities.close()
    await relations.close()


class View:
    """The graph stage, and the indexes that its topics fill."""

    def __init__(self, entities, relations) -> None:  # type: ignore[no-untyped-def]
        self.graph = stage()
        self.search = GraphSearch(entities, relations)
        self._indexes = {
            ENTITIES: StageHarness(entity_index(Settings(), entities)),
            RELATIONS: StageHarness(relation_index(Settings(), relations)),
        }
        self._seen = 0

    async def tell(self, *texts: str, user: str = "ada", conversation: str = "c") -> None:
        self.graph.feed(
            *[self.graph.record(each) for each in statements(*texts, user=user, conversation=conversation)]
        )
        await self.catch_up()

    async def catch_up(self) -> None:
        for topic, index in self._indexes.items():
            new = [output for output in self.graph.outputs[self._seen :] if output.topic == topic]
            records = [index.record(None, topic, key=each.key)._replace(value=each.value, headers=each.headers)
                       for each in new]  # fmt: skip
            if records:
                await index.call(*records)
        self._seen = len(self.graph.outputs)


async def test_a_question_naming_somebody_finds_their_ties(search: View) -> None:
    await search.tell("My sister Anna lives in Berlin. She works at Siemens.", "I have a dog called Rex.")
    await search.tell("My sister Anna lives in Rome.", user="eve", conversation="d")
    for question in ("Where does my sister live?", "where does ANNA work", "What about Anna?"):
        found = await search.search.tied_to("ada", "default", question)
        assert {each.text for each in found} == {
            "user sister Anna",
            "Anna lives in Berlin",
            "Anna works at Siemens",
        }
    assert await search.search.tied_to("ada", "default", "Where is the train?") == []
    assert await search.search.tied_to("ada", "other", "Anna") == []
