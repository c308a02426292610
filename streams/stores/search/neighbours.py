"""Turns before and after those that a search found, from the conversation log."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Protocol

import structlog

from models.errors import DependencyUnavailable
from models.turns import Turn
from streams.stores.search.results import Around
from streams.stores.search.wanted import Wanted

log = structlog.get_logger("streams.stores.search")


class Neighbours(Protocol):
    """The conversation log, as :class:`streams.stores.conversation_log.ConversationLog`."""

    async def at(self, tenant_id: str, indices: Mapping[str, Sequence[int]]) -> list[Turn]:
        """Return the turns that there are at these indices, by conversation."""
        ...


async def with_neighbours(
    turns: Sequence[Turn], wanted: Wanted, neighbours: Neighbours | None, timeout: float
) -> Around:
    """Return the turns and their neighbours, by conversation and index; of this person only.

    Without ``neighbours``, or when they do not answer within ``timeout`` seconds, the turns alone.
    """
    known = {(turn.conversation_id, turn.index): turn for turn in turns}
    missing: dict[str, list[int]] = {}
    beside = {(name, index - 1) for name, index in known} | {(name, index + 1) for name, index in known}
    for name, index in beside - known.keys():
        if index >= 0:
            missing.setdefault(name, []).append(index)
    if neighbours is None or not missing:
        return known
    try:
        async with asyncio.timeout(timeout):
            found = await neighbours.at(wanted.tenant_id, missing)
    except (DependencyUnavailable, TimeoutError) as error:
        # They make the order better, and are no reason to find nothing.
        log.warning("searched without the turns around those found", reason=str(error) or "no answer in time")
        return known
    for turn in found:
        if (turn.tenant_id, turn.user_id) == (wanted.tenant_id, wanted.user_id):
            known.setdefault((turn.conversation_id, turn.index), turn)
    return known
