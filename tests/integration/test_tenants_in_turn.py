"""Two tenants before a slow model, through the real lane, stage, limiter and memo: counted, by no clock."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec
import pytest
from memo_rig import Rig, rig

from models.windows import Window
from streams.agents.memory.extraction import Extraction
from streams.clients.topics import CANDIDATES
from tests import prompt_examples as examples
from tests.unit.lane_rig import Rig as LaneRig

pytestmark = pytest.mark.kafka

__all__ = ["rig"]

_FLOOD, _BATCH, _SLOTS = 24, 8, 2


def said(tenant: str, number: int) -> bytes:
    """Return the window of one person of a tenant."""
    base, name = examples.window(), f"{tenant}-{number}"
    messages = tuple(
        msgspec.structs.replace(each, user_id=name, content=f"{each.content} That is number {name}.")
        for each in base.messages
    )
    return msgspec.json.encode(
        msgspec.structs.replace(
            base,
            window_id=f"w-{name}",
            conversation_id=f"c-{name}",
            user_id=name,
            tenant_id=tenant,
            messages=messages,
        )
    )


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not condition():
            await asyncio.sleep(0.001)


async def test_a_calm_tenant_is_asked_about_next_beside_a_flood(rig: Rig) -> None:
    extractor = await rig.extractor(model_calls_in_flight=_SLOTS)
    waiting = extractor._questions.asking._call_context.turns._waiting
    settings = rig.settings.model_copy(update={"call_batch_records": _BATCH})
    lane = LaneRig(Extraction(settings, extractor).stage(), step_timeout_seconds=60.0)
    server = rig.server
    server.answering.clear()
    try:
        for first in range(0, _FLOOD, _BATCH):
            flood = (said("flood", number) for number in range(first, first + _BATCH))
            lane.deliver(*flood, key=conversation)
        await until(lambda: server.count() == _SLOTS)
        lane.deliver(said("calm", 0), key=conversation)
        await until(lambda: "calm" in waiting)
        server.answering.set()
        await until(lambda: about(server, "calm-0") >= 0)
        assert about(server, "calm-0") < 2 * _SLOTS, "after those that were open, in turn with the flood"
        await lane.give_all(until=lambda: _FLOOD in lane.acked)
        done = len(lane.publisher.values(CANDIDATES))
        await lane.give_all(until=lambda: len(lane.acked) == _FLOOD // _BATCH + 1)
        assert len(lane.publisher.values(CANDIDATES)) > done, "the flood goes on behind it"
        assert server.count() == _FLOOD + 1, "nobody is asked about twice"
        assert lane.failure is None
    finally:
        server.answering.set()
        lane.lane.close()


def conversation(value: bytes) -> bytes:
    return msgspec.json.decode(value, type=Window).conversation_id.encode()


def about(server: object, name: str) -> int:
    """Return which call was about somebody; -1: none yet."""
    calls = server.calls  # type: ignore[attr-defined]
    return next((number for number, call in enumerate(calls) if f"number {name}." in str(call.body)), -1)
