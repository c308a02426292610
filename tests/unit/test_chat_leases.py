"""Keeping the leases of turns."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import Any

import pytest

from models.errors import DependencyUnavailable
from streams.chat import leases
from streams.chat.events import TurnNames
from streams.chat.leases import Holder
from streams.stores.remembered.ports import Held


def names(number: int = 1) -> TurnNames:
    return TurnNames(
        turn_id=f"t-{number}", conversation_id=f"c-{number}", user_id="u", tenant_id="t", response_id="r"
    )


def future() -> asyncio.Future[None]:
    return asyncio.get_running_loop().create_future()


class Grants:
    """Grants everything but the turns of ``others``, some steps of the loop later, as a server does."""

    def __init__(self) -> None:
        self.asked: list[list[str]] = []
        self.others: set[str] = set()
        self.may = asyncio.Event()
        self.may.set()

    async def renew(self, held: Sequence[Held], holder: str) -> list[str | None]:
        self.asked.append([each.turn_id for each in held])
        for _ in range(5):
            await asyncio.sleep(0)
        await self.may.wait()
        return ["another" if each.turn_id in self.others else None for each in held]


async def until_asked(grants: Grants, times: int) -> None:
    async with asyncio.timeout(60):
        while len(grants.asked) < times:
            await asyncio.sleep(0.001)


async def test_a_lease_of_another_is_lost_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leases, "RENEW_SECONDS", 0.01)
    grants: Any = Grants()
    grants.others.add("t-1")
    holder, end = Holder(grants), future()
    kept = asyncio.create_task(holder.keep(names(2), end))
    async with asyncio.timeout(60):
        assert not await holder.keep(names(1), future())
    await until_asked(grants, len(grants.asked) + 2)
    assert grants.asked[-1] == ["t-2"]
    end.set_result(None)
    assert await kept


async def test_a_late_renewal_loses_only_what_others_took(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(leases, "RENEW_SECONDS", 0.01)
    monkeypatch.setattr(leases, "_LOST_SECONDS", 0.02)
    grants: Any = Grants()
    holder, end = Holder(grants), future()

    async def busy() -> None:
        """Leave the loop one step of everything else in longer than a lease lasts."""
        while True:
            time.sleep(0.03)  # noqa: ASYNC251 (that is what it is about)
            await asyncio.sleep(0)

    working = asyncio.create_task(busy())
    keeping = asyncio.create_task(holder.keep(names(), end))
    await until_asked(grants, 3)
    working.cancel()
    end.set_result(None)
    assert await keeping


class Down:
    """Cannot be reached at all."""

    def __init__(self) -> None:
        self.asked = 0

    async def renew(self, held: Sequence[Held], holder: str) -> list[str | None]:
        self.asked += 1
        raise DependencyUnavailable("redis", "it is down")


class Hangs(Down):
    """Answers nothing."""

    async def renew(self, held: Sequence[Held], holder: str) -> list[str | None]:
        self.asked += 1
        await asyncio.Event().wait()
        return []


@pytest.mark.parametrize("kind", [Down, Hangs])
async def test_leases_are_lost_after_silence_of_their_length(
    kind: type[Down], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leases, "RENEW_SECONDS", 0.01)
    monkeypatch.setattr(leases, "_AGAIN_SECONDS", 0.01)
    monkeypatch.setattr(leases, "_LOST_SECONDS", 0.05)
    monkeypatch.setattr(leases, "_AWAKE_SECONDS", 0.03)
    down: Any = kind()
    holder = Holder(down)
    async with asyncio.timeout(60):
        assert (
            await asyncio.gather(*(holder.keep(names(number), future()) for number in range(3))) == [False] * 3
        )
    assert down.asked >= 1


async def test_a_hanging_call_is_given_up_before_leases_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """However long a call may take: another turn begins when they have ended."""
    monkeypatch.setattr(leases, "_LOST_SECONDS", 0.05)
    monkeypatch.setattr(leases, "_AWAKE_SECONDS", 0.05)
    hangs: Any = Hangs()
    holder = Holder(hangs)
    monkeypatch.setattr(leases, "RENEW_SECONDS", 0.01)
    keeping = asyncio.create_task(holder.keep(names(), future()))
    async with asyncio.timeout(60):
        while not hangs.asked:
            await asyncio.sleep(0.001)
        monkeypatch.setattr(leases, "RENEW_SECONDS", 3600.0)
        assert not await keeping
