"""Which preferences are known by what they name, and which of them a candidate is about."""

from __future__ import annotations

import msgspec
import pytest
from told_facts import candidate, evidence

from models.facts import Fact, FactCandidate, FactStatus
from models.statements import Assertion, Kind, Polarity
from processors.facts.claims import claim_of
from processors.facts.evidence import learned
from processors.facts.preference_aliases import Known, Preferences, as_known, is_held, is_preference, is_shown

#: So unsure that it is asked for once.
ASKED = 0.45


def says(attribute: str, value: str, confidence: float = 0.8, **other: object) -> FactCandidate:
    return candidate(value, evidence(1), confidence, attribute, **other)


def fact(attribute: str, value: str, **other: object) -> Fact:
    said = says(attribute, value)
    known = learned(said, claim_of(said), 1, None)
    return msgspec.structs.replace(known, **other)


class Tastes:
    """What ada prefers, each known from its place on in the log."""

    def __init__(self, *facts: Fact) -> None:
        self.facts = {each.fact_id: each for each in facts}
        self.known = Preferences()
        for place, each in enumerate(facts):
            self.known = self.known.with_known(Known(each.fact_id, claim_of(each).line_id, place))

    def read(self, said: FactCandidate, position: int = 99) -> FactCandidate:
        return as_known(said, self.known, position, lambda known: self.facts.get(known.fact_id))

    def is_named_by(self, said: FactCandidate) -> bool:
        return self.read(said) != said


@pytest.mark.parametrize(
    ("attribute", "subject", "prefers", "shows"),
    [
        ("like", "user", True, True),
        ("habit", "user", False, True),
        ("home", "user", False, False),
        ("like", "sister", False, False),
    ],
)
def test_what_somebody_prefers_and_shows(attribute: str, subject: str, prefers: bool, shows: bool) -> None:
    said = says("like", "tea")
    said = msgspec.structs.replace(said, attribute=attribute, subject=subject)
    assert (is_preference(said), is_shown(said)) == (prefers, shows)
    assert is_held(said) is shows


class TestWhatACandidateIsAbout:
    def test_it_stands_in_the_slot_and_the_words_of_what_it_names(self) -> None:
        jogging = fact("habit", "jogging")
        said = says("like", "some jogging", confidence=ASKED, refines=("f",), subject="The user")
        read = Tastes(jogging).read(said)
        assert (read.attribute, read.value, read.subject, read.kind) == ("habit", "jogging", "user", Kind.STATE)
        assert (read.refines, read.statement) == ((), said.statement)

    def test_the_latest_that_is_not_merged_is_named(self) -> None:
        first, last = fact("like", "rap"), fact("favourite/music", "rap")
        asked = says("favourite/genre", "rap", confidence=ASKED)
        assert Tastes(first, last).read(asked).attribute == "favourite/music"
        merged = msgspec.structs.replace(last, status=FactStatus.MERGED_INTO)
        assert Tastes(first, merged).read(asked).attribute == "like"
        assert not Tastes(merged).is_named_by(asked)

    @pytest.mark.parametrize(
        "said",
        [
            says("like", "Harbour Radio"),
            says("like", "Harbour Radio", confidence=ASKED, assertion=Assertion.CORRECTED),
            says("like", "Harbour Radio", assertion=Assertion.ENDED, subject="sister"),
            says("like", "", assertion=Assertion.ENDED),
        ],
    )
    def test_what_states_corrects_or_ends_another_thing_stays_as_it_is(self, said: FactCandidate) -> None:
        assert not Tastes(fact("favourite/radio station", "Harbour Radio")).is_named_by(said)

    @pytest.mark.parametrize(
        "said",
        [
            says("like", "rap", confidence=ASKED),
            says("like", "rap", polarity=Polarity.NEGATED),
            says("like", "rap", assertion=Assertion.ENDED),
        ],
    )
    def test_what_its_own_slot_knows_is_meant(self, said: FactCandidate) -> None:
        assert not Tastes(fact("like", "rap"), fact("favourite/music", "rap music")).is_named_by(said)

    @pytest.mark.parametrize(
        ("attribute", "known", "asked"),
        [
            ("like", "rap", "rap music"),
            ("like", "Wi-Fi", "wifi"),
            ("like", "joe’s", "joe"),
            ("like", "7 Eleven downtown", "7 Eleven"),
        ],
    )
    def test_it_is_named_in_other_words(self, attribute: str, known: str, asked: str) -> None:
        assert Tastes(fact(attribute, known)).is_named_by(says("favourite/thing", asked, confidence=ASKED))

    @pytest.mark.parametrize(
        ("known", "asked"),
        [("correspondence chess", "playing chess"), ("music", "rock"), ("green tea", "black tea")],
    )
    def test_what_shares_a_common_word_is_another(self, known: str, asked: str) -> None:
        assert not Tastes(fact("like", known)).is_named_by(says("favourite/thing", asked, confidence=ASKED))

    def test_who_turns_down_all_of_a_kind_turns_down_a_favourite_of_it(self) -> None:
        rock = says("favourite/music", "rock", polarity=Polarity.NEGATED)
        assert Tastes(fact("like", "classic rock")).is_named_by(rock)
        said = msgspec.structs.replace(rock, attribute="like")
        assert Tastes(fact("favourite/music", "classic rock")).is_named_by(said)
        classic = says("favourite/music", "classic rock", polarity=Polarity.NEGATED)
        assert not Tastes(fact("like", "rock")).is_named_by(classic)
        assert not Tastes(fact("like", "classic rock")).is_named_by(
            says("like", "rock", polarity=Polarity.NEGATED)
        )
