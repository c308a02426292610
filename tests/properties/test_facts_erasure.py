"""Whatever was said, whatever is erased of it: nothing of that is left, and no replay brings it back."""

from __future__ import annotations

from datetime import datetime

import msgspec
from fact_stories import Says, candidates, says
from hypothesis import given, settings
from hypothesis import strategies as st

from models.facts import Erasure, Fact, FactCandidate, FactStatus
from models.statements import Assertion, Polarity
from processors.facts.claims import claim_of
from streams.agents.memory import tombstones
from streams.agents.memory.facts import FACTS, Facts
from streams.config.settings import Settings
from streams.runtime.testing import StageHarness

STORIES = st.lists(says(), min_size=1, max_size=24)


def marked(story: list[Says]) -> list[FactCandidate]:
    """Candidates whose words, quote and messages are their own."""
    found = []
    for number, each in enumerate(candidates(story)):
        evidence = msgspec.structs.replace(each.provenance, quote=f"<quote {number}>")
        found.append(
            msgspec.structs.replace(each, statement=f"<statement {number}>", provenance=evidence)
            if each.attribute
            else msgspec.structs.replace(each, provenance=evidence)
        )
    return found


def topic(harness: StageHarness) -> dict[str, Fact]:
    """What compaction would leave of the topic."""
    latest = {output.key: output.value for output in harness.outputs if output.topic == FACTS}
    return {
        (key or b"").decode(): msgspec.json.decode(value, type=Fact)
        for key, value in latest.items()
        if value is not None
    }


def left(harness: StageHarness) -> str:
    """Everything that is stored or published of anybody, as compaction would leave it."""
    stored = [value for _, value in harness.state.items()]
    published = [msgspec.json.encode(fact) for fact in topic(harness).values()]
    return "\n".join(each.decode(errors="replace") for each in (*stored, *published))


def erase(harness: StageHarness, fact_id: str, until: datetime) -> None:
    headers = [*tombstones.headers(Erasure(until=until))]
    harness.feed(harness.record(None, FACTS, key=fact_id.encode(), headers=headers))


@given(STORIES, st.data())
@settings(deadline=None, max_examples=200)
def test_no_replay_brings_erased_items_back(story: list[Says], data: st.DataObject) -> None:
    stream = marked(story)
    harness = StageHarness(Facts(Settings()).stage())
    for each in stream:
        harness.feed(harness.record(each))
    gone = data.draw(st.sampled_from(sorted({claim_of(each).fact_id for each in stream})))
    until = max(each.provenance.arrived_at for each in stream)
    erase(harness, gone, until)

    mine = [each for each in stream if claim_of(each).fact_id == gone]
    words = [word for each in mine for word in (each.provenance.quote, each.provenance.window_id)]
    words += [each.statement for each in mine if each.attribute]
    for read_again in range(2):
        rest = left(harness)
        assert gone not in topic(harness)
        assert [word for word in words if f'"{word}"' in rest] == [], f"read again {read_again} times"
        for each in data.draw(st.permutations(stream)):
            harness.feed(harness.record(each))


def test_what_was_corrected_names_nothing_that_is_erased_later() -> None:
    told = (("Lyon", Polarity.AFFIRMED), ("Lyon", Polarity.NEGATED), ("Berlin", Polarity.AFFIRMED))
    story = [
        Says("home", value, polarity, Assertion.HOLDS, 0, 2 * minute, 0.5)
        for minute, (value, polarity) in enumerate(told)
    ]
    story.append(Says("home", "Rome", Polarity.AFFIRMED, Assertion.CORRECTED, 0, 1, 0.5))
    stream = marked(story)
    harness = StageHarness(Facts(Settings()).stage())
    for each in stream:
        harness.feed(harness.record(each))
    assert FactStatus.DEPRECATED in {fact.status for fact in topic(harness).values()}
    for number in (1, 2, 3):
        erase(harness, claim_of(stream[number]).fact_id, max(each.provenance.arrived_at for each in stream))
        assert f'"w{number}"' not in left(harness)


def test_replacements_leave_no_trace_in_other_slot_values() -> None:
    story = [
        Says("like", value, Polarity.AFFIRMED, assertion, 0, minute, 0.8)
        for minute, (value, assertion) in enumerate((("tea", Assertion.HOLDS), ("Jazz", Assertion.CORRECTED)))
    ]
    stream = marked(story)
    harness = StageHarness(Facts(Settings()).stage())
    for each in stream:
        harness.feed(harness.record(each))
    assert FactStatus.DEPRECATED in {fact.status for fact in topic(harness).values()}
    assert '"w1"' in left(harness)
    erase(harness, claim_of(stream[1]).fact_id, max(each.provenance.arrived_at for each in stream))
    assert '"w1"' not in left(harness)


@given(STORIES, st.data())
@settings(deadline=None, max_examples=100)
def test_what_is_said_again_is_known_by_that_alone(story: list[Says], data: st.DataObject) -> None:
    stream = marked([*story, *story])
    before, after = stream[: len(story)], stream[len(story) :]
    harness = StageHarness(Facts(Settings()).stage())
    for each in before:
        harness.feed(harness.record(each))
    again = data.draw(st.sampled_from(after))
    erase(harness, claim_of(again).fact_id, max(each.provenance.arrived_at for each in before))
    harness.feed(harness.record(again))
    for each in data.draw(st.permutations(before)):
        harness.feed(harness.record(each))
    fact = topic(harness)[claim_of(again).fact_id]
    assert [each.window_id for each in fact.provenance] == [again.provenance.window_id]
    assert fact.evidence_count == 1
    assert fact.status is not FactStatus.MERGED_INTO
