"""Search by meaning and by words at once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
import samples
from word_embedder import WordEmbedder

from models import ids
from models.errors import DependencyUnavailable
from models.facts import Fact, FactStatus
from models.index import FactIndex, Vectors, VectorSpace
from models.statements import Kind
from models.turns import Turn
from processors.retrieval.recall.question import InvalidQuestion
from processors.text.scripts import latin_share
from streams.stores.qdrant_edge import QdrantEdgeIndex
from streams.stores.qdrant_kinds import EPISODES as EPISODE_KIND
from streams.stores.qdrant_kinds import FACTS as FACT_KIND
from streams.stores.qdrant_kinds import TURNS as TURN_KIND
from streams.stores.search import Empty, EpisodeIndex, MemorySearch, Results, SearchType, TurnIndex, Wanted

SPACE = VectorSpace("words-1", WordEmbedder.dimensions)


def make_fact(statement: str, status: FactStatus = FactStatus.ACTIVE, **changes: Any) -> Fact:
    known = {"status": status, "confidence": 0.7, "provenance": ()}
    return samples.fact(statement, at=datetime.now(UTC), **(known | changes))


@pytest.fixture
def embedder() -> WordEmbedder:
    return WordEmbedder({"beverage": "coffee", "espresso": "coffee"})


@pytest.fixture
async def index(tmp_path: Path) -> AsyncIterator[FactIndex]:
    opened: FactIndex = QdrantEdgeIndex(tmp_path, FACT_KIND, SPACE)
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


async def test_only_sure_active_facts_of_this_person(index: FactIndex, embedder: WordEmbedder) -> None:
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
async def test_words_alone_without_an_embedder(index: FactIndex, embedder: WordEmbedder, how: str) -> None:
    fact = make_fact("likes coffee")
    await store(index, embedder, fact, make_fact("likes tea"))
    search = MemorySearch(index, embedder, embed_timeout=0.05)
    embedder.error = DependencyUnavailable("embedder", "down") if how == "fails" else None
    embedder.free = asyncio.Event()
    found = await find(search, "coffee", "ada")
    assert [result.fact for result in found] == [fact]
    assert found.degraded
    embedder.error = None
    embedder.free.set()
    assert not (await find(search, "coffee", "ada")).degraded


START = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ({"limit": 0}, "limit is 0"),
        ({"since": START, "until": START}, "before it begins"),
        ({"as_of": START.replace(tzinfo=None)}, "as_of has no time zone"),
        ({"metadata": {"topic": "tea"}, "search_type": SearchType.EPISODES}, "metadata is of what was said"),
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
    names = {"turn_id": ids.text_fact_id(tenant_id, user_id, name), "message_id": name, "speaker": speaker}
    owner = {"conversation_id": conversation_id, "user_id": user_id, "tenant_id": tenant_id}
    return samples.turn(index, text, at=START, sent_at=at, arrived_at=at, **names, **owner)


def resting_on(said: Turn, fact: Fact) -> Fact:
    names = {"conversation_id": said.conversation_id, "message_ids": (said.message_id,)}
    source = samples.evidence(said.text, at=said.sent_at, **names)
    return msgspec.structs.replace(fact, provenance=(source,))


@pytest.fixture
async def turns(tmp_path: Path) -> AsyncIterator[TurnIndex]:
    opened: TurnIndex = QdrantEdgeIndex(tmp_path / "turns", TURN_KIND, SPACE)
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


async def test_turns_come_with_facts(index: FactIndex, turns: TurnIndex, embedder: WordEmbedder) -> None:
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
        assert {"meaning", "around", "speaker"} <= each.parts.keys()
    facts = await find(search, "coffee", search_type=SearchType.FACTS)
    assert {each.kind for each in facts} == {"fact"}
    assert {each.kind for each in await find(search, "coffee", search_type=SearchType.TURNS)} == {"turn"}
    with pytest.raises(InvalidQuestion, match="no episodes are kept here"):
        await find(search, "coffee", search_type=SearchType.EPISODES)


async def test_turns_of_nobody_else(index: FactIndex, turns: TurnIndex, embedder: WordEmbedder) -> None:
    others = [make_turn(0, "coffee of bob", user_id="bob"), make_turn(0, "coffee of acme", tenant_id="acme")]
    await keep(turns, embedder, make_turn(0, "coffee of mine"), *others)
    search = MemorySearch(index, embedder, turns)
    assert [each.text for each in await find(search, "coffee")] == ["coffee of mine"]
    assert [each.text for each in await find(search, "coffee", tenant_id="acme")] == ["coffee of acme"]
    assert await find(search, "coffee", "nobody") == []


async def test_earlier_sayings_count_to_the_same_person(
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


async def test_without_a_log_search_goes_on(index: FactIndex, turns: TurnIndex, embedder: WordEmbedder) -> None:
    await keep(turns, embedder, make_turn(4, "coffee at noon"))
    log = Kept()
    log.error = DependencyUnavailable("redis", "down")
    assert len(await find(MemorySearch(index, embedder, turns, log), "coffee")) == 1


async def test_a_named_speaker_is_preferred_and_no_search_word(
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
    assert parts[greeting.text]["around"] < parts[ada.text]["around"]
    assert parts[greeting.text]["speaker"] < 0


MARCH, JULY = datetime(2026, 3, 1, tzinfo=UTC), datetime(2026, 7, 1, tzinfo=UTC)


def homes() -> tuple[Fact, Fact]:
    """Berlin from March to July, Munich since."""
    slot = ids.slot_id("default", "ada", "user", "home")
    berlin = msgspec.structs.replace(
        make_fact("User lives in Berlin", FactStatus.SUPERSEDED),
        slot_id=slot,
        attribute="home",
        kind=Kind.STATE,
        valid_from=MARCH,
        valid_to=JULY,
    )
    munich = msgspec.structs.replace(
        make_fact("User lives in Munich"), slot_id=slot, attribute="home", kind=Kind.STATE, valid_from=JULY
    )
    return berlin, munich


@pytest.mark.parametrize(
    ("query", "more", "expected"),
    [
        ("where lives User", {}, ["Munich"]),
        ("where lives User in May", {}, ["Berlin"]),
        ("where lives User", {"as_of": datetime(2026, 5, 1, tzinfo=UTC)}, ["Berlin"]),
        ("where lives User", {"as_of": MARCH - timedelta(days=1)}, []),
    ],
)
async def test_what_held_at_a_time(
    index: FactIndex, embedder: WordEmbedder, query: str, more: dict[str, Any], expected: list[str]
) -> None:
    await store(index, embedder, *homes())
    search = MemorySearch(index, embedder, clock=lambda: datetime(2026, 10, 5, tzinfo=UTC))
    found = await find(search, query, search_type=SearchType.FACTS, **more)
    assert [each.text.split()[-1] for each in found] == expected


async def test_facts_of_a_conversation_are_found_among_nearer(index: FactIndex, embedder: WordEmbedder) -> None:
    before, later = make_turn(0, "so"), make_turn(1, "so", conversation_id="c-2")
    near = [resting_on(before, make_fact(f"likes coffee and {number}")) for number in range(150)]
    far = resting_on(later, make_fact("likes coffee and cake and rain on summer evenings"))
    await store(index, embedder, *near, far)
    search = MemorySearch(index, embedder)
    found = await find(search, "likes coffee", conversation_id="c-2", search_type=SearchType.FACTS)
    assert [each.fact for each in found] == [far]
    found = await find(search, "likes coffee", since=later.sent_at, search_type=SearchType.FACTS)
    assert [each.fact for each in found] == [far]


async def test_strangers_are_told_apart(index: FactIndex, turns: TurnIndex, embedder: WordEmbedder) -> None:
    await keep(turns, embedder, make_turn(0, "coffee at noon"), make_turn(0, "tea", user_id="bob"))
    await store(index, embedder, make_fact("likes tea", user_id="cleo"))
    search = MemorySearch(index, embedder, turns)
    assert (await find(search, "coffee", "nobody")).empty is Empty.UNKNOWN_PERSON
    assert (await find(search, "coffee", tenant_id="acme")).empty is Empty.UNKNOWN_PERSON
    assert (await find(search, "coffee", conversation_id="c-9")).empty is Empty.UNKNOWN_CONVERSATION
    assert (await find(search, "violin", "bob")).empty is Empty.NO_FACTS
    said = await find(search, "violin", "bob", search_type=SearchType.TURNS)
    assert said.empty is Empty.NO_ANSWER, "facts were not asked for"
    assert (await find(search, "violin", "cleo")).empty is Empty.NO_ANSWER
    found = await find(search, "coffee", conversation_id="c-1")
    assert found.empty is None
    assert (found.scope.user_id, found.scope.conversation_id) == ("ada", "c-1")


async def test_episodes_rest_on_all_their_messages(
    index: FactIndex, turns: TurnIndex, embedder: WordEmbedder, tmp_path: Path
) -> None:
    said = [make_turn(0, "coffee beans"), make_turn(1, "from Bramble")]
    text = "user: coffee beans\nassistant: from Bramble"
    episode = samples.episode(*said, episode_id=ids.text_fact_id("default", "ada", "episode"), text=text)
    episodes: EpisodeIndex = QdrantEdgeIndex(tmp_path / "episodes", EPISODE_KIND, SPACE)
    await episodes.upsert([episode])
    await episodes.store_vectors([episode.episode_id], await embedder.embed([episode.text]), "words-1")
    search = MemorySearch(index, embedder, turns, episodes=episodes)
    [found] = await find(search, "coffee beans", search_type=SearchType.EPISODES)
    assert (found.kind, found.episode, found.message_ids) == ("episode", episode, episode.message_ids)
    assert not await find(search, "coffee beans", "bob", search_type=SearchType.EPISODES)
    late = said[1].sent_at + timedelta(hours=1)
    assert not await find(search, "coffee beans", search_type=SearchType.EPISODES, since=late)
    await episodes.close()


class LatinEmbedder(WordEmbedder):
    """Knows words of Latin script alone; all other texts get one vector, as of a small English model."""

    def coverage(self, text: str) -> float:
        return latin_share(text)

    async def embed(self, texts: Sequence[str]) -> Vectors:
        known = [text if self.coverage(text) >= 0.5 else "[UNK]" for text in texts]
        return await super().embed(known)


@pytest.mark.parametrize(
    ("said", "asked", "nobody_said"),
    [
        (("ฉันลืมกุญแจไว้ที่ร้านกาแฟ", "แมวของฉันป่วย"), "แมว", "จักรยาน"),
        (("我对花生过敏。", "弟弟喜欢踢足球。"), "足球", "我有自行车吗？"),
        (("У меня аллергия на арахис.", "Поезд опоздал."), "поезд", "У меня есть велосипед?"),
        (("🎻🎶", "🍕😋"), "🍕", "🚲"),
    ],
)
async def test_scripts_unknown_to_the_embedder_are_searched_by_words(
    index: FactIndex, said: tuple[str, ...], asked: str, nobody_said: str
) -> None:
    embedder = LatinEmbedder()
    await store(index, embedder, *(make_fact(text) for text in said))
    search = MemorySearch(index, embedder)
    found = await find(search, asked)
    assert [result.text for result in found][:1] == [said[1]]
    missed = await find(search, nobody_said)
    assert (len(missed), missed.empty, missed.degraded) == (0, Empty.NO_ANSWER, False)


async def test_a_stranger_is_not_answered_with_oneself(index: FactIndex, embedder: WordEmbedder) -> None:
    await store(index, embedder, make_fact("I live in Porto"), make_fact("Lea knits"))
    search = MemorySearch(index, embedder)
    assert [result.text for result in await find(search, "Where do I live in Porto?")][:1] == [
        "I live in Porto"
    ]
    assert len(await find(search, "Where does Pia live in Porto?")) == 0
    assert await find(search, "Where does Lea live in Porto?")
    assert await find(search, "Where does Ada live in Porto?"), "whose memory it is"
