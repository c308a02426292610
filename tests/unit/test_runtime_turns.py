"""Whose turn it is: who begins at once, who has how much, and in which order."""

from __future__ import annotations

from streams.runtime.turns import BACKLOG_TURNS, LITTLE_TURNS, Turn, Turns

MOST, LITTLE = 32, 4


def waiting(most_bytes: int = 1_000, **tenants: int) -> Turns[str]:
    """Return turns for which so many items of each tenant wait, each of its own key: ``a0``, ``a1``."""
    turns: Turns[str] = Turns(MOST, most_bytes)
    for tenant, items in tenants.items():
        put(turns, tenant, *range(items))
    return turns


def put(turns: Turns[str], tenant: str, *numbers: int, key: bytes | None = None) -> None:
    for number in numbers:
        turns.put(tenant, key or f"{tenant}{number}".encode(), f"{tenant}{number}", 1)


def begun(turns: Turns[str]) -> list[Turn[str]]:
    return [*iter(turns.take, None)]


def sizes(turns: list[Turn[str]]) -> dict[tuple[str, ...], int]:
    return {turn.tenants: len(turn.items) for turn in turns}


def test_a_tenant_alone_gets_whole_batches_one_at_a_time() -> None:
    turns = waiting(a=100)
    taken: list[str] = []
    while found := begun(turns):
        (turn,) = found
        assert len(turn.items) == min(MOST, 100 - len(taken))
        taken += turn.items
        turns.done(turn)
    assert taken == [f"a{n}" for n in range(100)]


def test_who_has_little_waiting_begins_at_once_beside_a_backlog() -> None:
    turns = waiting(flood=100)
    assert sizes(begun(turns)) == {("flood",): MOST}
    put(turns, "calm", 0)
    assert sizes(begun(turns)) == {("calm",): 1}
    put(turns, "calm", 1)
    put(turns, "third", 0)
    assert sizes(begun(turns)) == {("third",): 1}, "one turn at a time of each"


def test_backlogs_share_a_batch_and_take_turns() -> None:
    turns = waiting(a=50, b=50, c=50, d=50, e=50)
    first = begun(turns)
    assert sizes(first) == {("a",): 6, ("b",): 6, ("c",): 6, ("d",): 6}, "a fifth each"
    assert len(first) == BACKLOG_TURNS
    for turn in first[:2]:
        turns.done(turn)
    assert [turn.tenants for turn in begun(turns)] == [("e",), ("a",)], "who waits longest, then in turn"


def test_two_backlogs_share_the_room_of_a_batch() -> None:
    turns = waiting(a=50)
    begun(turns)
    put(turns, "b", *range(50))
    assert sizes(begun(turns)) == {("b",): LITTLE}


def test_what_does_not_fit_waits_for_a_turn() -> None:
    turns = waiting(**{f"t{n}": 1 for n in range(LITTLE_TURNS)})
    first = begun(turns)
    assert len(first) == LITTLE_TURNS
    put(turns, "late", 0)
    put(turns, "later", 0)
    assert turns.take() is None
    turns.done(first[0])
    assert sizes(begun(turns)) == {("late", "later"): 2}


def test_many_with_little_waiting_share_turns_up_to_a_batch() -> None:
    turns = waiting(**{f"t{n}": 1 for n in range(100)})
    first = begun(turns)
    assert [len(turn.items) for turn in first] == [25, 7], "together no more than a batch"
    assert first[0].tenants == tuple(f"t{n}" for n in range(25))
    turns.done(first[0])
    assert sum(len(turn.items) for turn in begun(turns)) == 25


def test_records_without_a_key_have_the_order_of_their_tenant() -> None:
    turns: Turns[str] = Turns(MOST, 1_000)
    for tenant in ("a", "b"):
        turns.put(tenant, None, tenant, 1)
    first, second = begun(turns)
    assert (first.items, second.items) == (["a"], ["b"])
    turns.done(first)
    turns.done(second)


def test_a_turn_is_bounded_by_bytes_after_its_first() -> None:
    turns: Turns[str] = Turns(MOST, 10)
    for number, size in enumerate((50, 4, 6, 1, 9, 9)):
        turns.put("a", b"k", str(number), size)
    taken = []
    while turn := turns.take():
        taken.append(turn.items)
        turns.done(turn)
    assert taken == [["0"], ["1", "2"], ["3", "4"], ["5"]]


def test_tenants_that_share_a_turn_share_its_bytes() -> None:
    turns: Turns[str] = Turns(MOST, 10)
    for tenant in "abcdef":
        turns.put(tenant, None, tenant, 6)
    assert [turn.tenants for turn in begun(turns)] == [("a",), ("b",), ("c",), ("d",)]


def test_what_waits_is_named_and_taken_out() -> None:
    turns = waiting(a=5, b=1)
    begun(turns)
    assert turns.first() is None
    put(turns, "a", 5, 6)
    assert turns.first() == "a5"
    assert turns.clear() == ["a5", "a6"]
    assert (turns.first(), turns.take()) == (None, None)
