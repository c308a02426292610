"""What was erased and is written behind its erasure, by a worker that was taken for dead or before a crash, is
erased once more: compaction keeps the last record of a key, and an index that is filled anew would show it."""

from __future__ import annotations

from datetime import timedelta

import msgspec
import pytest
from memory_samples import candidate

from models.facts import Fact, FactCandidate
from models.ids import text_fact_id
from streams.agents.memory import tombstones
from streams.agents.memory.facts import FACTS, Facts
from streams.agents.vectors.requests import EMBEDDINGS, REQUESTS
from streams.clients.erasures import Erasing
from streams.clients.records import Record
from streams.config.settings import Settings
from streams.runtime.codec import body_of
from streams.runtime.testing import PARTITION, START, StageHarness

TEA = text_fact_id("default", "ada", "likes tea")
KEY = TEA.encode()


class Facing(StageHarness):
    """The stage of facts, and what compaction leaves of its topic."""

    def __init__(self) -> None:
        super().__init__(Facts(Settings()).stage())

    def learn(self, *said: FactCandidate) -> None:
        self.feed(*[self.record(each) for each in said])

    def erase(self, until: int = 50, *, fact: bool = False) -> None:
        if fact:
            record = self.record(None, FACTS, key=KEY)
            self.feed(record._replace(timestamp=int((START.timestamp() + until) * 1000)))
            return
        erasing = Erasing("default", "c", "", START + timedelta(seconds=until))
        key = erasing.key(PARTITION).encode()
        self.feed(self.record(None, FACTS, key=key, headers=[*erasing.headers()]))

    def hear(self, *facts: Fact) -> None:
        """Read facts behind all else, as a late worker has written them."""
        self.feed(*[self.record(each, FACTS) for each in facts])

    def topic(self) -> dict[bytes | None, Fact | None]:
        latest = {output.key: output.value for output in self.outputs if output.topic == FACTS}
        return {key: value and msgspec.json.decode(value, type=Fact) for key, value in latest.items()}

    def versions(self) -> list[tuple[int, bool]]:
        """What the last call wrote of facts: the version, or the erased one."""
        found = []
        for output in self.last.outputs:
            if output.topic != FACTS:
                continue
            if output.value is not None:
                found.append((msgspec.json.decode(output.value, type=Fact).version, False))
            elif (said := tombstones.read(Record(None, output.key, headers=output.headers))) is not None:
                assert output.partition == PARTITION or output.route == b"ada"
                found.append((said.erasure.version, True))
        return found


def late(*said: FactCandidate) -> Fact:
    """What another worker has made of what was said."""
    other = Facing()
    other.learn(*said)
    fact = other.topic()[KEY]
    assert fact is not None
    return fact


@pytest.mark.parametrize("fact", [True, False])
def test_a_late_copy_of_an_erased_fact_is_erased(fact: bool) -> None:
    harness = Facing()
    harness.learn(candidate("likes tea", 1), candidate("likes tea", 2))
    copy = harness.topic()[KEY]
    assert copy is not None
    harness.hear(copy)
    assert harness.last.outputs == [], "what was published is what it reads at once"
    harness.erase(fact=fact)
    for _ in range(2):
        harness.recover()
        harness.hear(late(candidate("likes tea", 1)), copy)
        assert harness.versions() == [(2, True), (2, True)]
        vectors = {(each.topic, each.key) for each in harness.last.outputs if each.topic != FACTS}
        assert vectors == {(EMBEDDINGS, b"fact/" + KEY), (REQUESTS, b"fact/" + KEY)}
        assert harness.topic()[KEY] is None


@pytest.mark.parametrize("fact", [True, False])
def test_a_later_unknown_version_goes_too_and_new_facts_stay(
    fact: bool,
) -> None:
    """The late worker had read more before it was taken for dead."""
    harness = Facing()
    harness.learn(candidate("likes tea", 1))
    harness.erase(fact=fact)
    harness.hear(late(candidate("likes tea", 1), candidate("likes tea", 2), candidate("likes tea", 3)))
    assert harness.versions() == [(3, True)]
    harness.learn(candidate("likes tea", 60))
    anew = harness.topic()[KEY]
    assert anew is not None
    assert (anew.version, [each.window_id for each in anew.provenance]) == (4, ["w60"])


def test_an_unknown_fact_goes_with_its_conversation() -> None:
    """It was made of what is passed over since the erasure is known."""
    harness = Facing()
    harness.erase()
    harness.hear(late(candidate("likes tea", 1)))
    assert harness.versions() == [(1, True)]
    harness.hear(late(candidate("likes tea", 1, conversation="d")))
    assert harness.versions() == [(1, True)], (
        "the same fact, in the same version: no view could tell them apart"
    )


@pytest.mark.parametrize("times", [1, 3])
def test_what_was_said_since_stands_behind_the_late_copy(times: int) -> None:
    """Or compaction would take it away, and with the erasure behind the copy it would be gone as well."""
    harness = Facing()
    harness.learn(candidate("likes tea", 1))
    harness.erase()
    harness.learn(candidate("likes tea", 60))
    before = harness.topic()[KEY]
    assert before is not None
    harness.hear(before)
    assert harness.last.outputs == []
    copy = late(*[candidate("likes tea", n) for n in range(1, 1 + times)])
    harness.hear(copy)
    (written,) = harness.versions()
    assert written == (max(2, times + 1), False), "of a version that no copy has"
    after = harness.topic()[KEY]
    assert after is not None
    assert (after.provenance, after.erased_until) == (before.provenance, before.erased_until)
    harness.recover()
    harness.hear(after)
    assert harness.last.outputs == []


def test_facts_published_before_a_crash_go_without_state() -> None:
    """Outputs are written before state: read again, the erasure may come before what it erases."""
    harness = Facing()
    said = harness.record(candidate("likes tea", 1))
    harness.feed(said)
    published = harness.topic()[KEY]
    assert published is not None
    harness.recover(0)
    harness.hear(published)
    harness.erase()
    assert harness.topic()[KEY] is not None
    harness.feed(said)
    assert harness.topic()[KEY] is None
    count = len(harness.outputs)
    harness.feed(said._replace(offset=9))
    assert len(harness.outputs) == count, "once"
    harness.learn(candidate("likes tea", 60))
    anew = harness.topic()[KEY]
    assert anew is not None
    assert anew.version > published.version, "or the index, which has that one erased, would not show it"


@pytest.mark.parametrize("also", [[], [Erasing("default", "d", "", START + timedelta(seconds=50))]])
def test_a_crash_in_an_erasure_leaves_nothing_erased(also: list[Erasing]) -> None:
    """That it is known says that it is done: whatever else the same batch changes, that is stored last."""

    def told() -> Facing:
        harness = Facing()
        harness.learn(candidate("likes tea", 1), candidate("likes rum", 2, conversation="d"))
        return harness

    def erasures(harness: Facing) -> list[Record]:
        gone = [Erasing("default", "c", "", START + timedelta(seconds=50)), *also]
        return [
            harness.record(None, FACTS, key=each.key(PARTITION).encode(), headers=[*each.headers()])
            for each in gone
        ]

    whole = told()
    begun = len(whole.changelog)
    whole.feed(*erasures(whole))
    for cut in range(begun, len(whole.changelog) + 1):
        harness = told()
        records = erasures(harness)
        harness.feed(*records)
        harness.recover(cut)
        harness.feed(*records)
        rest = b"".join(body_of(value) for _, value in harness.state.items())
        assert b"likes tea" not in rest, cut
        assert (b"likes rum" in rest) is not bool(also)
