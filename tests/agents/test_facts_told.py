"""From what a person writes to what is known: the built-in extractor and the facts stage together."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from deploy.local.demo_input import input_files, read_messages
from models.facts import Fact, FactCandidate, FactStatus, Period
from models.messages import Role
from models.statements import Polarity, Precision
from models.windows import Window, WindowMessage, WindowReason, WindowSource
from processors.extraction.reading import read_window
from processors.facts.candidates import objection, to_candidate
from streams.agents.memory.facts import FACTS, Facts
from streams.runtime.testing import StageHarness
from streams.search.pools import held
from streams.settings import Settings
from streams.vectors.requests import REQUESTS

BEGAN = datetime(2026, 3, 2, 9, tzinfo=UTC)


class Memory:
    """Everything that a person said, one window each, a day apart; ``days``: when, if not then."""

    def __init__(self) -> None:
        self.stage = StageHarness(Facts(Settings()).stage())
        self.windows = 0

    def hears(self, *turns: str, days: float | None = None, conversation: str = "c") -> list[FactCandidate]:
        """A turn that begins with ``A:`` is the assistant's."""
        window = self._window(turns, self.windows if days is None else days, conversation)
        self.windows += 1
        said = read_window(window)
        assert [objection(each, window) for each in said] == [None] * len(said)
        candidates = [to_candidate(each, window, "built-in") for each in said]
        if candidates:
            self.stage.feed(*[self.stage.record(each) for each in candidates])
        return candidates

    def _window(self, turns: tuple[str, ...], days: float, conversation: str) -> Window:
        number = self.windows
        messages = tuple(
            WindowMessage(
                message_id=f"m{number}-{index}",
                user_id="ada",
                role=Role.ASSISTANT if turn.startswith("A:") else Role.USER,
                content=turn.removeprefix("A:").strip(),
                sent_at=BEGAN + timedelta(days=days, minutes=index),
                arrived_at=BEGAN + timedelta(days=500, hours=number, minutes=index),
                index=index,
                offset=number * 100 + index,
            )
            for index, turn in enumerate(turns)
        )
        return Window(
            window_id=f"w{number}",
            conversation_id=conversation,
            user_id="ada",
            reason=WindowReason.CLOSED,
            message_ids=tuple(message.message_id for message in messages),
            messages=messages,
            from_index=0,
            to_index=len(messages) - 1,
            overlap=0,
            source=WindowSource(
                topic="chat.messages.v1",
                partition=0,
                first_offset=messages[0].offset,
                last_offset=messages[-1].offset,
            ),
        )

    def facts(self) -> list[Fact]:
        return [*{fact.fact_id: fact for fact in self.stage.values(FACTS, Fact)}.values()]

    def holding(self, attribute: str) -> set[str]:
        return {
            ("not " if fact.polarity is Polarity.NEGATED else "") + fact.value.lower()
            for fact in self.facts()
            if fact.status is FactStatus.ACTIVE and fact.attribute == attribute
        }

    def one(self, value: str) -> Fact:
        (found,) = (fact for fact in self.facts() if fact.value == value)
        return found


@pytest.mark.parametrize(
    ("attribute", "wordings"),
    [
        ("home", ("I live in Munich.", "We moved to Munich.", "I'm based in Munich these days.")),
        (
            "allergy",
            ("I'm allergic to walnuts.", "I have a walnut allergy.", "I've got a walnut allergy."),
        ),
        ("like", ("I love hiking.", "I'm a big fan of hiking.", "I really like to hike.")),
        ("diet", ("I'm vegan.", "I went vegan.", "I am a strict vegan.")),
        ("pet", ("I have a parrot.", "We got a parrot.", "I've got a parrot.")),
        (
            "favourite/colour",
            ("My favourite colour is teal.", "Teal is my favourite colour.", "Teal's my fave colour."),
        ),
    ],
)
def test_three_wordings_are_one_fact_with_three_pieces_of_evidence(
    attribute: str, wordings: tuple[str, ...]
) -> None:
    memory = Memory()
    for wording in wordings:
        memory.hears(wording)
    (fact,) = (each for each in memory.facts() if each.attribute == attribute)
    assert (fact.evidence_count, len(fact.provenance), fact.status) == (3, 3, FactStatus.ACTIVE)


def test_three_wordings_in_one_window_are_three_pieces_of_evidence_too() -> None:
    memory = Memory()
    said = memory.hears(
        "I'm vegetarian.", "A:Noted.", "I am a vegetarian.", "A:Yes.", "I've been vegetarian for years."
    )
    (fact,) = memory.facts()
    assert (fact.evidence_count, fact.valid_from) == (3, BEGAN)
    assert [each.message_ids for each in fact.provenance] == [("m0-0",), ("m0-2",), ("m0-4",)]
    memory.stage.feed(*[memory.stage.record(each) for each in said])
    assert memory.facts() == [fact]


def test_there_and_back_in_one_window_are_three_periods() -> None:
    memory = Memory()
    memory.hears("I live in Berlin.", "A:Nice.", "I moved to Munich.", "A:Oh!", "I moved back to Berlin.")
    berlin, munich = memory.one("Berlin"), memory.one("Munich")
    first, second, third = (BEGAN + timedelta(minutes=n) for n in (0, 2, 4))
    assert berlin.past == (Period(first, second),)
    assert (munich.valid_from, munich.valid_to, munich.superseded_by) == (second, third, berlin.fact_id)
    assert (berlin.valid_from, berlin.valid_to, berlin.status) == (third, None, FactStatus.ACTIVE)


def test_what_is_asked_for_and_then_preferred_is_told_as_preferred() -> None:
    memory = Memory()
    memory.hears("Find me a Thai restaurant.", "A:Here.", "I prefer Thai food.")
    (fact,) = memory.facts()
    assert (fact.statement, fact.tentative) == ("Prefers Thai food", False)


@pytest.mark.parametrize(
    ("turns", "gone", "holds"),
    [
        (("I live in Berlin.", "Sorry, Munich."), "Berlin", "munich"),
        (("I live in Berlin. No wait, Munich."), "Berlin", "munich"),
        (("I live in Berlin, sorry, Munich."), "", "munich"),
        (("A:Where do you live?", "Berlin", "A:A fine city!", "Actually no, Munich."), "Berlin", "munich"),
    ],
)
def test_what_was_misspoken_never_was_so(turns: tuple[str, ...] | str, gone: str, holds: str) -> None:
    memory = Memory()
    memory.hears(*((turns,) if isinstance(turns, str) else turns))
    assert memory.holding("home") == {holds}
    assert all(fact.status is FactStatus.DEPRECATED for fact in memory.facts() if fact.value == gone)


def test_a_correction_in_the_next_window_takes_back_what_was_known() -> None:
    memory = Memory()
    memory.hears("I live in Berlin.")
    memory.hears("I live in Berlin.", "A:Nice!", "Sorry, Munich.")
    assert memory.one("Berlin").status is FactStatus.DEPRECATED
    assert memory.holding("home") == {"munich"}


@pytest.mark.parametrize(
    ("before", "after", "attribute"),
    [
        ("I live in Berlin.", "I no longer live in Berlin.", "home"),
        ("I love espresso.", "I don't like espresso anymore.", "like"),
        ("I work at Initech.", "I quit my job.", "employer"),
        ("I have a dog.", "I used to have a dog.", "pet"),
        ("I prefer jazz music.", "I'm not into jazz music any more.", "favourite/music"),
        ("I'm vegan.", "I'm not vegan any more.", "diet"),
    ],
)
def test_what_is_no_longer_so_has_an_end(before: str, after: str, attribute: str) -> None:
    memory = Memory()
    memory.hears(before)
    memory.hears(after)
    assert memory.holding(attribute) <= {"not "}, "nothing, or that nothing fills it"
    assert {fact.status for fact in memory.facts() if fact.attribute == attribute and fact.value} == {
        FactStatus.ENDED
    }


def test_a_move_has_two_clocks_whichever_window_comes_first() -> None:
    for days in ((10, 20), (20, 10)):
        memory = Memory()
        told = {10: "I live in Berlin.", 20: "I moved to Munich."}
        for day in days:
            memory.hears(told[day], days=day, conversation=f"c{day}")
        berlin, munich = memory.one("Berlin"), memory.one("Munich")
        assert (berlin.status, munich.status) == (FactStatus.SUPERSEDED, FactStatus.ACTIVE)
        assert berlin.valid_from == BEGAN + timedelta(days=10)
        assert berlin.valid_to == munich.valid_from == BEGAN + timedelta(days=20)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_move_that_is_told_later_was_when_it_is_said_to_have_been(order: tuple[int, int]) -> None:
    memory, told = Memory(), [("I live in Berlin.", -91), ("I moved to Munich in January.", 72)]
    for number in order:
        said, days = told[number]
        memory.hears(said, days=days, conversation=f"c{number}")
    berlin, munich = memory.one("Berlin"), memory.one("Munich")
    january, march = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 3, 15, tzinfo=UTC)
    assert (berlin.valid_from, berlin.valid_to) == (BEGAN - timedelta(days=91), january)
    assert (munich.valid_from, munich.status) == (january, FactStatus.ACTIVE)
    assert [held(each, (march, march)) for each in (berlin, munich)] == [False, True]


def test_what_has_lasted_since_a_year_began_then_and_is_one_fact_with_what_says_no_year() -> None:
    memory = Memory()
    memory.hears("I live in Berlin.")
    memory.hears("I have lived in Berlin since 2019.")
    (berlin,) = memory.facts()
    assert (berlin.valid_from, berlin.evidence_count) == (datetime(2019, 1, 1, tzinfo=UTC), 2)
    assert [each.since_precision for each in berlin.provenance] == [None, Precision.YEAR]


@pytest.mark.parametrize(
    ("before", "after", "attribute", "holds"),
    [
        ("I live in Berlin.", "I moved from Berlin to Munich.", "home", {"munich"}),
        ("I live in Berlin.", "We moved from Berlin to Munich in April.", "home", {"munich"}),
        ("I live in Berlin.", "We've relocated from Berlin, Germany to Munich.", "home", {"munich"}),
        ("I live in Berlin.", "I used to live in Berlin but now I live in Munich.", "home", {"munich"}),
        ("I live in Berlin.", "I moved away from Berlin last week.", "home", set()),
        ("I work at Acme.", "I used to work at Acme, now I work at Globex.", "employer", {"globex"}),
        ("I hate olives.", "I hated olives. Now I love them.", "like", {"olives"}),
        ("I hate olives.", "I used to hate olives but I love them now.", "like", {"olives"}),
        ("I love running.", "I loved running. But now I can't stand it.", "like", {"not running"}),
    ],
)
def test_a_change_is_told_in_many_words(before: str, after: str, attribute: str, holds: set[str]) -> None:
    memory = Memory()
    memory.hears(before)
    memory.hears(after)
    assert memory.holding(attribute) == holds


def test_a_like_that_turned_contradicts_what_was_said() -> None:
    memory = Memory()
    memory.hears("I love mushrooms.")
    memory.hears("I hate mushrooms.")
    assert memory.holding("like") == {"not mushrooms"}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("I usually tune into Radio Nord for my drives.", "I'm not into Radio Nord anymore."),
        ("I always go to Greenfield Stores.", "Avoid Greenfield Stores when I shop for food."),
    ],
)
def test_what_is_done_always_ends_by_what_it_names(before: str, after: str) -> None:
    memory = Memory()
    memory.hears(before)
    (habit,) = (each for each in memory.facts() if each.attribute == "habit")
    memory.hears(after)
    now = {each.fact_id: each for each in memory.facts()}
    assert now[habit.fact_id].status in (FactStatus.ENDED, FactStatus.CONTRADICTED)
    assert [each.fact_id for each in now.values() if each.status is FactStatus.ACTIVE] != [habit.fact_id]


def test_what_a_message_turns_down_comes_before_what_it_puts_there() -> None:
    said = Memory().hears("Take me to a covered parking lot. I won't be needing street parking.")
    assert [each.polarity for each in said] == [Polarity.NEGATED, Polarity.AFFIRMED]


def test_a_search_ends_no_favourite() -> None:
    memory = Memory()
    memory.hears("I prefer Italian food.")
    memory.hears("Find me a Thai restaurant.")
    assert memory.holding("favourite/cuisine") == {"italian", "thai"}
    assert [fact.tentative for fact in memory.facts()] == [False, True]
    memory.hears("I prefer Thai food now.")
    assert memory.holding("favourite/cuisine") == {"thai"}


@pytest.mark.parametrize("days", [(1, 2), (2, 1)])
def test_what_was_first_known_by_its_end_is_told_as_what_it_is(days: tuple[int, int]) -> None:
    memory = Memory()
    memory.hears("I don't like espresso anymore.", days=days[0])
    memory.hears("I love espresso.", days=days[1], conversation="another")
    fact = memory.one("espresso")
    assert fact.statement == "Likes espresso"
    assert fact.status is (FactStatus.ACTIVE if days == (1, 2) else FactStatus.ENDED)
    asked = [output.value for output in memory.stage.outputs if output.topic == REQUESTS]
    assert [b"No longer" in (value or b"") for value in asked] == [True, False], "a vector for each text"


def test_the_examples_that_the_demo_sends_tell_of_a_move_and_of_a_like_that_turned() -> None:
    said: dict[str, list[str]] = {}
    for each in read_messages(input_files(""), Settings()):
        if each.message.user_id == "jonas":
            spoken = (
                f"A: {each.message.content}" if each.message.role == Role.ASSISTANT else each.message.content
            )
            said.setdefault(each.message.conversation_id, []).append(spoken)
    memory = Memory()
    for conversation, turns in said.items():
        memory.hears(*turns, conversation=conversation)
    known = {
        (fact.attribute, fact.value): fact for fact in memory.facts() if fact.polarity is Polarity.AFFIRMED
    }
    berlin, munich = known["home", "Berlin"], known["home", "Munich"]
    assert (berlin.status, berlin.superseded_by) == (FactStatus.SUPERSEDED, munich.fact_id)
    assert munich.status is FactStatus.ACTIVE
    assert known["like", "espresso"].status in (FactStatus.ENDED, FactStatus.CONTRADICTED)
