"""However windows are cut into batches, and whatever is read again: the same candidates, byte for byte."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from random import Random

import samples
from hypothesis import given, settings
from hypothesis import strategies as st

from models.facts import FactCandidate
from models.ports import Extracted
from models.ports import Extraction as Outcome
from models.statements import Kind, Statement
from models.windows import Window
from streams.agents.ingest.conversations import WINDOWS, Conversations
from streams.agents.memory.extraction import Extraction
from streams.clients.records import Record
from streams.clients.topics import CANDIDATES
from streams.config.settings import Settings
from streams.runtime.testing import START, StageHarness

SETTINGS = Settings(window_size=5, window_overlap=2)


class EveryMessage:
    """Finds what each message says, and what each says together with the one before."""

    name = "every-message-1"

    async def extract(self, windows: Sequence[Window]) -> list[Outcome]:
        return [Extracted(tuple(self._found(window))) for window in windows]

    def _found(self, window: Window) -> list[Statement]:
        pairs = zip(window.messages, window.messages[1:], strict=False)
        found = [(message.message_id,) for message in window.messages]
        found += [(one.message_id, other.message_id) for one, other in pairs]
        return [
            Statement(
                user_id=window.user_id,
                kind=Kind.PREFERENCE,
                statement=f"likes {' and '.join(ids)}",
                confidence=0.5,
                source_message_ids=ids,
                quote="hello",
            )
            for ids in found
        ]


def windows(lengths: Sequence[int]) -> list[Window]:
    """What ingest makes of conversations that go on side by side."""
    harness = StageHarness(Conversations(SETTINGS, len).stage())
    for at in range(max(lengths)):
        for number, length in enumerate(lengths):
            if at < length:
                harness.arrived += timedelta(milliseconds=700)
                names = {"message_id": f"{number}-{at}", "conversation_id": f"c{number}"}
                harness.feed(harness.record(samples.message(at, "hello", **names)))
    return harness.values(WINDOWS, Window)


def run(stream: Sequence[Window], chance: Random) -> dict[str, bytes]:
    """Extract in batches of any size, with crashes; return the latest value by id."""
    harness = StageHarness(Extraction(SETTINGS, EveryMessage()).stage())
    harness.arrived = START + timedelta(days=chance.randint(0, 9))
    records = [harness.record(window) for window in stream]
    fed: list[tuple[int, int]] = []
    at = 0
    while at < len(records):
        if fed and chance.randint(0, 3) == 3:
            at, kept = fed[chance.randint(0, len(fed) - 1)]
            harness.recover(chance.randint(kept, len(harness.changelog)))
            del fed[[begun for begun, _ in fed].index(at) :]
        count = chance.randint(1, len(records) - at)
        fed.append((at, len(harness.changelog)))
        asyncio.run(_call(harness, records[at : at + count]))
        at += count
    values = [output.value or b"" for output in harness.outputs if output.topic == CANDIDATES]
    ids = [each.candidate_id for each in harness.values(CANDIDATES, FactCandidate)]
    latest = dict(zip(ids, values, strict=True))
    assert all(latest[each] == value for each, value in zip(ids, values, strict=True)), "an id has one value"
    return latest


async def _call(harness: StageHarness, records: Sequence[Record]) -> None:
    await harness.call(*records)


@given(
    st.lists(st.integers(5, 25), min_size=1, max_size=3),
    st.randoms(use_true_random=False),
    st.randoms(use_true_random=False),
)
@settings(deadline=None, max_examples=40)
def test_any_cut_and_crash_make_equal_candidates(lengths: list[int], one_way: Random, another: Random) -> None:
    stream = windows(lengths)
    assert run(stream, one_way) == run(stream, another)
