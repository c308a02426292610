"""memory/facts: a batch whose state was stored in part is read again, and the facts are the same."""

from __future__ import annotations

from datetime import timedelta

from test_consolidation import Harness, consolidate
from test_ending_facts import said

from models.consolidation import ConsolidationStep, Saying, Step
from models.ids import text_fact_id
from processors.facts.lines import Line
from streams.agents.memory.consolidation_records import CONSOLIDATION
from streams.agents.memory.fact_store import STATE
from streams.runtime.testing import START, Record

TEA, MILK, OAT = "User likes tea", "User likes tea with milk", "User likes tea with oat milk"
LIKES, LOVES, ADORES = "User likes hiking", "User loves hiking", "User adores hiking"


def fact_id(text: str) -> str:
    return text_fact_id("default", "ada", text)


def states(harness: Harness) -> dict[bytes, Line]:
    stored = harness.stored(STATE, lambda key: b"/" not in key)
    return {key: line for key, line in stored.items() if isinstance(line, Line)}


def test_an_ending_fact_keeps_its_link_when_it_ends() -> None:
    """A ends B, and C ends A in the same batch: an erasure of A must find B after any crash."""
    texts = "User plays chess", "User gave up chess", "User plays chess again"

    def batch(harness: Harness) -> list[Record]:
        for day, text in enumerate(texts):
            harness.feed(harness.record(said(text, day)))
        return [
            harness.record(ended(texts[0], by=texts[1], day=1), CONSOLIDATION),
            harness.record(ended(texts[1], by=texts[2], day=2), CONSOLIDATION),
        ]

    whole = Harness()
    whole.feed(*batch(whole))
    for stored in range(1, len(whole.last.changes)):
        harness = Harness()
        records = batch(harness)
        before = len(harness.changelog)
        harness.feed(*records)
        harness.recover(before + stored)
        harness.feed(*records)
        assert states(harness) == states(whole)


def ended(text: str, by: str, day: int) -> ConsolidationStep:
    at = START + timedelta(days=day)
    saying = Saying(conversation_id=f"c{day}", sent_at=at, arrived_at=at)
    return consolidate(
        step=Step.ENDS,
        step_id=f"end-{text}",
        fact_id=fact_id(by),
        other_id=fact_id(text),
        at=at,
        saying=saying,
    )
