"""Keeping the lease of a turn."""

from __future__ import annotations

import asyncio
import time
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
    monkeypatch.setattr(leases, "_ONCE_MORE_SECONDS", 0.05)
    hangs: Any = Hangs()
    names = TurnNames(turn_id="t", conversation_id="c", user_id="u", tenant_id="t", response_id="r")
    never: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    async with asyncio.timeout(60):
        assert not await Holder(hangs).keep(names, never)


class Answers:
    """Grants everything; has ended at the third question.  After the first the process stands still."""

    def __init__(self, ended: asyncio.Future[None]) -> None:
        self.asked = 0
        self.later = 0.0
        self._ended = ended

    async def claim(self, *_: str) -> str | None:
        self.asked += 1
        if self.asked == 1:
            self.later = 3600.0
        if self.asked == 3:
            self._ended.set_result(None)
        await asyncio.sleep(0)  # as whoever asks a server
        return None


async def test_who_stood_still_for_long_asks_once_more_whose_the_lease_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loop = asyncio.get_running_loop()
    answers: Any = Answers(loop.create_future())
    monkeypatch.setattr(leases, "RENEW_SECONDS", 0.01)
    monkeypatch.setattr(loop, "time", lambda: time.monotonic() + answers.later)
    names = TurnNames(turn_id="t", conversation_id="c", user_id="u", tenant_id="t", response_id="r")
    assert await Holder(answers).keep(names, answers._ended)
    assert answers.asked == 3
