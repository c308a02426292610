"""recall/turn-log with a real Valkey and the embedded index: filled, erased, lost and filled again."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from datetime import timedelta
from pathlib import Path
from random import Random

import pytest
from test_conversation_log import turn

from models.errors import ConsistencyError
from models.index import SearchIndex, TurnFilter, VectorSpace
from models.turns import Turn
from streams.agents.recall.turn_log import CONVERSATION_HEADER, UNTIL_HEADER, TurnLog
from streams.agents.recall.turns import TURNS
from streams.agents.vectors.requests import REQUESTS
from streams.clients.erasures import Erasing
from streams.clients.local_valkey import LocalValkey
from streams.clients.records import Record
from streams.config.settings import Settings
from streams.runtime.testing import START, StageHarness
from streams.stores.conversation_log import ConversationLog
from streams.stores.dual_write_index import DualWriteIndex
from streams.stores.index_factory import open_index
from streams.stores.qdrant_edge import QdrantEdgeIndex
from streams.stores.qdrant_kinds import TURNS as KIND

ADA = TurnFilter(user_id="ada")

#: When a conversation begins anew.
ANEW = dict.fromkeys(("began_at", "arrived_at"), START + timedelta(hours=2))


class Rig:
    """The stage, its views, and a log of records to read from any offset."""

    def __init__(self, valkey: LocalValkey, log: ConversationLog, index: SearchIndex[Turn, TurnFilter]) -> None:
        self.valkey, self.log, self.index = valkey, log, index
        self.harness = StageHarness(TurnLog(Settings(), log, index).stage())
        self.harness.arrived = START + timedelta(hours=1)
        self.records: list[Record] = []

    @property
    def place(self) -> tuple[str, int]:
        return TURNS, self.harness.partition

    def say(self, *turns: Turn) -> None:
        self.records += [self.harness.record(each) for each in turns]

    def erase(self, gone: Turn, **headers: str) -> None:
        given = {CONVERSATION_HEADER: gone.conversation_id, **headers}
        self.records.append(
            self.harness.record(
                None, key=gone.turn_id.encode(), headers=[(name, text.encode()) for name, text in given.items()]
            )
        )

    async def read(self, start: int = 0) -> None:
        await self.harness.call(*self.records[start:])

    async def refill(self) -> None:
        """Read from where the runtime would begin."""
        assert self.harness.spec.view_marks is not None
        await self.read((await self.harness.spec.view_marks([self.place]))[self.place])

    async def state(self) -> tuple[list[Turn], list[Turn]]:
        found, _ = await self.index.page(ADA, 100)
        return await self.log.turns("default", "c", 0, 99), sorted(found, key=lambda each: each.index)

    async def words(self, query: str) -> list[int]:
        return sorted(found.item.index for found in await self.index.search_text(query, ADA, 10))


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[Rig]:
    async with AsyncExitStack() as resources:
        valkey = LocalValkey(tmp_path, "n")
        resources.push_async_callback(valkey.close)
        log = ConversationLog(valkey.client(), Settings().namespace, ready=valkey.ensure)
        resources.push_async_callback(log.close)
        index = open_index(Settings(data_dir=tmp_path), KIND, VectorSpace("test", 4))
        resources.push_async_callback(index.close)
        yield Rig(valkey, log, index)


async def test_a_turn_is_found_by_words_at_once(rig: Rig) -> None:
    turns = [
        turn(0, text="I keep bees in Lucerne"),
        turn(1, text="How many hives?"),
        turn(2, text="Four hives"),
    ]
    rig.say(*turns)
    await rig.read()
    assert await rig.state() == (turns, turns)
    assert await rig.words("hives") == [1, 2]
    assert [each[:2] for each in rig.harness.last.observations] == [("searchable_seconds", ("default",))] * 3
    assert await rig.log.marks([rig.place]) == await rig.index.marks([rig.place]) == {rig.place: 3}


async def test_an_erased_vector_goes_from_both_and_is_forgotten(rig: Rig) -> None:
    turns = [turn(index) for index in range(3)]
    rig.say(*turns)
    rig.erase(turns[1])
    rig.erase(turns[2], **{UNTIL_HEADER: START.isoformat()})  # it arrived later
    await rig.read(0)
    forgotten = {(each.key, each.value, each.route) for each in rig.harness.outputs if each.topic == REQUESTS}
    assert forgotten == {(f"turn/{turns[1].turn_id}".encode(), None, b"ada")}
    assert (await rig.state())[0] == [turns[0], turns[2]]
    await rig.read(0)
    assert (await rig.state())[0] == [turns[0], turns[2]]
    assert [each.index for each in (await rig.state())[1]] == [0, 2]
    assert rig.harness.dead_letters == []


@pytest.mark.parametrize("overtaken", [False, True])
@pytest.mark.parametrize("at_once", [False, True])
async def test_a_repeated_fact_is_found_without_old_copies(rig: Rig, overtaken: bool, at_once: bool) -> None:
    """Under the same ids, as when an export is imported once more; its erasure may be read behind that."""
    first, again = turn(0, text="I keep bees"), turn(0, text="I keep goats", **ANEW)
    rig.say(first, *[again] if overtaken else [])
    rig.erase(first, **{UNTIL_HEADER: (START + timedelta(hours=1)).isoformat()})
    rig.say(*[] if overtaken else [again], first)
    if at_once:
        await rig.read()
    else:
        for record in rig.records:
            await rig.harness.call(record)
    assert await rig.state() == ([again], [again])
    assert await rig.words("bees goats") == [0]


@pytest.mark.parametrize("emptied", [False, True])
@pytest.mark.parametrize("whole", [False, True])
async def test_a_late_copy_of_an_erased_turn_is_erased(
    rig: Rig, tmp_path: Path, whole: bool, emptied: bool
) -> None:
    """Compaction keeps the last record of a key: views that are filled anew would show it."""
    erased, kept = turn(0, text="I keep bees"), turn(1, text="How many hives?", **ANEW)
    rig.say(erased, kept)
    erasing = Erasing("default", "c", "", START + timedelta(hours=1))
    if whole:
        rig.records.append(rig.harness.record(None, key=b"e", headers=[*erasing.headers()]))
    else:
        rig.erase(erased, **{UNTIL_HEADER: erasing.until.isoformat()})
    await rig.read()
    for own in [each for each in rig.harness.outputs if each.topic == TURNS]:
        await rig.harness.call(rig.harness.record(None, key=own.key, headers=[*own.headers]))
    rig.harness.outputs.clear()
    rig.say(erased)
    await rig.harness.call(rig.records[-1])
    (again,) = [each for each in rig.harness.outputs if each.topic == TURNS]
    assert (again.key, again.value, again.route) == (erased.turn_id.encode(), None, b"c")
    assert dict(again.headers)[UNTIL_HEADER] == erasing.until.isoformat().encode()
    assert (await rig.state())[1] == [kept]
    behind = rig.harness.record(None, key=again.key, headers=[*again.headers])
    # What compaction leaves of the topic, by then and a month later, read into other views.
    if emptied:
        client = rig.valkey.client()
        await client.flushall()
        await client.aclose()
    index = open_index(Settings(data_dir=tmp_path / "anew"), KIND, VectorSpace("test", 4))
    log = ConversationLog(rig.valkey.client(), Settings().namespace)
    try:
        harness = StageHarness(TurnLog(Settings(), log, index).stage())
        for record in (rig.records[1], rig.records[-1], behind):
            await harness.call(record)
            if not emptied:  # Redis knows: it is shown for no moment
                assert (await index.page(ADA, 100))[0] == [kept]
        assert (await index.page(ADA, 100))[0] == [kept]
        assert await log.turns("default", "c", 0, 99) == [kept]
    finally:
        await log.close()
        await index.close()


@pytest.mark.parametrize("lost", ["redis", "index marks", "both"])
async def test_a_lost_view_is_rebuilt_equal(rig: Rig, lost: str) -> None:
    chance = Random(7)
    turns = [turn(index) for index in range(12)]
    rig.say(*turns)
    rig.erase(turns[4])
    rig.say(chance.choice(turns[:4]))
    await rig.read()
    before = await rig.state()
    if lost != "index marks":
        client = rig.valkey.client()
        await client.flushall()
        await client.aclose()
        rig.say(turn(12))
        with pytest.raises(ConsistencyError, match="emptied or restarted"):
            await rig.read(len(rig.records) - 1)
        rig.records.pop()
    if lost != "redis":
        await rig.index.set_mark(rig.place, 0)
    await rig.refill()
    logged, indexed = await rig.state()
    assert [each for each in logged if each.index < 12] == before[0]
    assert [each for each in indexed if each.index < 12] == before[1]


async def test_indexes_lose_erased_data_while_they_run(rig: Rig, tmp_path: Path) -> None:
    """The new one is filled from the beginning, and comes by erasures that the living one has behind it."""
    coming = QdrantEdgeIndex[Turn, TurnFilter](tmp_path / "coming", KIND, VectorSpace("after", 3))
    both: DualWriteIndex[Turn, TurnFilter] = DualWriteIndex(rig.index, coming)
    reading = Rig(rig.valkey, rig.log, both)
    try:
        rig.say(turn(0), turn(1), turn(2))
        rig.erase(turn(0))
        rig.erase(turn(1), **{UNTIL_HEADER: (START + timedelta(hours=1)).isoformat()})
        said_again = turn(1, arrived_at=START + timedelta(hours=2))
        await rig.index.upsert([said_again, turn(2)])
        await rig.index.erase({turn(0).turn_id: 1})
        for record in rig.records:
            await reading.harness.call(record)
        assert {each.turn_id for each in (await coming.page(ADA, 100))[0]} == {turn(2).turn_id}
        assert await rig.index.get([turn(1).turn_id]) == [said_again]
        assert await rig.index.get([turn(0).turn_id]) == []
        forgotten = {each.key for each in reading.harness.outputs if each.topic == REQUESTS}
        assert f"turn/{turn(1).turn_id}".encode() not in forgotten, "it was said again"
        whole = Erasing("default", "c", "", START + timedelta(hours=1))
        await rig.index.erase({turn(2).turn_id: 1})
        await reading.harness.call(
            rig.harness.record(None, key=whole.key(rig.harness.partition).encode(), headers=whole.headers())
        )
        erased = {each.key for each in reading.harness.last.outputs if each.topic == TURNS}
        assert erased == {turn(2).turn_id.encode()}, "the new one has it still"
    finally:
        await coming.close()
