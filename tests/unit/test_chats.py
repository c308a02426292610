"""Turns of one process: whose they are."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from models.messages import ChatMessage
from models.turns import Turn, TurnSource
from streams.adapters.conversation_log import Extent
from streams.chat import chats as module
from streams.chat.chats import Chats
from streams.settings import Settings


class Log:
    """A log that knows no conversation, but those of ``theirs``: by name who takes part."""

    def __init__(self) -> None:
        self.theirs: dict[str, str] = {}

    async def takes_part(self, tenant_id: str, user_id: str, conversation_id: str) -> bool:
        return self.theirs.get(conversation_id) == user_id

    async def extent(self, tenant_id: str, conversation_id: str) -> Extent | None:
        return Extent(1, 0) if conversation_id in self.theirs else None

    async def last_turns(self, tenant_id: str, conversation_id: str, count: int) -> list[Turn]:
        return []


class Leases:
    """Leases that are always to be had."""

    def __init__(self) -> None:
        self.held_by: dict[tuple[str, str], str] = {}

    async def claim(self, tenant_id: str, conversation_id: str, turn_id: str, holder: str) -> str | None:
        has = self.held_by.setdefault((tenant_id, conversation_id), turn_id)
        return None if has == turn_id else has

    async def release(self, tenant_id: str, conversation_id: str, turn_id: str, holder: str) -> None:
        self.held_by.pop((tenant_id, conversation_id), None)

    async def held(self, tenant_id: str, conversation_id: str) -> str | None:
        return self.held_by.get((tenant_id, conversation_id))


class Sending:
    """A broker that confirms at once."""

    def __init__(self, settings: Settings) -> None:
        self.said: list[ChatMessage] = []
        self.may = asyncio.Event()
        self.may.set()
        self.ends = asyncio.Event()

    async def message(self, message: ChatMessage) -> TurnSource:
        self.said.append(message)
        await self.may.wait()
        return TurnSource(topic="chat.messages.v1", partition=0, offset=len(self.said))

    async def chunk(self, chunk: Any) -> None:
        self.ends.set()
        await self.may.wait()

    async def close(self) -> None: ...


class Filtered:
    """Nothing comes back."""

    def __init__(self, settings: Settings) -> None: ...

    @asynccontextmanager
    async def watch(self, *_: str) -> AsyncIterator[asyncio.Queue[Any]]:
        yield asyncio.Queue()

    async def close(self) -> None: ...


class Silent:
    """Never answers."""

    async def answer(self, turn: Turn) -> AsyncGenerator[Any]:
        await asyncio.Event().wait()
        yield


class Lookup:
    """Finds nothing."""

    async def find(self, *_: Any, **__: Any) -> None: ...


class Rig:
    def __init__(self) -> None:
        self.log, self.leases = Log(), Leases()
        parts: list[Any] = [Silent(), self.log, len, Lookup(), self.leases]
        self.chats = Chats(Settings(), *parts)
        self.sending: Sending = self.chats._sending  # type: ignore[assignment]


@pytest.fixture
async def rig(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Rig]:
    monkeypatch.setattr(module, "Sending", Sending)
    monkeypatch.setattr(module, "Filtered", Filtered)
    made = Rig()
    yield made
    await made.chats.close()


async def test_a_turn_is_named_within_its_conversation_by_its_asker(rig: Rig) -> None:
    chats = rig.chats
    ours = await chats.begin("acme", "ada", "c-1", "Hello", "t-1")
    theirs = await chats.begin("globex", "bob", "c-9", "Hello", "t-1")
    other = await chats.begin("acme", "ada", "c-2", "Hello", "t-1")
    assert chats.find("acme", "ada", "c-1", "t-1") is ours
    assert chats.find("globex", "bob", "c-9", "t-1") is theirs
    assert chats.find("acme", "ada", "c-2", "t-1") is other
    assert chats.find("acme", "bob", "c-1", "t-1") is None
    assert len(rig.sending.said) == 3, "none is taken for another that was said before"
    async for _ in other.events():
        break  # it has begun
    await other.stop()
    assert chats.named("acme", "ada", "t-1") is ours, "the one that runs"
    assert chats.named("globex", "ada", "t-1") is None
    await chats.close()
    assert ours.ended is not None and theirs.ended is not None


async def test_a_turn_that_is_stopped_twice_is_stopped_once(rig: Rig) -> None:
    turn = await rig.chats.begin("acme", "ada", "c-1", "Hello")
    async for _ in turn.events():
        break  # it has begun
    rig.sending.may.clear()
    first = asyncio.create_task(turn.stop())
    await rig.sending.ends.wait()
    second = asyncio.create_task(turn.stop())
    await asyncio.sleep(0)
    rig.sending.may.set()
    await asyncio.gather(first, second)
    assert turn.ended is not None
    assert turn.ended.status == "stopped"
