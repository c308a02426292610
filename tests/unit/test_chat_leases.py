"""Keeping the lease of a turn."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from streams.chat import leases
from streams.chat.events import TurnNames
from streams.chat.leases import Holder


class Hangs:
    """Answers nothing; counts how often it is asked."""

    def __init__(self) -> None:
        self.asked = 0

    async def claim(self, *_: str) -> str | None:
        self.asked += 1
        await asyncio.Event().wait()
        return None


async def test_a_claim_that_hangs_is_given_up_before_the_lease_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leases, "RENEW_SECONDS", 30.0)
    monkeypatch.setattr(leases, "_LOST_SECONDS", 0.05)
    hangs: Any = Hangs()
    names = TurnNames(turn_id="t", conversation_id="c", user_id="u", tenant_id="t", response_id="r")
    never: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    async with asyncio.timeout(60):
        assert not await Holder(hangs).keep(names, never)
