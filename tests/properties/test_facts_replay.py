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
from streams.clients.records import Record
from streams.config.settings import Settings
from streams.runtime.effects import Output
from streams.runtime.marks import Layout
from streams.runtime.stage import Stage
from streams.runtime.testing import StageHarness
from tests.agents.memory_samples import crashing

STORIES = st.lists(says(), max_size=24) | retold()
PLAIN = st.lists(says(correcting=False), max_size=24)


def topic(outputs: Sequence[Output]) -> dict[str, Fact]:
    """The latest version of each fact."""
    facts = [msgspec.json.decode(each.value or b"", type=Fact) for each in outputs if each.topic == FACTS]
    return {fact.fact_id: fact for fact in facts}


def log_of(stream: Sequence[FactCandidate]) -> tuple[Stage, list[Record]]:
    harness = StageHarness(Facts(Settings()).stage())
    return harness.spec, [harness.record(each) for each in stream]


def told(fact: Fact) -> Fact:
    """A fact without where it points to: in a chain of merges, to the next or to the last."""
    return msgspec.structs.replace(fact, merged_into_id=None, changes=())


@given(STORIES, st.randoms(use_true_random=False), st.randoms(use_true_random=False))
@settings(deadline=None, max_examples=100)
def test_any_cut_and_any_crash_end_in_equal_facts(story: list[Says], one_way: Random, another: Random) -> None:
    stage, log = log_of(candidates(story))
    once, again = (
        topic(crashing(stage, log, chance, crashes).outputs)
        for chance, crashes in ((one_way, 0), (another, another.randint(1, 4)))
    )
    assert {key: told(fact) for key, fact in once.items()} == {key: told(fact) for key, fact in again.items()}


@given(PLAIN, st.randoms(use_true_random=False))
@settings(deadline=None, max_examples=60)
def test_a_replay_after_a_reset_changes_nothing_that_holds(story: list[Says], chance: Random) -> None:
    """The table begins with what the topic holds, without marks.

    Not so for what was corrected: that it was said is not on the topic any more.
    """
    stream = candidates(story)
    live = topic(crashing(*log_of(stream), chance, 0).outputs)
    again = StageHarness(Facts(Settings()).stage())
    for key, value in rebuilt(live.values()).items():
        sealed = Layout(again.spec.sources).seal(None, STATE.encode(value), 0, None)
        again.changelog.append((key.encode(), sealed))
    again.recover()
    for each in stream:
        again.feed(again.record(each))
    after = {**live, **topic(again.outputs)}
    assert holding(after) == holding(live)


def holding(facts: dict[str, Fact]) -> set[str]:
    """The ids of the facts that hold."""
    return {key for key, fact in facts.items() if fact.status is FactStatus.ACTIVE}
