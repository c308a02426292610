"""A line of facts that exclude one another: what a change is called, what is let go, and what stays known."""

from __future__ import annotations

from datetime import timedelta

import msgspec
import pytest
from told_facts import arrival, candidate, claimed, evidence

from models.facts import Fact, FactStatus, Provenance
from processors.facts.claims import claim_of
from processors.facts.evidence import ceilings, learned, reinforced
from processors.facts.lines import (
    ENTRIES_LIMIT,
    Line,
    bounded,
    cause_of,
    settled,
    with_fact,
)
from processors.facts.marks import MARKS_LIMIT, Said, mark_of, marked, moment_of
from processors.facts.timeline import verdicts

BERLIN = claimed("home", "Berlin")
EMPTY = Line(True)


def heard(line: Line, value: str, at: int, said: Said = Said.HOLDS, by: str = "") -> Line:
    """The line with what is said at this minute, before anything follows from it."""
    each = candidate(value, evidence(at))
    own = claim_of(each)
    fact = line.fact(own.fact_id)
    if not by:
        line = with_fact(
            line,
            learned(each, own, line.next_version(own.fact_id, None), None)
            if fact is None
            else reinforced(fact, each, own),
        )
    marks = marked(line.marks, mark_of(own, moment_of(each.provenance), said, by))
    return msgspec.structs.replace(line, marks=marks)


def heard_from(evidence_: Provenance, line: Line, value: str) -> Line:
    """The line after what this evidence says."""
    each = candidate(value, evidence_)
    own = claim_of(each)
    told_of = with_fact(line, learned(each, own, line.next_version(own.fact_id, None), None))
    marks = marked(line.marks, mark_of(own, moment_of(evidence_), Said.HOLDS))
    after, _ = settled(line, msgspec.structs.replace(told_of, marks=marks), cause_of(own.fact_id, evidence_))
    return after


def says(line: Line, value: str, at: int, said: Said = Said.HOLDS, by: str = "") -> tuple[Line, list[Fact]]:
    """What follows of it."""
    return settled(
        line, heard(line, value, at, said, by), cause_of(by or claimed("home", value).fact_id, evidence(at))
    )


def lived(*values: str) -> Line:
    """Home, minute by minute."""
    line = EMPTY
    for at, value in enumerate(values, 1):
        line, _ = says(line, value, at)
    return line


def of(line: Line, fact_id: str) -> Fact:
    fact = line.fact(fact_id)
    assert fact is not None
    return fact


class TestWhatFollows:
    @pytest.mark.parametrize(
        ("ahead", "corrected"),
        [(timedelta(hours=20), "Munich"), (timedelta(minutes=6), "Munich"), (timedelta(minutes=4), "Berlin")],
    )
    def test_a_clock_that_runs_ahead_counts_as_its_arrival(self, ahead: timedelta, corrected: str) -> None:
        wrong = evidence(1, sent_at=arrival(1) + ahead)
        line = heard_from(wrong, EMPTY, "Berlin")
        line = heard_from(evidence(2, sent_at=arrival(2)), line, "Munich")
        [active] = [each.value for each in line.facts if each.status is FactStatus.ACTIVE]
        assert active == corrected


class TestWhatIsTooMuch:
    def test_the_oldest_beyond_the_limit_goes_and_is_known_by_its_place(self) -> None:
        line = lived(*(f"Place {number}" for number in range(MARKS_LIMIT)))
        assert bounded(line, verdicts(line.marks, True)) is line, "all of it fits"
        first, second = (of(line, claimed("home", f"Place {number}").fact_id) for number in range(2))
        line = with_fact(line, msgspec.structs.replace(first, version=40))
        line = msgspec.structs.replace(line, floors=ceilings([evidence(2, partition=1)]), forgotten_version=5)
        line, _ = says(line, "Another", 90)
        assert line.fact(first.fact_id) is None and line.fact(second.fact_id) is not None
        assert len(line.marks) == len(line.facts) == MARKS_LIMIT
        assert line.forgotten_version == 40
        assert line.floors == ceilings([evidence(1), evidence(2, partition=1)])
        line, _ = says(line, "Yet another", 91)
        assert line.forgotten_version == 40, "the highest of all"
        assert line.floors == ceilings([evidence(2), evidence(2, partition=1)])

    def grown(self, entries: int, *values: str) -> Line:
        """A line whose first fact names as much as is left of ``entries``."""
        line = lived(*values)
        facts = {each.value: each for each in line.facts}
        rest = sum(len(each.changes) + len(each.provenance) for each in line.facts[:-1])
        first = facts[values[0]]
        names = tuple(evidence(100 + each) for each in range(entries - rest - len(first.changes)))
        return with_fact(line, msgspec.structs.replace(first, provenance=names))

    def test_it_lets_go_of_no_more_than_is_too_much_and_of_nothing_that_holds(self) -> None:
        line = self.grown(2 * ENTRIES_LIMIT, "Berlin", "Rome", "Munich", "Berlin")
        less = bounded(line, verdicts(line.marks, True))
        assert {each.value for each in less.facts} == {"Berlin"}, "it holds, however much it is"
        assert {mark.fact_id for mark in less.marks} == {BERLIN.fact_id}
