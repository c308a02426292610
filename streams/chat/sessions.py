"""Sessions as turns count them: what was said, and the summaries that stand for the beginning of it."""

from __future__ import annotations

import asyncio
from collections import OrderedDict

import msgspec
import structlog

from models.errors import DependencyUnavailable
from models.messages import ChatMessage
from models.summaries import Summary
from models.turns import Turn
from processors.text.tokens import TokenCounter
from streams.agents.masking import mask_of
from streams.chat.answering.driving import RECENT
from streams.chat.counting import Session
from streams.chat.elsewhere import LOOK_SECONDS, LOOKED_AT, Log
from streams.clients.kafka.lookup import Lookup
from streams.config.settings import Settings
from streams.queries.conversations.summary_topic import summaries_of

log = structlog.get_logger("streams.chat")

#: How long after an answer a turn waits for the log to have it (seconds).
_LOGGED_SECONDS = 5.0

#: Conversations of which it is kept which summaries their turns have told, and what was answered last.
_KNOWN_KEPT = 5000

#: Tenant and conversation.
_Place = tuple[str, str]


class Sessions:
    """The sessions of one process."""

    def __init__(self, settings: Settings, log: Log, lookup: Lookup, count: TokenCounter) -> None:
        self._threshold = settings.token_threshold
        self._mask = mask_of(settings)
        self._log = log
        self._lookup = lookup
        self._count = count
        self._known: OrderedDict[_Place, set[str]] = OrderedDict()
        #: The last answers, and until when the log is waited for that is to have each.
        self._answered: OrderedDict[_Place, tuple[str, float]] = OrderedDict()

    async def told_summaries(self, place: _Place, *, is_new: bool) -> set[str]:
        """Return the ids of the summaries that turns have told: without a turn here before, all that there are.

        Looked for before the message is written, which may itself make one due.
        """
        if place not in self._known:
            there = [] if is_new else await summaries_of(self._lookup, *place)
            # A turn may have begun meanwhile, and tells what it adds.
            self._known.setdefault(place, {each.summary_id for each in there})
        self._known.move_to_end(place)
        known = self._known[place]
        if len(self._known) > _KNOWN_KEPT:
            self._known.popitem(last=False)
        return known

    async def session(self, said: Turn, answered: ChatMessage) -> Session | None:
        """Return a session with what was said last, which the log may not have yet; ``None``: unknown."""
        place = said.tenant_id, said.conversation_id
        self._answered[place] = answered.message_id, asyncio.get_running_loop().time() + _LOGGED_SECONDS
        if len(self._answered) > _KNOWN_KEPT:
            self._answered.popitem(last=False)
        try:
            turns, summaries = await asyncio.gather(
                self._log.last_turns(*place, LOOKED_AT), summaries_of(self._lookup, *place)
            )
        except DependencyUnavailable as error:
            log.warning("the tokens of a session are not counted", error=str(error))
            return None
        answer = msgspec.structs.replace(
            said, message_id=answered.message_id, role=answered.role, text=self._mask(answered.content)[0]
        )
        for each in (said, answer):
            if all(known.message_id != each.message_id for known in turns):
                turns = [*turns, msgspec.structs.replace(each, index=turns[-1].index + 1 if turns else 0)]
        return Session(turns, summaries, self._threshold, self._count)

    async def summaries(self, place: _Place) -> list[Summary] | None:
        """Return the summaries of a session; ``None``: it cannot be told now."""
        try:
            return await summaries_of(self._lookup, *place)
        except DependencyUnavailable as error:
            log.warning("the summaries of a session are not told", error=str(error))
            return None

    async def wait_for_answer(self, place: _Place) -> None:
        """Wait until the log has what was answered last: who goes on at once speaks of that."""
        clock = asyncio.get_running_loop().time
        answer_id, until = self._answered.pop(place, ("", 0.0))
        while answer_id and clock() < until:
            turns = await self._log.last_turns(*place, RECENT)
            if any(each.message_id == answer_id for each in turns):
                return
            await asyncio.sleep(LOOK_SECONDS / 5)
