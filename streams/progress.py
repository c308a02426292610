"""How far a message has come on its way from the log into what is known."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from enum import StrEnum

import msgspec
from aiokafka import TopicPartition

from models.errors import NotFound
from models.facts import FactStatus
from models.messages import ChatMessage
from models.ports import FactFilter
from processors.conversations.state import ConversationPolicy, silent_at
from streams import conversation_states
from streams.dead_letters import letters_of
from streams.kafka import broker
from streams.remembered.ports import Facts, Log
from streams.settings import Settings
from streams.topics.catalog import catalog_for

MESSAGES = "chat.messages.v1"
WINDOWS = "memory.windows.v1"

#: Turns among which a message is looked for; one further back has left its window long ago.
_LATEST_TURNS = 200
_PAGE = 500
_POLL_SECONDS = 0.5


class State(StrEnum):
    """How far.  ``extracted``: read, and nothing was learned of it; ``searchable``: with what was learned."""

    WAITING = "waiting"
    IN_WINDOW = "in_window"
    EXTRACTING = "extracting"
    EXTRACTED = "extracted"
    SEARCHABLE = "searchable"
    DEAD_LETTERED = "dead_lettered"


#: Nothing more becomes of it.
_FINAL = (State.EXTRACTED, State.SEARCHABLE, State.DEAD_LETTERED)


class Waiting(msgspec.Struct, frozen=True, kw_only=True):
    """The open window: it ends with ``size`` messages, when the conversation is closed, or at ``closes_at``."""

    messages: int
    size: int
    closes_at: datetime


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """How far a message has come.  ``window``: in which it waits; ``fact_ids``: what rests on it;
    ``reason``: why it was refused.
    """

    position: str
    state: State
    message_id: str = ""
    conversation_id: str = ""
    window: Waiting | None = None
    fact_ids: tuple[str, ...] = ()
    reason: str = ""


class ProgressReader:
    """Follows messages by where they stand in the log."""

    def __init__(self, settings: Settings, facts: Facts, log: Log) -> None:
        self._settings = settings
        self._catalog = catalog_for(settings)
        self._facts = facts
        self._log = log

    async def at(
        self, tenant_id: str, user_id: str | None, partition: int, offset: int, wait_seconds: float = 0.0
    ) -> Progress:
        """Return how far a message has come; with ``wait_seconds``, once nothing more becomes of it or they are
        over.

        Raises:
            NotFound: there is none of this person (any more) at this position.
            DependencyUnavailable: Kafka, or what holds the facts, does not answer.
        """
        clock = asyncio.get_running_loop().time
        deadline = clock() + wait_seconds
        message = await self._message(partition, offset)
        if message is not None and (message.tenant_id != tenant_id or user_id not in (None, message.user_id)):
            raise _unknown(partition, offset)
        while True:
            found = await self._look(message, partition, offset)
            if found.state in _FINAL or clock() >= deadline:
                return found
            await asyncio.sleep(_POLL_SECONDS)

    async def _message(self, partition: int, offset: int) -> ChatMessage | None:
        """Return the message at a position; ``None``: what stands there is none."""
        spec = self._catalog.get(MESSAGES)
        if not 0 <= partition < spec.partitions:
            raise _unknown(partition, offset)
        place = TopicPartition(spec.name, partition)
        async with broker.reading(self._settings) as consumer:
            consumer.assign([place])
            ends, begins = (
                await broker.ends_of(consumer, [place]),
                await broker.beginnings_of(consumer, [place]),
            )
            if not begins[place] <= offset < ends[place]:
                raise _unknown(partition, offset)
            consumer.seek(place, offset)
            async with asyncio.timeout(broker.ANSWER_SECONDS):
                record = await consumer.getone(place)
        if record.offset != offset:
            raise _unknown(partition, offset)
        try:
            return msgspec.json.decode(record.value or b"", type=ChatMessage)
        except msgspec.MsgspecError:
            return None

    async def _look(self, message: ChatMessage | None, partition: int, offset: int) -> Progress:
        position = f"{partition}:{offset}"
        if message is None:
            return await self._refused(position, partition, offset) or Progress(
                position=position, state=State.WAITING
            )
        known = Progress(
            position=position,
            state=State.WAITING,
            message_id=message.message_id,
            conversation_id=message.conversation_id,
        )
        stored = await conversation_states.find(self._settings, message.conversation_id)
        if stored is None or stored.next_offsets[0] <= offset:
            return await self._refused(position, partition, offset) or known
        state = stored.state
        index = await self._index(message)
        first = state.cursor.from_index + state.cursor.overlap
        if index is None or index >= first:
            at = silent_at(state, ConversationPolicy(idle_seconds=self._settings.idle_seconds))
            window = Waiting(
                messages=state.next_index - state.cursor.from_index,
                size=self._settings.window_size,
                closes_at=datetime.fromtimestamp(at, UTC),
            )
            return msgspec.structs.replace(known, state=State.IN_WINDOW, window=window)
        if facts := await self._resting_on(message):
            return msgspec.structs.replace(known, state=State.SEARCHABLE, fact_ids=facts)
        done = await self._extracted()
        return msgspec.structs.replace(known, state=State.EXTRACTED if done else State.EXTRACTING)

    async def _index(self, message: ChatMessage) -> int | None:
        turns = await self._log.last_turns(message.tenant_id, message.conversation_id, _LATEST_TURNS)
        found = [turn.index for turn in turns if turn.message_id == message.message_id]
        if found:
            return found[-1]
        return None if len(turns) < _LATEST_TURNS else -1

    async def _resting_on(self, message: ChatMessage) -> tuple[str, ...]:
        where = FactFilter(user_id=message.user_id, tenant_id=message.tenant_id, statuses=(FactStatus.ACTIVE,))
        found: list[str] = []
        start: str | None = None
        while True:
            page, start = await self._facts.page(where, _PAGE, start)
            found += [
                fact.fact_id
                for fact in page
                if any(
                    source.conversation_id == message.conversation_id
                    and message.message_id in source.message_ids
                    for source in fact.provenance
                )
            ]
            if start is None:
                return tuple(found)

    async def _extracted(self) -> bool:
        """Say whether what ingest has written is read by everybody on the way to the facts."""
        sources = {
            self._settings.group("memory"): [
                self._catalog.name(name) for name in (WINDOWS, "memory.fact-candidates.v1")
            ],
            self._settings.group("recall"): [self._catalog.name("memory.facts.v1")],
        }
        return all(row.lag == 0 for row in await broker.group_lags(self._settings, sources))

    async def _refused(self, position: str, partition: int, offset: int) -> Progress | None:
        queue = self._catalog.dead_letter_name(MESSAGES)
        for letter in await letters_of(self._settings, queue):
            if (letter.source_partition, letter.source_offset) == (str(partition), str(offset)):
                why = f"{letter.reason}: {letter.message}"
                return Progress(position=position, state=State.DEAD_LETTERED, reason=why)
        return None


def _unknown(partition: int, offset: int) -> NotFound:
    return NotFound(f"there is no message at {partition}:{offset} of {MESSAGES} (any more)")
