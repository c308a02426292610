"""Who may write into a conversation, as far as it can be told."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from models.errors import DependencyUnavailable, NotFound
from streams.config.settings import Settings
from streams.queries.conversations import listing
from streams.queries.conversations.listing import Conversations
from streams.stores.conversation_log import Extent


class Log:
    """``others``: conversations begun by others, and whether of the tenant; ``theirs``: who is read there."""

    def __init__(self, others: Mapping[str, bool] = {}, theirs: Mapping[str, str] = {}) -> None:
        self._others = others
        self._theirs = theirs
        self.breaks: Exception | None = None
        self.hangs = False

    async def begin(self, tenant_id: str, people: Mapping[str, str]) -> dict[str, bool]:
        if self.breaks is not None:
            raise self.breaks
        if self.hangs:
            await asyncio.Event().wait()
        return {name: self._others[name] for name in people if name in self._others}

    async def extent(self, tenant_id: str, conversation_id: str) -> Extent | None:
        return Extent(1, 0) if conversation_id in self._theirs else None

    async def takes_part(self, tenant_id: str, user_id: str, conversation_id: str) -> bool:
        return self._theirs.get(conversation_id) == user_id


def conversations(log: Log) -> Conversations:
    parts: list[Any] = [log, None, None]
    return Conversations(Settings(), *parts)


@pytest.mark.parametrize("alone", [False, True])
async def test_nobody_writes_into_another_tenants(alone: bool) -> None:
    found = conversations(Log({"theirs": False}))
    await found.check_writable("acme", {"mine": "ada"}, alone=alone)
    with pytest.raises(NotFound, match="the id theirs belongs to a conversation of others"):
        await found.check_writable("acme", {"mine": "ada", "theirs": "ada"}, alone=alone)


async def test_who_writes_alone_writes_into_none_that_another_has_begun() -> None:
    log = Log({"begun": True, "read": True, "taken": True}, {"read": "ada", "taken": "bob"})
    found = conversations(log)
    await found.check_writable("acme", {"read": "ada", "new": "ada"}, alone=True)
    for name in ("begun", "taken"):
        with pytest.raises(NotFound, match=f"ada takes part in no conversation {name}"):
            await found.check_writable("acme", {"new": "ada", name: "ada"}, alone=True)
        await found.check_writable("acme", {"new": "ada", name: "ada"}, alone=False)


async def test_what_anybody_may_write_is_taken_without_recall(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "_BEGINS_SECONDS", 0.01)
    log = Log({"theirs": False})
    found = conversations(log)
    log.hangs = True
    await found.check_writable("acme", {"theirs": "ada"}, alone=False)
    log.breaks = DependencyUnavailable("recall", "it is down")
    await found.check_writable("acme", {"theirs": "ada"}, alone=False)
    with pytest.raises(DependencyUnavailable):
        await found.check_writable("acme", {"new": "ada"}, alone=True)
