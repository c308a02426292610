"""Check for erased messages, which stay in their topic until it drops them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from models.ids import turn_id
from streams.stores.conversation_log import Erasures


class Erased(Protocol):
    """Erasures, as :class:`streams.stores.remembered.ports.Log` returns them."""

    async def erasures(self, tenant_id: str, user_id: str, turn_ids: Mapping[str, Sequence[str]]) -> Erasures:
        """Return the erasures of a person, of conversations, and of turns in them."""
        ...


async def is_erased(
    erased: Erased, tenant_id: str, user_id: str, conversation_id: str, message_id: str, arrived_ms: int
) -> bool:
    """Tell whether a message that arrived then (by the broker's clock) was erased.

    Raises:
        DependencyUnavailable: what was erased cannot be told.
    """
    turn = turn_id(tenant_id, conversation_id, message_id)
    until = await erased.erasures(tenant_id, user_id, {conversation_id: [turn]})
    of_all = max(until.person, until.conversations[conversation_id])
    return arrived_ms <= max(of_all, until.turns.get(turn, -1))
