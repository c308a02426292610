"""Whatever was said, repeated and erased, and however it was read: a view that is filled anew from what
compaction leaves of the topic equals the old one."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import msgspec
import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st
from test_conversation_log import turn

from models.index import TurnFilter, VectorSpace
from models.turns import Turn
from streams.adapters.conversation_log import ConversationLog
from streams.adapters.index_factory import open_index
from streams.adapters.local_valkey import LocalValkey
from streams.adapters.qdrant_kinds import TURNS as KIND
from streams.agents.recall.turn_log import CONVERSATION_HEADER, UNTIL_HEADER, TurnLog
from streams.agents.recall.turns import TURNS
from streams.erasure.erasures import Erasing
from streams.runtime.records import Record
from streams.runtime.testing import START, StageHarness
from streams.settings import Settings

_TURNS = 2


class Step(NamedTuple):
    """What happens next: ``say`` and ``erase`` a turn, ``again`` (the same ids, said once more after that),
    ``erase all`` of the conversation; ``read`` what is there, or, after a ``crash``, part of it once more.
    """

    what: str
    turn: int
    back: int


STEPS = st.builds(
    Step,
    what=st.sampled_from(["say", "say", "erase", "again", "erase all", "read", "crash"]),
    turn=st.integers(0, _TURNS - 1),
    back=st.integers(1, 6),
)


class Topic:
    """``memory.turns.v1``, and who reads it into two views."""

    def __init__(self, valkey: LocalValkey, folder: Path) -> None:
        self.log = ConversationLog(valkey.client(), Settings().namespace, ready=valkey.ensure)
        self.index = open_index(Settings(data_dir=folder), KIND, VectorSpace("test", 4))
        self.harness = StageHarness(TurnLog(Settings(), self.log, self.index).stage())
        self.records: list[Record] = []
        self.read_to = 0
        self._lives: dict[int, Turn] = {}

    async def tell(self, number: int, step: Step) -> None:
        now = START + timedelta(minutes=number)
        known = self._lives.get(step.turn)
        if step.what in ("read", "crash"):
            self.read_to = max(0, self.read_to - (step.back if step.what == "crash" else 0))
            await self.read()
        elif step.what == "erase all":
            headers = [*Erasing("default", "c", "", now).headers()]
            self.records.append(self.harness.record(None, key=b"e", headers=headers))
        elif step.what == "erase" and known is not None:
            headers = [(CONVERSATION_HEADER, b"c"), (UNTIL_HEADER, now.isoformat().encode())]
            self.records.append(self.harness.record(None, key=known.turn_id.encode(), headers=headers))
        elif step.what == "again" or (step.what == "say" and known is None):
            # Whoever says it once more has seen it go: what was to be written of its erasure is there.
            await self.read()
            text = f"message {step.turn} in minute {number}"
            self._lives[step.turn] = turn(step.turn, text=text, arrived_at=now)
            self.records.append(self.harness.record(self._lives[step.turn]))
        elif known is not None:  # a copy, perhaps of what was erased
            self.records.append(self.harness.record(known))

    async def read(self) -> None:
        """Read to the end, and what is written meanwhile, too."""
        while self.read_to < len(self.records):
            batch = self.records[self.read_to :]
            self.read_to = len(self.records)
            self.harness.outputs.clear()
            await self.harness.call(*batch)
            for own in self.harness.outputs:
                if own.topic == TURNS:
                    self.records.append(self.harness.record(own.value, key=own.key, headers=[*own.headers]))

    def compacted(self) -> list[Record]:
        """Return the last record of each key."""
        last = {record.key: record for record in self.records}
        return [record for record in self.records if last[record.key] is record]

    async def state(self) -> tuple[list[Turn], list[Turn]]:
        found, _ = await self.index.page(TurnFilter(user_id="ada"), 100)
        return await self.log.turns("default", "c", 0, 99), sorted(found, key=lambda each: each.index)

    async def close(self) -> None:
        await self.index.close()
        await self.log.close()


@pytest.fixture
async def valkey(tmp_path: Path) -> AsyncIterator[LocalValkey]:
    server = LocalValkey(tmp_path, "test")
    await server.ensure()
    yield server
    await server.close()


async def _emptied(valkey: LocalValkey) -> None:
    client = valkey.client()
    await client.flushall()
    await client.aclose()


# Shrinking what takes a second to try takes minutes; what fails is short enough to read.
@settings(
    max_examples=15,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@example(steps=[Step("say", 0, 1), Step("erase", 0, 1), Step("say", 0, 1)], cut=1)
@given(steps=st.lists(STEPS, max_size=16), cut=st.integers(1, 8))
async def test_a_view_that_is_filled_anew_equals_the_old_one(
    valkey: LocalValkey, steps: list[Step], cut: int
) -> None:
    with TemporaryDirectory() as folder:
        old = Topic(valkey, Path(folder, "old"))
        try:
            for number, step in enumerate(steps):
                await old.tell(number, step)
            await old.read()
            before, left = await old.state(), old.compacted()
        finally:
            await old.close()
        await _emptied(valkey)
        new = Topic(valkey, Path(folder, "new"))
        try:
            for start in range(0, len(left), cut):
                await new.harness.call(*left[start : start + cut])
            assert await new.state() == before
            assert msgspec.json.encode(await new.state()) == msgspec.json.encode(before)
        finally:
            await new.close()
            await _emptied(valkey)
