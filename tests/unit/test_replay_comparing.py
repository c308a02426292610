"""Differences between two generations, in records and in contexts; and what a generation may pay."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
import samples

from models.context import Context, ContextItem, FoundBy, LeftOut, Tier
from models.errors import ConfigurationError
from streams.server.replays.comparing import DifferenceCounter
from streams.server.replays.contexts import Line, compared
from streams.server.replays.costs import Paid, refuse_paid


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


AT = datetime(2026, 11, 27, tzinfo=UTC)


def context(number: int, *texts: str, left_out: str = "") -> Context:
    items = [
        ContextItem(tier=Tier.FACTS, id=text, text=text, tokens=4, found_by=FoundBy.MEANING, left_out=why)
        for text, why in (*((text, None) for text in texts), *[(left_out, LeftOut.UNLIKE)][not left_out :])
    ]
    said = samples.turn(0, at=AT, conversation_id=f"c{number}")
    return samples.context(said, tokens=4 * len(texts), items=tuple(items))


def test_only_lines_of_the_prompt_make_a_difference() -> None:
    told = compared([(context(1, "a", "b"), context(1, "b", "a", left_out="c"))], 1)
    assert (told.compared, told.same, told.missing, told.differences) == (1, 1, 0, [])
    told = compared([(context(1, "a", "b"), context(1, "a", "c", "d"))], 3)
    assert (told.same, told.missing, told.live_tokens, told.replayed_tokens) == (0, 2, 8, 12)
    [shown] = told.differences
    assert shown.only_live == [Line(Tier.FACTS, "b")]
    assert shown.only_replayed == [Line(Tier.FACTS, "c"), Line(Tier.FACTS, "d")]


def test_a_replay_stops_at_its_maximum_cost() -> None:
    refuse_paid("b", Paid(3, 0.99), 1.0)
    refuse_paid("b", Paid(3, 99.0), 0.0)
    with pytest.raises(ConfigurationError, match=r"b has paid \$1\.0000 for 3 answers.*--max-cost"):
        refuse_paid("b", Paid(3, 1.0), 1.0)
