"""Turns that this process knows nothing of: they run elsewhere, or ran, and log and topic tell of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Protocol

from models.errors import DependencyUnavailable, NotFound
from models.turns import Turn
from streams.chat.events import Status, TurnEnd, TurnEvent, TurnNames
from streams.chat.unread import said_in_topic
from streams.clients.kafka.lookup import Lookup
from streams.config.printing import encode_json
from streams.queries.conversations.erased import Erased

#: Turns of a conversation among which one is looked for.
LOOKED_AT = 500

#: How long a turn that runs elsewhere is waited for before it counts as interrupted (seconds), and how often
#: the log is looked at.
_ELSEWHERE_SECONDS, LOOK_SECONDS = 10.0, 0.5

#: How long after a turn has ended elsewhere its message may take into the log (seconds).
_LOGGED_SECONDS = 5.0


class TurnEnded(NotFound):
    """The turn has its answer, and cannot be tried again."""


class Log(Erased, Protocol):
    """The conversations, as :class:`streams.stores.remembered.ports.Log`."""

    async def last_turns(self, tenant_id: str, conversation_id: str, count: int) -> list[Turn]:
        """Return the last turns of a conversation, oldest first."""
        ...


class Elsewhere:
    """Asks about turns.  ``runs``: tells whether one runs anywhere."""

    def __init__(self, log: Log, lookup: Lookup, runs: Callable[[TurnNames], Awaitable[bool]]) -> None:
        self._log = log
        self._lookup = lookup
        self._runs = runs

    async def events(self, names: TurnNames) -> AsyncGenerator[TurnEvent]:
        """Yield what the log tells of a turn.

        Raises:
            NotFound: neither the log nor the topic knows it.
            DependencyUnavailable: whether there is such a turn cannot be told.
        """
        clock = asyncio.get_running_loop().time
        deadline = begun_until = clock() + _ELSEWHERE_SECONDS
        number = 1
        is_said: bool | None = False
        while True:
            runs = await self._runs(names)
            asked, answered = await self._told_of(names)
            if not (asked or is_said):
                is_said = await said_in_topic(self._lookup, self._log, names)
                if is_said is None and clock() > begun_until:
                    raise DependencyUnavailable("kafka", "whether there is such a turn cannot be told now")
                if is_said is False and (not runs or clock() > begun_until):
                    whose = f"{names.user_id} has no turn {names.turn_id}"
                    raise NotFound(f"{whose} in conversation {names.conversation_id}")
            if (asked or is_said) and number == 1:
                yield TurnEvent(number, "turn", encode_json(names.told()))
                number += 1
            if answered is not None:
                told = {"message_id": answered.message_id, "role": answered.role, "content": answered.text}
                yield TurnEvent(number, "message", encode_json(told))
                yield TurnEvent(number + 1, "end", encode_json(TurnEnd(status=Status.ANSWERED)))
                return
            if runs:  # its end comes into the log a moment after it is no longer held
                deadline = clock() + _LOGGED_SECONDS
            elif clock() > deadline:
                message = "The turn did not come to its end. What you said is kept."
                end = TurnEnd(status=Status.INTERRUPTED, try_again=True, message=message)
                yield TurnEvent(number, "end", encode_json(end))
                return
            await asyncio.sleep(LOOK_SECONDS)

    async def said_before(self, names: TurnNames, content: str) -> Turn | None:
        """Return the message of a turn; ``None``: not sent yet, but ``content`` is about to be.

        Raises:
            TurnEnded: it has been answered.
            NotFound: there is no such turn to be tried again.
            DependencyUnavailable: the log does not know it yet.
        """
        asked, answered = await self._told_of(names)
        if answered is not None:
            raise TurnEnded(f"the turn {names.turn_id} has its answer: {answered.message_id}")
        if asked is None and not content:
            if await said_in_topic(self._lookup, self._log, names) is not False:
                raise DependencyUnavailable(
                    "recall", "what was said is not in the log yet: try again in a moment"
                )
            raise NotFound(f"{names.user_id} has no turn {names.turn_id} that could be tried again")
        return asked

    async def _told_of(self, names: TurnNames) -> tuple[Turn | None, Turn | None]:
        """Return the two messages of a turn, as far as the log has them."""
        turns = await self._log.last_turns(names.tenant_id, names.conversation_id, LOOKED_AT)
        mine = {each.message_id: each for each in turns if each.user_id == names.user_id}
        return mine.get(names.message_id), mine.get(names.answer_id)
