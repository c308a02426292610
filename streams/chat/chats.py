"""Beginning, finding and stopping turns.  What is running is here; of all others :mod:`.elsewhere` tells."""

from __future__ import annotations

import asyncio
import secrets
from collections import OrderedDict
from collections.abc import AsyncGenerator
from contextlib import ExitStack
from datetime import UTC, datetime
from typing import Protocol

import msgspec
import structlog

from models.errors import DependencyUnavailable, NotFound
from models.ids import turn_id as id_of_turn
from models.messages import ChatMessage, Role
from models.turns import Turn, TurnSource
from processors.responses.history import SeenElement
from processors.text.tokens import TokenCounter
from streams.agents.masking import mask_of
from streams.chat import elsewhere
from streams.chat.answering.driving import Answerer
from streams.chat.elsewhere import LOOKED_AT, Elsewhere
from streams.chat.events import Status, TurnEvent, TurnNames
from streams.chat.filtering import FilterRules
from streams.chat.running import Means, RunningTurn
from streams.chat.sending import Sending
from streams.chat.sessions import Sessions
from streams.chat.stopping import Stops
from streams.chat.turn_limiter import TurnLimiter
from streams.chat.turn_locks import TurnLocks
from streams.clients.kafka.lookup import Lookup
from streams.clients.topics import MESSAGES
from streams.config.settings import Settings
from streams.stores.conversation_log import Extent
from streams.stores.remembered.ports import Leases, somebody_elses

log = structlog.get_logger("streams.chat")

#: Turns that have ended and can still be listened to from their beginning.
_ENDED_KEPT = 200

#: An index that no turn has: the question is the last one, wherever it will stand.
_LAST = 1 << 40

#: Where what is about to be said stands.
_NOWHERE = TurnSource(topic=MESSAGES, partition=-1, offset=-1)


#: Tenant, person, conversation and turn: who asks names the turn, and others may use the same name.
_Whose = tuple[str, str, str, str]


class Log(elsewhere.Log, Protocol):
    """The conversations, as :class:`streams.stores.remembered.ports.Log`."""

    async def takes_part(self, tenant_id: str, user_id: str, conversation_id: str) -> bool:
        """Say whether the person is known in the conversation."""
        ...

    async def extent(self, tenant_id: str, conversation_id: str) -> Extent | None:
        """Return how long a conversation is; ``None``: it is not here."""
        ...


class Chats:
    """The chats of one process."""

    def __init__(
        self,
        settings: Settings,
        answerer: Answerer,
        log: Log,
        count: TokenCounter,
        lookup: Lookup,
        leases: Leases,
        room: TurnLimiter,
    ) -> None:
        self._settings = settings
        self._mask = mask_of(settings)
        self._room = room
        self._busy = TurnLocks(leases)
        self._elsewhere = Elsewhere(log, lookup, self._busy.runs)
        self._stops = Stops(leases)
        self._log = log
        self._sessions = Sessions(settings, log, lookup, count)
        self._sending = Sending(settings)
        self._rules = FilterRules(settings, room.metrics)
        self._means = Means(answerer, self._sending, self._rules, self._said, self._sessions)
        self._turns: OrderedDict[_Whose, RunningTurn] = OrderedDict()

    @property
    def is_idle(self) -> bool:
        """True if no turn runs."""
        return all(each.ended is not None for each in self._turns.values())

    async def close(self) -> None:
        """Interrupt what runs, and let go of the broker."""
        running = [each for each in self._turns.values() if each.ended is None]
        await asyncio.gather(*(each.interrupt() for each in running))
        await self._busy.close()
        await self._stops.close()
        await self._sending.close()

    async def begin(
        self, tenant_id: str, user_id: str, conversation_id: str, content: str, turn_id: str = ""
    ) -> RunningTurn:
        """Begin a turn as soon as what was said is confirmed.

        ``turn_id`` without ``content``: one to be tried again.  With it, whoever says it has named the turn,
        and may say it once more if nobody knows whether it arrived: it is said once.

        Raises:
            NoRoom: as many run here as may, and nobody has heard this one yet; nothing of it is written.
            TurnRunning: there is another one in this conversation.
            TurnEnded: the turn has been answered.
            NotFound: it is somebody else's conversation, or there is no such turn to be tried again.
            InvalidRecord: what was said, or one of its names, is nothing that the services take.
            DependencyUnavailable: what was said could not be written.
        """
        is_named, turn_id = bool(turn_id), turn_id or f"t-{secrets.token_hex(12)}"
        names = TurnNames(
            turn_id=turn_id,
            conversation_id=conversation_id,
            user_id=user_id,
            tenant_id=tenant_id,
            response_id=f"{turn_id}.{secrets.token_hex(4)}",
        )
        if content and self._room.is_full and not (is_named and await self._was_said(names, content)):
            raise self._room.refuse()
        with ExitStack() as place:
            self._room.enter()
            place.callback(self._room.leave)
            running = await self._begin(names, content, is_named=is_named)
            running.when_over(place.pop_all().close)
        return running

    async def _begin(self, names: TurnNames, content: str, *, is_named: bool) -> RunningTurn:
        said = self._saying(names, content)
        place = names.tenant_id, names.conversation_id
        # It takes as long as all that comes before the turn runs, and what it finds nobody sees before.
        looking = self._means.answerer.look(said)
        try:
            is_new = await self._check(names)
            async with self._busy.take(names, begins=is_new) as taken:
                known, before, *_ = await asyncio.gather(
                    self._sessions.told_summaries(place, is_new=is_new),
                    self._elsewhere.said_before(names, content) if is_named else _not_named(),
                    self._stops.announce(names),
                    self._sessions.wait_for_answer(place),
                )
                if before is not None:
                    looking.cancel()
                    taken.running = RunningTurn(names, before, self._means, known)
                else:
                    said = await self._say(names, content, said)
                    taken.running = RunningTurn(names, said, self._means, known, looking)
                self._keep(taken.running)
                taken.running.start()
                self._stops.watch(taken.running)
        except BaseException:
            looking.cancel()
            raise
        return taken.running

    async def _was_said(self, names: TurnNames, content: str) -> bool:
        """Tell whether the log has what is said in a turn, which another process may have died of.

        Raises:
            TurnEnded: it has been answered.
        """
        await self._check(names)
        return await self._elsewhere.said_before(names, content) is not None

    def _keep(self, running: RunningTurn) -> None:
        self._turns[_whose(running.names)] = running
        ended = [name for name, each in self._turns.items() if each.ended is not None]
        for name in ended[: max(0, len(ended) - _ENDED_KEPT)]:
            del self._turns[name]

    def find(self, tenant_id: str, user_id: str, conversation_id: str, turn_id: str) -> RunningTurn | None:
        """Return a turn of a person that runs, or ran, in this process."""
        return self._turns.get((tenant_id, user_id, conversation_id, turn_id))

    async def stop(self, tenant_id: str, user_id: str, turn_id: str) -> Status:
        """End a person's turn, wherever it runs; return how it ended.  Of several: the one that runs.

        Raises:
            NotFound: there is none, or it has ended some time ago.
            DependencyUnavailable: it runs elsewhere, and cannot be reached.
        """
        found = [
            each
            for (tenant, user, _, name), each in self._turns.items()
            if (tenant, user, name) == (tenant_id, user_id, turn_id)
        ]
        running = next((each for each in found if each.ended is None), None)
        if running is not None:
            await running.stop()
            return Status.STOPPED if running.ended is None else running.ended.status
        try:
            return await self._stops.stop(tenant_id, user_id, turn_id)
        except (DependencyUnavailable, NotFound):
            if found and (end := found[-1].ended) is not None:
                return end.status
            raise

    def elsewhere(
        self, tenant_id: str, user_id: str, conversation_id: str, turn_id: str
    ) -> AsyncGenerator[TurnEvent]:
        """Yield what is told of a turn that this process knows nothing of; see :meth:`Elsewhere.events`."""
        names = TurnNames(
            turn_id=turn_id,
            conversation_id=conversation_id,
            user_id=user_id,
            tenant_id=tenant_id,
            response_id="",
        )
        return self._elsewhere.events(names)

    async def _check(self, names: TurnNames) -> bool:
        """Refuse what would show somebody else's conversation to a model, and its answer to this person.

        Returns whether the conversation begins with this turn, as far as the log tells: who may begin it is for
        whoever takes it to say, for what was said a moment ago is not in the log yet.
        """
        try:
            known, mine = await asyncio.gather(
                self._log.extent(names.tenant_id, names.conversation_id),
                self._log.takes_part(names.tenant_id, names.user_id, names.conversation_id),
            )
            if known is not None and not mine:  # it may have been read between the two answers
                mine = await self._log.takes_part(names.tenant_id, names.user_id, names.conversation_id)
        except DependencyUnavailable as error:
            raise DependencyUnavailable(
                error.dependency, f"whose conversation it is cannot be told: {error}"
            ) from error
        if known is not None and not mine:
            raise somebody_elses(names.user_id, names.conversation_id)
        return known is None

    def _saying(self, names: TurnNames, content: str) -> Turn:
        """Return the turn to be sent, in the form of the log."""
        now = datetime.now(UTC)
        text, found = self._mask(content)
        return Turn(
            turn_id=id_of_turn(names.tenant_id, names.conversation_id, names.message_id),
            message_id=names.message_id,
            conversation_id=names.conversation_id,
            user_id=names.user_id,
            tenant_id=names.tenant_id,
            role=Role.USER,
            text=text,
            sent_at=now,
            arrived_at=now,
            began_at=now,
            index=_LAST,
            source=_NOWHERE,
            masked=found.total(),
        )

    async def _say(self, names: TurnNames, content: str, turn: Turn) -> Turn:
        message = ChatMessage(
            message_id=names.message_id,
            conversation_id=names.conversation_id,
            user_id=names.user_id,
            tenant_id=names.tenant_id,
            role=Role.USER,
            content=content,
            sent_at=turn.sent_at,
            metadata={"turn_id": names.turn_id},
        )
        return msgspec.structs.replace(turn, source=await self._sending.message(message))

    async def _said(self, names: TurnNames) -> tuple[SeenElement, ...]:
        """Return the earlier answers that an answer must not repeat, if memory spans them."""
        if not self._rules.spans_conversation:
            return ()
        try:
            turns = await self._log.last_turns(names.tenant_id, names.conversation_id, LOOKED_AT)
        except DependencyUnavailable as error:
            log.warning("an answer is not compared with those before it", error=str(error))
            return ()
        return await asyncio.to_thread(self._rules.said_in, turns, datetime.now(UTC))


async def _not_named() -> None:
    """Return no earlier turn, since none is named."""


def _whose(names: TurnNames) -> _Whose:
    return names.tenant_id, names.user_id, names.conversation_id, names.turn_id
