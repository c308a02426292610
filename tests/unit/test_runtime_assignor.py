"""Partitions lie with members that read the same topics, or with nobody."""

from __future__ import annotations

from collections import defaultdict
from types import SimpleNamespace
from typing import Any

import pytest
import structlog

from streams.runtime.assignor import SameTopicsAssignor, served
from streams.runtime.faust_internals import TP

OLD = frozenset({"messages", "summaries", "state"})
NEW = OLD | {"vectors"}


class TestServed:
    def test_every_leader_decides_alike(self) -> None:
        one, other = frozenset({"a", "b"}), frozenset({"a", "c"})
        members = [("x", one), ("y", other)]
        assert served(dict(members), defaultdict(int)) == served(dict(reversed(members)), defaultdict(int))


class Group:
    """Members with a real assignor each; the first of them leads."""

    def __init__(self, **members: frozenset[str]) -> None:
        self.reads = dict(members)
        self.assignors = {name: assignor() for name in members}

    def join(self, name: str, topics: frozenset[str]) -> None:
        self.reads[name] = topics
        self.assignors[name] = assignor()

    def rebalance(self, leader: str | None = None) -> dict[str, set[TP]]:
        """Return what each member has afterwards."""
        told = {name: self.assignors[name].metadata({*topics}) for name, topics in self.reads.items()}
        leading = self.assignors[leader or next(iter(self.reads))]
        assigned = leading.assign(SimpleNamespace(partitions_for_topic=lambda topic: {*range(4)}), told)
        assert assigned.keys() == self.reads.keys()
        for name, part in assigned.items():
            self.assignors[name].on_assignment(part)
        return {name: self.assignors[name].assigned_actives() for name in self.reads}


def assignor() -> Any:
    app: Any = SimpleNamespace(
        conf=SimpleNamespace(canonical_url="http://localhost"),
        tables=SimpleNamespace(changelog_topics={"state"}, data={}),
        tracer=None,
        sensors=defaultdict(lambda: None),
        runtime=SimpleNamespace(log=structlog.get_logger()),
    )
    app.sensors = SimpleNamespace(
        on_assignment_start=lambda *_: None, on_assignment_completed=lambda *_: None, on_assignment_error=print
    )
    return SameTopicsAssignor(app)


def every(topics: frozenset[str]) -> set[TP]:
    return {TP(topic, number) for topic in topics for number in range(4)}


def test_members_that_read_the_same_share_each_partition_number() -> None:
    with structlog.testing.capture_logs() as logs:
        got = Group(a=OLD, b=OLD).rebalance()
    assert got["a"] | got["b"] == every(OLD)
    for part in got.values():
        numbers = {frozenset(tp.partition for tp in part if tp.topic == topic) for topic in OLD}
        assert len(numbers) == 1, "sources and state of a number are together"
    assert not logs


@pytest.mark.parametrize("leader", ["a", "c"])
def test_a_service_is_upgraded_worker_by_worker_and_never_torn(leader: str) -> None:
    group = Group(a=OLD, b=OLD)
    group.rebalance()
    group.join("c", NEW)
    with structlog.testing.capture_logs() as logs:
        got = group.rebalance(leader)
    assert got["c"] == set()
    assert got["a"] | got["b"] == every(OLD)
    (warning,) = [log for log in logs if log["event"].startswith("waiting until")]
    assert (warning["only_theirs"], warning["only_ours"]) == ([], ["vectors"])
    del group.reads["a"]
    got = group.rebalance("c")
    assert (got["b"], got["c"]) == (every(OLD), set())
    del group.reads["b"]
    assert group.rebalance()["c"] == every(NEW)


def test_a_spare_that_reads_the_same_waits_for_nobody() -> None:
    members = dict.fromkeys("abcde", OLD)
    with structlog.testing.capture_logs() as logs:
        got = Group(**members).rebalance()
    assert sorted(len(part) for part in got.values()) == [0, 3, 3, 3, 3]
    assert not logs
