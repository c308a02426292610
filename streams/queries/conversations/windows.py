"""The window around a match, from the conversation's log and, where that has expired, from the topic."""

from __future__ import annotations

from typing import Protocol

from models.errors import NotFound
from models.turns import Turn
from processors.retrieval.recall.window import DEFAULT_TURNS, MessageWindow, bounds, window


class Log(Protocol):
    """The conversation log, as :class:`streams.stores.conversation_log.ConversationLog`."""

    async def takes_part(self, tenant_id: str, user_id: str, conversation_id: str) -> bool:
        """Say whether the log knows the person in the conversation."""
        ...

    async def length(self, tenant_id: str, conversation_id: str) -> int:
        """Return the index of the conversation's next turn; 0: the log has nothing of it."""
        ...

    async def turns(self, tenant_id: str, conversation_id: str, first: int, last: int) -> list[Turn]:
        """Return the turns from one index to another (inclusive)."""
        ...


class Topic(Protocol):
    """All turns there are, as :class:`streams.stores.turn_topic.TurnTopic`."""

    async def turns(self, tenant_id: str, conversation_id: str) -> list[Turn]:
        """Return a conversation's turns."""
        ...


class WindowRetriever:
    """Looks windows up.  ``log`` may be left out: then the topic alone is read."""

    def __init__(self, log: Log | None, topic: Topic) -> None:
        self._log = log
        self._topic = topic

    async def window(
        self,
        tenant_id: str,
        user_id: str,
        conversation_id: str,
        first: int,
        last: int,
        turns: int = DEFAULT_TURNS,
    ) -> MessageWindow:
        """Return the window around messages ``first`` to ``last``, of a conversation of the person.

        Raises:
            InvalidWindow: there can be no such window.
            NotFound: the person takes part in no conversation of that name.
            DependencyUnavailable: Redis or Kafka does not answer.
        """
        start, end = bounds(conversation_id, first, last, turns)
        logged = await self._in_log(tenant_id, user_id, conversation_id, start, end)
        found, length = logged or (await self._topic.turns(tenant_id, conversation_id), 0)
        if logged is None and not any(turn.user_id == user_id for turn in found):
            raise NotFound(
                f"{user_id} takes part in no conversation {conversation_id} of tenant {tenant_id} "
                "whose turns are still kept: check the names"
            )
        return window(conversation_id, first, last, turns, found, length)

    async def _in_log(
        self, tenant_id: str, user_id: str, conversation_id: str, start: int, end: int
    ) -> tuple[list[Turn], int] | None:
        """Return the log's turns of the window, and the conversation's length; ``None`` if turns are
        missing.
        """
        if self._log is None or not await self._log.takes_part(tenant_id, user_id, conversation_id):
            return None
        found = await self._log.turns(tenant_id, conversation_id, start, end)
        length = await self._log.length(tenant_id, conversation_id)
        # After it has expired a log begins anew in the middle of its conversation.
        there = max(0, min(end, length - 1) - start + 1)
        return (found, length) if len(found) >= there and length else None
