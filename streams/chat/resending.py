"""Writing what a client sends that sends all of a conversation each time: what is new of it, once."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from datetime import UTC, datetime
from weakref import WeakValueDictionary

import structlog

from models.errors import DependencyUnavailable, InvalidRecord
from models.messages import ChatMessage, Role
from processors.conversations.resent import ResentMessage, key_of
from processors.retrieval.recall.masking import Mask
from streams.chat.elsewhere import Log
from streams.chat.sending import Sending
from streams.clients.sending import check_clock

log = structlog.get_logger("streams.chat")

#: Messages whose ids are kept, of all conversations together.
_MOST_KNOWN = 200_000

#: Turns that are looked at in the log besides as many as were sent.
_BESIDES = 100

#: Longest wait for the broker: the answer does not wait for memory for long (seconds).
_WRITE_SECONDS = 5.0

#: Tenant and conversation.
Place = tuple[str, str]


class _Known:
    """Known messages of a conversation: their ids, and the keys of their words."""

    def __init__(self) -> None:
        self.ids: set[str] = set()
        self.keys: set[str] = set()


class Resending:
    """Writes new messages.  Two ``serve`` may write one twice, under one id: it counts once."""

    def __init__(self, sending: Sending, known: Log, mask: Mask) -> None:
        self._sending = sending
        self._log = known
        self._mask = mask
        self._known: OrderedDict[Place, _Known] = OrderedDict()
        self._size = 0
        self._locks: WeakValueDictionary[Place, asyncio.Lock] = WeakValueDictionary()

    async def write(self, place: Place, user_id: str, said: Sequence[ResentMessage]) -> bool:
        """Have the new ones of ``said`` confirmed, in their order; return whether memory has all of them."""
        lock = self._locks.setdefault(place, asyncio.Lock())
        async with lock:
            known = self._known.get(place)
            if known is None or any(each.message_id not in known.ids for each in said[: _asked_at(said)]):
                known = await self._look(place, len(said))
            new = [each for each in said if each.message_id not in known.ids]
            # A client that leaves out the beginning: what comes first now came after something before.
            if len(said) > 1 and new and new[0] is said[0] and self._is_old(said[0], known):
                new = new[1:]
            try:
                async with asyncio.timeout(_WRITE_SECONDS):
                    refused = await self._send(place, user_id, new)
            except (DependencyUnavailable, TimeoutError) as error:
                log.warning("messages of a chat are not written", error=str(error) or "too slow")
                return False
            self._keep(place, known, said)
            return not refused

    async def _look(self, place: Place, count: int) -> _Known:
        known = self._known.get(place) or _Known()
        tenant_id, conversation_id = place
        try:
            async with asyncio.timeout(_WRITE_SECONDS):
                turns = await self._log.last_turns(tenant_id, conversation_id, count + _BESIDES)
        except (DependencyUnavailable, TimeoutError) as error:
            log.warning("it cannot be told which messages of a chat are new", error=str(error) or "too slow")
            return known
        known.ids.update(turn.message_id for turn in turns)
        known.keys.update(key_of(turn.role, turn.text) for turn in turns)
        return known

    def _is_old(self, said: ResentMessage, known: _Known) -> bool:
        return bool(known.keys.intersection((said.key, key_of(said.role, self._mask(said.text)[0]))))

    async def _send(self, place: Place, user_id: str, new: Sequence[ResentMessage]) -> int:
        """Write messages; return how many of them no service takes."""
        tenant_id, conversation_id = place
        now, refused, messages = datetime.now(UTC), 0, []
        check_clock(now)
        for each in new:
            message = ChatMessage(
                message_id=each.message_id,
                conversation_id=conversation_id,
                user_id=user_id,
                tenant_id=tenant_id,
                role=each.role,
                content=each.text,
                sent_at=now,
            )
            try:
                messages.append(self._sending.checked(message))
            except InvalidRecord as error:
                refused += 1
                log.warning("a message of a chat is not written", reason=error.reason, role=each.role.value)
        await self._sending.send_all(messages)
        return refused

    def _keep(self, place: Place, known: _Known, said: Sequence[ResentMessage]) -> None:
        before = len(self._known[place].ids) if place in self._known else 0
        known.ids.update(each.message_id for each in said)
        known.keys.update(each.key for each in said)
        self._known[place] = known
        self._known.move_to_end(place)
        self._size += len(known.ids) - before
        while self._size > _MOST_KNOWN and len(self._known) > 1:
            _, gone = self._known.popitem(last=False)
            self._size -= len(gone.ids)


def _asked_at(said: Sequence[ResentMessage]) -> int:
    """Return how many messages come up to the last answer: those that are known if this is no new client."""
    answers = [at for at, each in enumerate(said) if each.role is Role.ASSISTANT]
    return answers[-1] + 1 if answers else 0
