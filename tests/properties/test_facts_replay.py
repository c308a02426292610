"""Whatever is delivered again, however often, and wherever the stage dies: the same facts hold."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import msgspec
from fact_stories import Says, candidates, retold, says
from hypothesis import given, settings
from hypothesis import strategies as st

from models.facts import Fact, FactCandidate, FactStatus
from processors.facts.rebuilding import rebuilt
from streams.agents.memory.fact_store import STATE
from streams.agents.memory.facts import FACTS, Facts
from streams.config.settings import Settings
from streams.runtime.marks import Layout
from streams.runtime.testing import StageHarness

STORIES = st.lists(says(), max_size=24) | retold()
PLAIN = st.lists(says(correcting=False), max_size=24)


def topic(harness: StageHarness) -> dict[str, Fact]:
    """The latest version of each fact."""
    return {fact.fact_id: fact for fact in harness.values(FACTS, Fact)}


def undisturbed(stream: Sequence[FactCandidate], chance: Random) -> StageHarness:
    """Feed everything once, in batches of any size."""
    harness = StageHarness(Facts(Settings()).stage())
    records = [harness.record(each) for each in stream]
    while records:
        count = chance.randint(1, len(records))
        harness.feed(*records[:count])
        del records[:count]
    return harness


def crashing(stream: Sequence[FactCandidate], chance: Random) -> StageHarness:
    """Lose some of the state now and then, and read again what follows, cut in another way."""
    harness = StageHarness(Facts(Settings()).stage())
    records = [harness.record(each) for each in stream]
    fed: list[tuple[int, int]] = []
    at, crashes = 0, chance.randint(1, 4)
    while at < len(records):
        if fed and crashes and chance.random() < 0.5:
            crashes -= 1
            lost = chance.randrange(len(fed))
            harness.recover(chance.randint(fed[lost][1], len(harness.changelog)))
            at = fed[chance.randint(0, lost)][0]
            fed = [begun for begun in fed if begun[0] < at]
            continue
        count = chance.randint(1, len(records) - at)
        fed.append((at, len(harness.changelog)))
        harness.feed(*records[at : at + count])
        at += count
    return harness


def told(fact: Fact) -> Fact:
    """A fact without where it points to: in a chain of merges, to the next or to the last."""
    return msgspec.structs.replace(fact, merged_into_id=None, changes=())


@given(STORIES, st.randoms(use_true_random=False), st.randoms(use_true_random=False))
@settings(deadline=None, max_examples=100)
def test_any_cut_and_any_crash_end_in_equal_facts(story: list[Says], one_way: Random, another: Random) -> None:
    stream = candidates(story)
    once, again = topic(undisturbed(stream, one_way)), topic(crashing(stream, another))
    assert {key: told(fact) for key, fact in once.items()} == {key: told(fact) for key, fact in again.items()}


@given(PLAIN, st.randoms(use_true_random=False))
@settings(deadline=None, max_examples=60)
def test_a_replay_after_a_reset_changes_nothing_that_holds(story: list[Says], chance: Random) -> None:
    """The table begins with what the topic holds, without marks.

    Not so for what was corrected: that it was said is not on the topic any more.
    """
    stream = candidates(story)
    live = topic(undisturbed(stream, chance))
    again = StageHarness(Facts(Settings()).stage())
    for key, value in rebuilt(live.values()).items():
        sealed = Layout(again.spec.sources).seal(None, STATE.encode(value), 0, None)
        again.changelog.append((key.encode(), sealed))
    again.recover()
    for each in stream:
        again.feed(again.record(each))
    after = {**live, **topic(again)}
    assert holding(after) == holding(live)


def holding(facts: dict[str, Fact]) -> set[str]:
    """The ids of the facts that hold."""
    return {key for key, fact in facts.items() if fact.status is FactStatus.ACTIVE}
