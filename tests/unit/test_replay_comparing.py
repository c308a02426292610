"""Differences between two generations: what was created, removed, changed, or only came in another order."""

from __future__ import annotations

from typing import Any

from streams.server.replays.comparing import DifferenceCounter


def fact(statement: str = "I live in Porto", evidence: str = "ab", **changes: Any) -> dict[str, Any]:
    return {
        "kind": "state",
        "statement": statement,
        "status": "active",
        "confidence": 0.8,
        "provenance": [{"message_ids": [each]} for each in evidence],
        "changes": [{"message_id": each, "confidence_after": 0.5} for each in evidence],
    } | changes


def counted(live: dict[int, Any], replayed: dict[int, Any], changed: dict[int, int]) -> DifferenceCounter:
    """Note records of partition 0 by offset; ``changed``: live offset by that of the replayed one."""
    counter = DifferenceCounter({(0, there): (0, here) for there, here in changed.items()})
    for offset, value in replayed.items():
        counter.note_replayed((0, offset), f"key {offset}", value)
    for offset, value in live.items():
        counter.note_live((0, offset), f"key {offset}", value)
    for offset in counter.shown(1)[0]:
        counter.show((0, offset), f"key {offset}", replayed[offset])
    return counter


def test_differences_are_counted_by_kind_with_examples() -> None:
    event = fact("I ran a marathon", kind="event")
    counter = counted(
        live={1: fact(), 2: fact("gone")},
        replayed={5: fact("I live in Lisbon"), 6: event, 7: fact("new")},
        changed={5: 1},
    )
    kinds = counter.kinds()
    assert (kinds["event"].created, kinds["event"].removed, kinds["event"].changed) == (1, 0, 0)
    assert (kinds["state"].created, kinds["state"].removed, kinds["state"].changed) == (1, 1, 1)
    [example] = kinds["state"].examples["changed"]
    assert (example.live, example.replayed) == ("I live in Porto (active)", "I live in Lisbon (active)")
    assert example.fields == ["statement"]


def test_evidence_in_another_order_is_no_change() -> None:
    counter = counted({1: fact(evidence="ab")}, {5: fact(evidence="ba", confidence=0.9)}, {5: 1})
    assert counter.kinds()["state"].traced == 1
    assert counter.kinds()["state"].examples == {}


def test_other_windows_are_no_change_unless_the_confidence_is() -> None:
    here, there = ([{"message_ids": ["a"], "window_id": each, "window_end_id": each}] for each in "xy")
    live, replayed = fact(provenance=here), fact(provenance=there)
    assert counted({1: live}, {5: replayed}, {5: 1}).kinds()["state"].traced == 1
    assert counted({1: live}, {5: replayed | {"confidence": 0.9}}, {5: 1}).kinds()["state"].changed == 1
    assert counted({1: live}, {5: replayed | {"status": "ended"}}, {5: 1}).kinds()["state"].changed == 1
