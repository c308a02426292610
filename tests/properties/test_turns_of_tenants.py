"""Turns of tenants, whatever comes and ends when: order, nothing lost, nobody starves, nothing unbounded."""

from __future__ import annotations

from collections import defaultdict

from hypothesis import given
from hypothesis import strategies as st

from streams.runtime.turns import BACKLOG_TURNS, LITTLE_TURNS, Turn, Turns

MOST = 8
TENANTS, KEYS = "abcdefg", range(12)

#: Records come (tenant, key, how many), or the turn that was begun so many turns ago ends.
_comes = st.tuples(st.sampled_from(TENANTS), st.sampled_from(KEYS), st.integers(1, 20))
_happens = st.lists(st.one_of(_comes, st.integers(0, 10)), max_size=60)


class Machine:
    def __init__(self) -> None:
        self.turns: Turns[int] = Turns(MOST, 1_000)
        self.at_work: list[Turn[int]] = []
        self.keys: list[bytes] = []
        self.tenants: list[str] = []
        self.done: list[int] = []

    def comes(self, tenant: str, key: int, count: int) -> None:
        for _ in range(count):
            # Some keys are named by several tenants.
            name = f"{'' if key < 4 else tenant}{key}".encode()
            self.turns.put(tenant, name, len(self.keys), 1)
            self.keys.append(name)
            self.tenants.append(tenant)
        self.begin()

    def ends(self, number: int) -> None:
        if self.at_work:
            turn = self.at_work.pop(number % len(self.at_work))
            self.done += turn.items
            self.turns.done(turn)
            self.begin()

    def begin(self) -> None:
        while (turn := self.turns.take()) is not None:
            self.at_work.append(turn)
            self.check()

    def check(self) -> None:
        keys = [{self.keys[item] for item in turn.items} for turn in self.at_work]
        assert sum(map(len, keys)) == len(set().union(*keys)), "a key is at work once"
        assert all([*turn.items] == sorted(turn.items) for turn in self.at_work)
        assert len(self.at_work) <= BACKLOG_TURNS + LITTLE_TURNS
        assert sum(len(turn.items) for turn in self.at_work) <= 2 * MOST + BACKLOG_TURNS


@given(_happens)
def test_each_record_is_done_once_in_key_order(
    happens: list[tuple[str, int, int] | int],
) -> None:
    machine = Machine()
    for each in happens:
        machine.ends(each) if isinstance(each, int) else machine.comes(*each)
    while machine.at_work:
        machine.ends(0)
    assert sorted(machine.done) == [*range(len(machine.keys))]
    by_key = defaultdict(list)
    for item in machine.done:
        by_key[machine.keys[item]].append(item)
    assert all(items == sorted(items) for items in by_key.values())


@given(_happens, st.integers(0, 10))
def test_nobody_waits_while_a_backlog_has_more_than_some_turns(
    happens: list[tuple[str, int, int] | int], ends: int
) -> None:
    """However the others go on, what waits now is at work after a few turns of each."""
    machine = Machine()
    for each in happens:
        machine.ends(each) if isinstance(each, int) else machine.comes(*each)
    machine.turns.put("calm", b"calm", len(machine.keys), 1)
    machine.keys.append(b"calm")
    machine.begin()
    for _ in range(2 * len(TENANTS) + BACKLOG_TURNS + LITTLE_TURNS):
        if any("calm" in turn.tenants for turn in machine.at_work) or len(machine.keys) - 1 in machine.done:
            return
        machine.ends(ends)
        for tenant in TENANTS[:3]:
            machine.comes(tenant, 5, 20)
    raise AssertionError("it starves")
