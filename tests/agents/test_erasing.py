"""Erasing conversations and persons, stage by stage: what goes, what stays, what no replay brings back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, cast

import msgspec
import pytest
import samples
from memory_samples import candidate

from models.context import ContextRequest
from models.facts import Fact
from models.index import SearchIndex
from models.messages import PUNCTUATION_HEADER, ChatMessage, Punctuation
from models.summaries import Summary
from models.turns import Turn
from models.windows import Window
from processors.conversations.state import is_page
from streams.agents.contexts.requests import CONTEXT_REQUESTS
from streams.agents.ingest.body_pages import PAGE
from streams.agents.ingest.conversations import FACTS as MARKERS
from streams.agents.ingest.conversations import STATE as CONVERSATION
from streams.agents.ingest.conversations import WINDOWS, Conversations
from streams.agents.ingest.summary_ledger import LEDGER, is_ledger
from streams.agents.memory.facts import FACTS, Facts
from streams.agents.recall.turn_log import TurnLog
from streams.agents.recall.turns import TURNS, Turns
from streams.agents.vectors.requests import EMBEDDINGS, REQUESTS
from streams.clients import erasures
from streams.clients.commands import erasing
from streams.clients.erasures import Erasing
from streams.clients.records import Record
from streams.clients.topics import COMMANDS, MESSAGES, SUMMARIES
from streams.config.settings import Settings
from streams.llm.tokenizer import cl100k_counter
from streams.runtime.testing import PARTITION, START, StageHarness
from streams.stores.conversation_log import ConversationLog

CANARY = "quokka"
SETTINGS = Settings(window_size=3, window_overlap=1, token_threshold=10_000)


def message(n: int, user: str = "ada") -> ChatMessage:
    return samples.message(n, f"{CANARY} of {user} number {n}", user_id=user)


def erase(harness: StageHarness, user: str = "", tenant: str = "default", conversation: str = "c") -> Record:
    said = Punctuation(punctuation="erase", conversation_id=conversation, user_id=user, tenant_id=tenant)
    return harness.record(said, headers=[(PUNCTUATION_HEADER, b"erase")])


def ingest() -> StageHarness:
    return StageHarness(Conversations(SETTINGS, cl100k_counter()).stage())


def recall() -> StageHarness:
    return StageHarness(Turns(SETTINGS).stage())


def markers(harness: StageHarness, topic: str) -> list[Erasing]:
    found = []
    for output in harness.outputs:
        if output.topic == topic and output.value is None:
            record = Record(None, output.key, headers=output.headers)
            found.append(erasures.read(record))
    return [each for each in found if each is not None]


def said_in_state(harness: StageHarness) -> set[str]:
    """Whose words the state of ingest holds."""
    states = harness.stored(CONVERSATION, lambda key: not is_page(key)).values()
    kept = [each for state in states for each in state.kept]
    pages = harness.stored(PAGE, lambda key: is_page(key) and not is_ledger(key))
    kept += [each for page in pages.values() for each in page]
    return {
        user for user in ("ada", "bob") if any(f"{CANARY} of {user}".encode() in each.body for each in kept)
    }


def later(harness: StageHarness, seconds: int = 1) -> None:
    harness.arrived += timedelta(seconds=seconds)


class TestCommand:
    def test_it_takes_its_place_among_the_messages(self) -> None:
        harness = ingest()
        harness.feed(harness.record(erasing("c", user_id="ada"), COMMANDS))
        (placed,) = harness.outputs
        assert (placed.topic, placed.key, dict(placed.headers)[PUNCTUATION_HEADER]) == (
            MESSAGES,
            b"c",
            b"erase",
        )
        said = msgspec.json.decode(placed.value or b"", type=Punctuation)
        assert (said.punctuation, said.conversation_id, said.user_id) == ("erase", "c", "ada")


class TestSummaries:
    """They are erased by their keys, also those that came of a conversation that is forgotten by now."""

    @staticmethod
    def summary(number: int, seconds: int = 0, conversation: str = "c") -> Summary:
        at = START + timedelta(seconds=seconds)
        return samples.summary(number, f"{CANARY} {number}", at=at, conversation_id=conversation)

    @staticmethod
    def tombstoned(harness: StageHarness) -> set[bytes]:
        gone = [each for each in harness.outputs if each.topic == SUMMARIES and each.value is None]
        assert all(each.route == b"c" for each in gone)
        return {each.key for each in gone if each.key is not None}

    @pytest.mark.parametrize("user", ["", "ada"])
    def test_all_so_far_go_and_what_comes_later_stays(self, user: str) -> None:
        harness = ingest()
        harness.feed(harness.record(message(0)))
        said = [self.summary(n) for n in range(40)]
        for each in said:
            harness.feed(harness.record(each, SUMMARIES))
        harness.feed(harness.record(self.summary(1, conversation="other"), SUMMARIES))
        later(harness, 60)
        harness.feed(erase(harness, user))
        assert self.tombstoned(harness) == {each.summary_id.encode() for each in said}
        harness.outputs.clear()
        later(harness, 60)
        harness.feed(harness.record(self.summary(90, seconds=90), SUMMARIES))
        assert self.tombstoned(harness) == set()
        harness.feed(harness.record(self.summary(91), SUMMARIES))
        assert self.tombstoned(harness) == {self.summary(91).summary_id.encode()}, "it was on its way"

    def test_only_its_own_tenant_forgets_a_conversation(self) -> None:
        harness = ingest()
        harness.feed(harness.record(self.summary(0), SUMMARIES))
        later(harness, 60)
        harness.feed(erase(harness, tenant="another"))
        assert self.tombstoned(harness) == set()
        harness = ingest()
        harness.feed(harness.record(self.summary(0), SUMMARIES))
        later(harness, 60)
        harness.feed(erase(harness))
        assert self.tombstoned(harness) == {self.summary(0).summary_id.encode()}
        assert not harness.stored(LEDGER, is_ledger)


class TestIngest:
    def test_nothing_of_the_open_window_is_left_or_comes_out(self) -> None:
        harness = ingest()
        harness.feed(*[harness.record(message(n)) for n in range(5)])
        cut = len(harness.values(WINDOWS, Window))
        later(harness)
        harness.feed(erase(harness))
        assert not said_in_state(harness)
        harness.wait(timedelta(hours=1))
        assert len(harness.values(WINDOWS, Window)) == cut

    def test_context_makers_learn_what_was_asked_before(self) -> None:
        harness = recall()
        first = [harness.record(message(n)) for n in range(3)]
        later(harness)
        end = erase(harness)
        later(harness)
        harness.feed(*first, end, harness.record(message(3)))
        gone, asked = [each for each in harness.outputs if each.topic == CONTEXT_REQUESTS]
        assert gone.value is None
        assert (gone.key, gone.partition) == (asked.key, None), "else it is moved to another partition"
        assert dict(gone.headers)[erasures.CONVERSATION_HEADER] == b"c"
        request = msgspec.json.decode(asked.value or b"", type=ContextRequest)
        assert [turn.message_id for turn in request.turns] == ["m3"]

    def test_every_partition_of_the_facts_is_told_up_to_when(self) -> None:
        harness = ingest()
        harness.feed(harness.record(message(0)))
        later(harness, 10)
        harness.feed(erase(harness))
        told = markers(harness, MARKERS)
        assert set(told) == {Erasing("default", "c", "", START + timedelta(seconds=10))}
        assert {output.partition for output in harness.last.outputs if output.topic == MARKERS} == set(range(8))

    def test_what_is_said_later_begins_the_conversation_anew(self) -> None:
        harness, other = ingest(), recall()
        for each in (harness, other):
            each.feed(*[each.record(message(n)) for n in range(5)])
            later(each)
            each.feed(erase(each))
            later(each)
            each.feed(*[each.record(message(n)) for n in range(5, 8)])
        *_, window = harness.values(WINDOWS, Window)
        assert (window.from_index, window.to_index, window.message_ids) == (0, 2, ("m5", "m6", "m7"))
        values = [output.value for output in other.outputs if output.topic == TURNS and output.value]
        turns = [msgspec.json.decode(value, type=Turn) for value in values]
        assert [turn.index for turn in turns] == [0, 1, 2, 3, 4, 0, 1, 2]

    def test_one_person_s_words_go_and_others_keep_places(self) -> None:
        harness = ingest()
        people = ["ada", "bob", "ada", "bob", "bob"]
        harness.feed(*[harness.record(message(n, user)) for n, user in enumerate(people)])
        later(harness)
        harness.feed(erase(harness, "ada"))
        assert said_in_state(harness) == {"bob"}
        later(harness)
        harness.feed(*[harness.record(message(n, "bob")) for n in (5, 6)])
        *_, window = harness.values(WINDOWS, Window)
        assert (window.from_index, window.to_index) == (4, 6)

    def test_another_tenant_erases_nothing(self) -> None:
        harness = ingest()
        harness.feed(harness.record(message(0)))
        before = harness.stored(CONVERSATION)
        harness.feed(erase(harness, tenant="acme"))
        assert harness.stored(CONVERSATION) == before
        assert [letter.reason for letter in harness.dead_letters] == ["tenant_mismatch"]
        assert markers(harness, MARKERS) == []

    @pytest.mark.parametrize("user", ["", "ada"])
    def test_a_table_with_an_erasure_refuses_earlier_messages(self, user: str) -> None:
        """As after a reset: all messages are read again."""
        harness, other = ingest(), recall()
        for each in (harness, other):
            records = [each.record(message(n)) for n in range(4)]
            later(each)
            each.feed(erase(each, user))
            each.outputs.clear()
            each.feed(*[record._replace(offset=100 + n) for n, record in enumerate(records)])
            assert not any(CANARY.encode() in (output.value or b"") for output in each.outputs)
            assert not said_in_state(harness)


class TestTurns:
    def test_the_conversation_is_told_in_its_partition(self) -> None:
        harness = recall()
        harness.feed(harness.record(message(0)))
        later(harness, 7)
        harness.feed(erase(harness, "ada"))
        (told,) = markers(harness, TURNS)
        assert told == Erasing("default", "c", "ada", START + timedelta(seconds=7))
        assert harness.last.outputs[0].partition == PARTITION


class View:
    """An index of turns, and their log: what is written is there."""

    def __init__(self) -> None:
        self.turns: dict[str, Turn] = {}

    async def upsert(self, turns: Sequence[Turn]) -> None:
        self.turns |= {turn.turn_id: turn for turn in turns}

    async def erase(self, versions: Mapping[str, int]) -> None:
        self.turns = {name: turn for name, turn in self.turns.items() if name not in versions}

    async def get(self, ids: Sequence[str]) -> list[Turn]:
        return [self.turns[each] for each in ids if each in self.turns]

    async def page(self, where: object, limit: int, start: str | None) -> tuple[list[Turn], None]:
        return [*self.turns.values()], None

    async def nothing(self, *given: object) -> None:
        """What only the other of both has to do."""

    async def write(self, turns: object) -> dict[str, int]:
        """Nothing was erased before."""
        return {}

    set_mark = erase_turns = erase_conversation = marks = nothing


class TestTurnLog:
    """Erasing a conversation of one turn: its record, and the turn's own, which that becomes."""

    @pytest.mark.parametrize("crashed", [False, True])
    async def test_a_turn_s_vectors_are_forgotten_after_its_records(self, crashed: bool) -> None:
        """Also when a crash came after the index had let it go, and before its vectors were forgotten."""
        settings, view = Settings(recurring_fact_similarity=0.75), View()
        stage = TurnLog(settings, cast(ConversationLog, view), cast(SearchIndex[Turn, Any], view)).stage()
        said, harness = recall(), StageHarness(stage)
        said.feed(said.record(message(0)))
        (turn,) = said.values(TURNS, Turn)
        await harness.call(harness.record(turn))
        erasing = Erasing("default", "c", "", START + timedelta(seconds=9))
        await harness.call(harness.record(None, key=b"x", headers=[*erasing.headers()]))
        (own,) = harness.outputs
        assert (own.topic, own.key, own.value) == (TURNS, turn.turn_id.encode(), None)
        if crashed:
            await view.erase({turn.turn_id: 1})
        await harness.call(harness.record(None, key=own.key, headers=[*own.headers]))
        assert view.turns == {}
        gone = [each.key for each in harness.outputs if each.topic == EMBEDDINGS]
        assert gone == [each.key for each in harness.outputs if each.topic == REQUESTS]
        assert gone.count(f"turn/{turn.turn_id}".encode()) == 1 and len(gone) == len({*gone})
        asked = {each.key for each in said.outputs if each.topic == REQUESTS}
        assert asked <= {*gone}
        assert {each.route for each in harness.outputs if each.topic == REQUESTS} == {b"ada"}


class TestFacts:
    def harness(self) -> StageHarness:
        return StageHarness(Facts(Settings()).stage())

    def tell(self, harness: StageHarness, erasing: Erasing) -> None:
        key = erasing.key(PARTITION).encode()
        harness.feed(harness.record(None, FACTS, key=key, headers=[*erasing.headers()]))

    def living(self, harness: StageHarness) -> set[str]:
        latest = {output.key: output.value for output in harness.outputs if output.topic == FACTS}
        return {msgspec.json.decode(value, type=Fact).statement for value in latest.values() if value}

    @pytest.mark.parametrize(
        ("erasing", "left"),
        [
            (Erasing("default", "c", "", START + timedelta(seconds=50)), {"of d", "of bob"}),
            (Erasing("default", "c", "ada", START + timedelta(seconds=50)), {"of d", "of bob"}),
            (Erasing("default", "", "ada", START + timedelta(seconds=50)), {"of bob"}),
            (Erasing("default", "", "bob", START + timedelta(seconds=50)), {"of c", "of d"}),
            (Erasing("acme", "c", "", START + timedelta(seconds=50)), {"of c", "of d", "of bob"}),
            (Erasing("default", "c", "", START - timedelta(seconds=50)), {"of c", "of d", "of bob"}),
        ],
    )
    def test_dependent_facts_go_with_their_vectors(self, erasing: Erasing, left: set[str]) -> None:
        harness = self.harness()
        known = [
            harness.record(candidate("of c", 1)),
            harness.record(candidate("of d", 2, conversation="d")),
            harness.record(candidate("of bob", 3, conversation="d", user="bob")),
        ]
        harness.feed(*known)
        self.tell(harness, erasing)
        assert self.living(harness) == left
        gone = {
            topic: {each.key for each in harness.outputs if each.topic == topic and each.value is None}
            for topic in (REQUESTS, EMBEDDINGS)
        }
        assert len(gone[REQUESTS]) == 3 - len(left)
        assert gone[EMBEDDINGS] == gone[REQUESTS], "requests before it may wait for another day"
        # in other words than before, and from what was still on its way
        harness.feed(harness.record(candidate("of c, in other words", 4)))
        expected = left if "of c" not in left else {*left, "of c, in other words"}
        assert self.living(harness) == expected
        self.tell(harness, erasing)
        assert self.living(harness) == expected

    def test_what_is_said_later_is_learned_anew(self) -> None:
        harness = self.harness()
        harness.feed(harness.record(candidate("of c", 1)))
        self.tell(harness, Erasing("default", "c", "", START + timedelta(seconds=50)))
        harness.feed(harness.record(candidate("of c", 60)))
        assert self.living(harness) == {"of c"}
