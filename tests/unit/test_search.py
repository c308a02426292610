"""Search by meaning and by words at once."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from models import ids
from models.errors import DependencyUnavailable
from models.facts import Fact, FactChange, FactStatus
from models.messages import Role
from models.ports import FactIndex, Vectors, VectorSpace
from models.statements import Kind
from models.turns import Turn, TurnSource
from processors.recall.question import InvalidQuestion
from streams.adapters.qdrant_edge import QdrantEdgeIndex
from streams.adapters.qdrant_kinds import FACTS as FACT_KIND
from streams.adapters.qdrant_kinds import TURNS as TURN_KIND
from streams.search import MemorySearch, Results, SearchType, TurnIndex, Wanted

DIMENSIONS = 256


class WordEmbedder:
    """Bags of words: each word has a direction of its own, and ``meanings`` gives words a common one."""

    model = "words"
    dimensions = DIMENSIONS

    def __init__(self, meanings: dict[str, str] | None = None) -> None:
        self.meanings = meanings or {}
        self.error: Exception | None = None
        self.hangs = False

    async def embed(self, texts: Sequence[str]) -> Vectors:
        if self.error is not None:
            raise self.error
        if self.hangs:
            await asyncio.sleep(3600)
        rows = np.zeros((len(texts), DIMENSIONS), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in text.casefold().split():
                meaning = self.meanings.get(word, word)
                row[int(hashlib.sha1(meaning.encode()).hexdigest(), 16) % DIMENSIONS] += 1.0
            row /= np.linalg.norm(row)
        return rows


def make_fact(
    statement: str,
    status: FactStatus = FactStatus.ACTIVE,
    confidence: float = 0.7,
    user_id: str = "ada",
    tenant_id: str = "default",
) -> Fact:
    now = datetime.now(UTC)
    return Fact(
        fact_id=ids.text_fact_id(tenant_id, user_id, statement),
        slot_id=ids.slot_id(tenant_id, user_id, "", ""),
        user_id=user_id,
        kind=Kind.PREFERENCE,
        statement=statement,
        confidence=confidence,
        status=status,
        change=FactChange.CREATED,
        version=1,
        evidence_count=1,
        provenance=(),
        valid_from=now,
        learned_at=now,
        changed_at=now,
        last_evidence_at=now,
        tenant_id=tenant_id,
    )


@pytest.fixture
def embedder() -> WordEmbedder:
    return WordEmbedder({"beverage": "coffee", "espresso": "coffee"})


@pytest.fixture
async def index(tmp_path: Path) -> AsyncIterator[FactIndex]:
    opened = QdrantEdgeIndex(tmp_path, FACT_KIND, VectorSpace("words-1", DIMENSIONS))
    yield opened
    await opened.close()


async def store(index: FactIndex, embedder: WordEmbedder, *facts: Fact, waiting: Sequence[Fact] = ()) -> None:
    """Store the facts, and the vectors of all but those that are ``waiting`` for theirs."""
    await index.upsert([*facts, *waiting])
    embedded = list(facts)
    if embedded:
        vectors = await embedder.embed([fact.statement for fact in embedded])
        await index.store_vectors([fact.fact_id for fact in embedded], vectors, "words-1")


async def find(search: MemorySearch, query: str, user_id: str = "ada", **more: Any) -> Results:
    return await search.search(Wanted(query=query, user_id=user_id, **more))


async def test_finds_by_meaning_what_shares_no_word(index: FactIndex, embedder: WordEmbedder) -> None:
    fact = make_fact("espresso daily")
    await store(index, embedder, fact, make_fact("lives near Lisbon"))
    found = await find(MemorySearch(index, embedder), "beverage", "ada")
    assert found[0].fact == fact
    assert not found.degraded


async def test_a_fact_without_a_vector_is_found_by_its_words(index: FactIndex, embedder: WordEmbedder) -> None:
    waiting = make_fact("drinks coffee at noon")
    others = [make_fact(f"coffee note{number}") for number in range(8)]
    await store(index, embedder, *others, waiting=[waiting])
    found = await find(MemorySearch(index, embedder), "coffee at noon", "ada", limit=3)
    assert found[0].fact == waiting


async def test_each_fact_once_and_no_more_than_asked_for(index: FactIndex, embedder: WordEmbedder) -> None:
    await store(index, embedder, *(make_fact(f"coffee note{number}") for number in range(30)))
    search = MemorySearch(index, embedder)
    found = await find(search, "coffee", "ada", limit=7)
    assert len(found) == len({result.text for result in found}) == 7
    assert len(await find(search, "coffee", "ada", limit=30)) == 30


async def test_only_active_facts_of_this_person_that_are_sure_enough(
    index: FactIndex, embedder: WordEmbedder
) -> None:
    wanted = {"coffee active", "coffee just enough"}
    await store(
        index,
        embedder,
        make_fact("coffee active"),
        make_fact("coffee just enough", confidence=0.31),
        make_fact("coffee unsure", confidence=0.29),
        make_fact("coffee deprecated", FactStatus.DEPRECATED),
        make_fact("coffee merged", FactStatus.MERGED_INTO),
        make_fact("coffee of bob", user_id="bob"),
        make_fact("coffee of acme", tenant_id="acme"),
    )
    search = MemorySearch(index, embedder)
    found = await find(search, "coffee", "ada", limit=20)
    assert {result.text for result in found} == wanted
    [other] = await find(search, "coffee", "ada", tenant_id="acme")
    assert other.text == "coffee of acme"
    sure = await find(search, "coffee", "ada", minimum_confidence=0.5)
    assert {result.text for result in sure} == {"coffee active"}


@pytest.mark.parametrize("how", ["fails", "hangs"])
async def test_words_alone_while_the_embedder_is_down(
    index: FactIndex, embedder: WordEmbedder, how: str
) -> None:
    fact = make_fact("likes coffee")
    await store(index, embedder, fact, make_fact("likes tea"))
    search = MemorySearch(index, embedder, embed_timeout=0.05)
    embedder.error = DependencyUnavailable("embedder", "down") if how == "fails" else None
    embedder.hangs = how == "hangs"
    found = await find(search, "coffee", "ada")
    assert [result.fact for result in found] == [fact]
    assert found.degraded
    embedder.error, embedder.hangs = None, False
    assert not (await find(search, "coffee", "ada")).degraded


async def test_a_mistake_in_the_embedder_is_not_hidden(index: FactIndex, embedder: WordEmbedder) -> None:
    embedder.error = ZeroDivisionError()
    with pytest.raises(ZeroDivisionError):
        await find(MemorySearch(index, embedder), "coffee", "ada")


async def test_an_index_that_is_down_is_no_empty_result(index: FactIndex, embedder: WordEmbedder) -> None:
    await index.close()
    with pytest.raises(DependencyUnavailable):
        await find(MemorySearch(index, embedder), "coffee", "ada")


@pytest.mark.parametrize("query", ["", "   ", "\n\t", "\x00\x07\x1b", "x" * 4001])
async def test_a_blank_or_endless_query_is_refused(
    index: FactIndex, embedder: WordEmbedder, query: str
) -> None:
    with pytest.raises(InvalidQuestion, match="the query"):
        await find(MemorySearch(index, embedder), query)


START = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ({"limit": 0}, "limit is 0"),
        ({"limit": -1}, "limit is -1"),
        ({"limit": 10**9}, "1 to 100"),
        ({"since": START, "until": START}, "before it begins"),
        ({"since": START, "until": START - timedelta(days=1)}, "before it begins"),
        ({"since": START.replace(tzinfo=None)}, "since has no time zone"),
    ],
)
async def test_what_cannot_be_found_is_refused(
    index: FactIndex, embedder: WordEmbedder, wanted: dict[str, Any], said: str
) -> None:
    with pytest.raises(InvalidQuestion, match=said):
        await find(MemorySearch(index, embedder), "coffee", **wanted)


def make_turn(
    index: int,
    text: str,
    speaker: str = "",
    conversation_id: str = "c-1",
    user_id: str = "ada",
    tenant_id: str = "default",
) -> Turn:
    """Turns of the person have even indices, of the assistant odd ones; one a minute."""
    at = START + timedelta(minutes=index)
    name = f"{conversation_id}-{user_id}-{index}"
    return Turn(
        turn_id=ids.text_fact_id(tenant_id, user_id, name),
        message_id=name,
        conversation_id=conversation_id,
        user_id=user_id,
        role=Role.ASSISTANT if index % 2 else Role.USER,
        text=text,
        sent_at=at,
        arrived_at=at,
        began_at=START,
        index=index,
        source=TurnSource(topic="chat.messages.v1", partition=0, offset=index),
        speaker=speaker,
        tenant_id=tenant_id,
    )


@pytest.fixture
async def turns(tmp_path: Path) -> AsyncIterator[TurnIndex]:
    opened = QdrantEdgeIndex(tmp_path / "turns", TURN_KIND, VectorSpace("words-1", DIMENSIONS))
    yield opened
    await opened.close()


async def keep(turns: TurnIndex, embedder: WordEmbedder, *said: Turn) -> None:
    await turns.upsert(said)
    vectors = await embedder.embed([turn.text for turn in said])
    await turns.store_vectors([turn.turn_id for turn in said], vectors, "words-1")


class Kept:
    """What a conversation log answers: these turns, whatever is asked."""

    def __init__(self, *turns: Turn) -> None:
        self.turns = list(turns)
        self.error: Exception | None = None

    async def at(self, tenant_id: str, indices: Mapping[str, Sequence[int]]) -> list[Turn]:
        if self.error is not None:
            raise self.error
        return self.turns


async def test_turns_and_facts_are_found_together(
    index: FactIndex, turns: TurnIndex, embedder: WordEmbedder
) -> None:
    fact, turn = make_fact("drinks espresso daily"), make_turn(0, "coffee keeps me awake")
    await store(index, embedder, fact)
    await keep(turns, embedder, turn, make_turn(1, "the ferry leaves soon"))
    search = MemorySearch(index, embedder, turns)
    found = await find(search, "coffee", limit=2)
    assert {(each.kind, each.text) for each in found} == {("fact", fact.statement), ("turn", turn.text)}
    [said] = [each for each in found if each.kind == "turn"]
    assert (said.turn, said.fact, said.message_ids) == (turn, None, (turn.message_id,))
    for each in found:
        assert 0.0 < each.score < 1.0
        assert {"meaning", "words", "speaker"} <= each.parts.keys()
    facts = await find(search, "coffee", search_type=SearchType.FACTS)
    assert {each.kind for each in facts} == {"fact"}
    for kind in (SearchType.TURNS, SearchType.EPISODES):
        assert {each.kind for each in await find(search, "coffee", search_type=kind)} == {"turn"}


async def test_turns_of_nobody_else(index: FactIndex, turns: TurnIndex, embedder: WordEmbedder) -> None:
    others = [make_turn(0, "coffee of bob", user_id="bob"), make_turn(0, "coffee of acme", tenant_id="acme")]
    await keep(turns, embedder, make_turn(0, "coffee of mine"), *others)
    search = MemorySearch(index, embedder, turns)
    assert [each.text for each in await find(search, "coffee")] == ["coffee of mine"]
    assert [each.text for each in await find(search, "coffee", tenant_id="acme")] == ["coffee of acme"]
    assert await find(search, "coffee", "nobody") == []


async def test_what_was_said_before_counts_if_it_was_said_to_the_same_person(
    index: FactIndex, turns: TurnIndex, embedder: WordEmbedder
) -> None:
    asked = "which coffee roaster was it?"
    answer, other = make_turn(2, "Bramble, coffee nearby"), make_turn(40, "Juniper, coffee nearby")
    await keep(turns, embedder, answer, other)

    async def around(kept: Turn) -> dict[str, float]:
        search = MemorySearch(index, embedder, turns, Kept(kept))
        found = await find(search, "roaster coffee", search_type=SearchType.TURNS)
        return {each.text: each.parts["around"] for each in found}

    parts = await around(make_turn(1, asked))
    assert parts[answer.text] > parts[other.text]
    for stranger in (make_turn(1, asked, user_id="bob"), make_turn(1, asked, tenant_id="acme")):
        parts = await around(stranger)
        assert parts[answer.text] == parts[other.text]


async def test_without_the_log_the_search_goes_on(
    index: FactIndex, turns: TurnIndex, embedder: WordEmbedder
) -> None:
    await keep(turns, embedder, make_turn(4, "coffee at noon"))
    log = Kept()
    log.error = DependencyUnavailable("redis", "down")
    assert len(await find(MemorySearch(index, embedder, turns, log), "coffee")) == 1


async def test_a_conversation_and_a_time(index: FactIndex, turns: TurnIndex, embedder: WordEmbedder) -> None:
    said = [
        make_turn(number, f"coffee number{number}", conversation_id=name)
        for name in ("c-1", "c-2")
        for number in range(4)
    ]
    await keep(turns, embedder, *said)
    await store(index, embedder, make_fact("coffee rests on nothing"))
    search = MemorySearch(index, embedder, turns)
    found = await find(search, "coffee", limit=20, conversation_id="c-2")
    assert sorted(each.message_ids[0] for each in found) == [f"c-2-ada-{number}" for number in range(4)]
    since, until = START + timedelta(minutes=1), START + timedelta(minutes=3)
    found = await find(search, "coffee", limit=20, since=since, until=until)
    assert {each.turn.index for each in found if each.turn is not None} == {1, 2}
    assert len(found) == 4


async def test_a_named_speaker_is_preferred_and_their_name_is_no_word(
    index: FactIndex, turns: TurnIndex, embedder: WordEmbedder
) -> None:
    ada, ben = make_turn(0, "coffee first thing", "Ada"), make_turn(1, "coffee first thing", "Ben")
    greeting = make_turn(3, "Ada Ada Ada", "Ben")
    await keep(turns, embedder, ada, ben, greeting)
    search = MemorySearch(index, embedder, turns)
    for name, best in (("Ada", ada), ("ben", ben)):
        found = await find(search, f"What is {name}'s coffee")
        assert found[0].turn == best
        assert found[0].parts["speaker"] > 0
    parts = {each.text: each.parts for each in await find(search, "What is Ada's coffee")}
    assert parts[greeting.text]["words"] < parts[ada.text]["words"]
    assert parts[greeting.text]["speaker"] < 0


async def test_a_question_that_nothing_answers_finds_nothing(
    index: FactIndex, turns: TurnIndex, embedder: WordEmbedder
) -> None:
    await keep(turns, embedder, *(make_turn(number, f"coffee number{number}") for number in range(8)))
    await store(index, embedder, make_fact("drinks coffee at noon"))
    assert await find(MemorySearch(index, embedder, turns), "violin repairs") == []
