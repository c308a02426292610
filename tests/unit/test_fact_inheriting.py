"""What a whole has of the part that it completes."""

from __future__ import annotations

from told_facts import Memory, arrival, claimed, minute

from models.facts import FactChange, FactStatus
from models.statements import Polarity

ACTIVE = FactStatus.ACTIVE


def fact_id(attribute: str, value: str) -> str:
    return claimed(attribute, value).fact_id


class TestWhatAWholeInherits:
    def merged(self, parts: int, wholes: int, confidence: float = 0.8) -> Memory:
        """Who says the part so often, then the whole, whose last says that it completes it."""
        memory = Memory()
        for at in range(1, parts + 1):
            memory.says("like", "tea", at)
        for at in range(parts + 1, parts + wholes + 1):
            refines = (fact_id("like", "tea"),) if at == parts + wholes else ()
            memory.says("like", "green tea", at, confidence=confidence, refines=refines)
        return memory

    def test_the_times_and_the_surer_of_both(self) -> None:
        memory = self.merged(3, 2, confidence=0.5)
        part, whole = memory.known("like", "tea"), memory.known("like", "green tea")
        assert whole.evidence_count == 5
        assert [each.offsets[0] for each in whole.provenance] == [1, 2, 3, 4, 5]
        assert whole.confidence == part.confidence > 0.8
        assert (whole.learned_at, whole.last_evidence_at) == (arrival(1), arrival(5))
        assert (whole.status, whole.valid_from) == (ACTIVE, minute(1))
        assert (part.status, part.archived_at) == (FactStatus.MERGED_INTO, arrival(5))
        change = part.changes[-1]
        assert (change.change, change.confidence_before) == (FactChange.MERGED, part.confidence)

    def test_what_had_another_value_before_is_part_of_the_whole_alone(self) -> None:
        memory = Memory()
        memory.says("home", "Berlin", 1)
        memory.says("home", "Rome", 2)
        memory.says("home", "Berlin Mitte", 5, refines=(fact_id("home", "Berlin"),))
        part = memory.known("home", "Berlin")
        assert (part.status, part.superseded_by) == (FactStatus.MERGED_INTO, None)
        whole = memory.known("home", "Berlin Mitte")
        assert [mark.fact_id for mark in memory.of("home", "Rome").marks if mark.fact_id == part.fact_id] == []
        assert (whole.valid_from, whole.past[0].valid_from) == (minute(5), minute(1))
        memory.says("home", "Berlin Mitte", 7, polarity=Polarity.NEGATED)
        assert memory.known("home", "Berlin Mitte").status is FactStatus.CONTRADICTED
