"""How far a message has come on its way from the log into what is known."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from enum import StrEnum

import msgspec
from aiokafka import TopicPartition

from models.errors import InvalidRecord, NotFound
from models.messages import PUNCTUATION_HEADER, ChatMessage
from models.turns import Turn
from processors.conversations.state import ConversationPolicy, silent_at
from streams.agents.message_log import arrived_at, decode_item, read_message
from streams.clients.catalog import catalog_for
from streams.clients.erasure_ledger import NobodyErased, Refusing
from streams.clients.kafka import broker
from streams.clients.kafka.lookup import Lookup
from streams.clients.records import SourceRecord, header
from streams.clients.topics import MESSAGES, WINDOWS
from streams.config.settings import Settings
from streams.queries.conversations import states as conversation_states
from streams.queries.conversations.erased import is_erased
from streams.queries.conversations.learning import LearningReader, records_of
from streams.queries.dead_letters import letters_of
from streams.stores.remembered.ports import Facts, Log

#: Turns among which a message is looked for; one further back has left its window long ago.
_LATEST_TURNS = 200
_POLL_SECONDS = 0.5

#: By how much the clocks of two brokers may differ (ms).
_CLOCKS_DIFFER_MS = 600_000


class State(StrEnum):
    """How far.  ``extracted``: read, and nothing was learned of it; ``searchable``: with what was learned.

    ``duplicate``: it counts no more, since another message came first under its ``message_id``.
    ``refused``: whoever sent it was erased after that, and before it arrived.
    """

    WAITING = "waiting"
    IN_WINDOW = "in_window"
    EXTRACTING = "extracting"
    EXTRACTED = "extracted"
    SEARCHABLE = "searchable"
    DUPLICATE = "duplicate"
    REFUSED = "refused"
    DEAD_LETTERED = "dead_lettered"


_ERASED = "the person was erased after the message was sent: what they said before that is not taken any more"

#: Nothing more becomes of it.
_FINAL = (State.EXTRACTED, State.SEARCHABLE, State.DUPLICATE, State.REFUSED, State.DEAD_LETTERED)


class Waiting(msgspec.Struct, frozen=True, kw_only=True):
    """The open window: it ends with ``size`` messages, when the conversation is closed, or at ``closes_at``."""

    messages: int
    size: int
    closes_at: datetime


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """How far a message has come.  ``window``: in which it waits; ``fact_ids``: what rests on it;
    ``reason``: why it was refused, or does not count.
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

    def __init__(
        self, settings: Settings, facts: Facts, log: Log, lookup: Lookup, ledger: Refusing | None = None
    ) -> None:
        self._settings = settings
        self._ledger = ledger or NobodyErased()
        self._lookup = lookup
        self._catalog = catalog_for(settings)
        self._learning = LearningReader(settings, facts, lookup)
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
        record = await self._record(partition, offset)
        message = _read(record)
        # Whose a record is that cannot be read, nobody can tell: it is nothing to one person's token.
        if (message is None and user_id is not None) or (
            message is not None and (message.tenant_id != tenant_id or user_id not in (None, message.user_id))
        ):
            raise _unknown(partition, offset)
        while True:
            found = await self._look(record, message)
            if found.state in _FINAL or clock() >= deadline:
                return found
            await asyncio.sleep(_POLL_SECONDS)

    async def _record(self, partition: int, offset: int) -> SourceRecord:
        """Return the record at a position, if it is a message."""
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
                record: SourceRecord = await consumer.getone(place)
        if record.offset != offset or header(record.headers, PUNCTUATION_HEADER) is not None:
            raise _unknown(partition, offset)
        return record

    async def _look(self, record: SourceRecord, message: ChatMessage | None) -> Progress:
        known = Progress(position=f"{record.partition}:{record.offset}", state=State.WAITING)
        if message is None:
            return await self._refused(known, MESSAGES, record) or known
        known = msgspec.structs.replace(
            known, message_id=message.message_id, conversation_id=message.conversation_id
        )
        if self._ledger.refuses(message, arrived_at(record)):
            return msgspec.structs.replace(known, state=State.REFUSED, reason=_ERASED)
        stored = await conversation_states.find(self._lookup, message.conversation_id)
        is_forgotten = False
        if stored is None and await self._is_read(record):
            stored = await conversation_states.find(self._lookup, message.conversation_id)
            is_forgotten = stored is None  # or it was read between the two answers
        if not is_forgotten and (stored is None or stored.next_offsets[0] <= record.offset):
            return await self._refused(known, MESSAGES, record) or known
        turn, index = await self._turn(message)
        first_at = await self._counted_at(record, message, turn)
        if first_at < record.offset:
            return msgspec.structs.replace(
                known, state=State.DUPLICATE, reason=_repeats(message, f"{record.partition}:{first_at}")
            )
        if (index is None or index < 0) and await self._is_erased(record, message):
            raise _unknown(record.partition, record.offset)
        if stored is None:
            return await self._refused(known, MESSAGES, record) or await self._learned(known, message)
        state = stored.state
        first = state.cursor.from_index + state.cursor.overlap
        if index is None or index >= first:
            at = silent_at(state, ConversationPolicy(idle_seconds=self._settings.idle_seconds))
            window = Waiting(
                messages=state.next_index - state.cursor.from_index,
                size=self._settings.window_size,
                closes_at=datetime.fromtimestamp(at, UTC),
            )
            return msgspec.structs.replace(known, state=State.IN_WINDOW, window=window)
        return await self._learned(known, message)

    async def _is_read(self, record: SourceRecord) -> bool:
        read = await self._lookup.committed(self._settings.group("ingest"))
        return read.get(TopicPartition(record.topic, record.partition), 0) > record.offset

    async def _is_erased(self, record: SourceRecord, message: ChatMessage) -> bool:
        whose = message.tenant_id, message.user_id, message.conversation_id, message.message_id
        return await is_erased(self._log, *whose, record.timestamp)

    async def _turn(self, message: ChatMessage) -> tuple[Turn | None, int | None]:
        """Return the turn with this id, if it is a late one, and its index; -1: it may be an earlier one."""
        turns = await self._log.last_turns(message.tenant_id, message.conversation_id, _LATEST_TURNS)
        found = [turn for turn in turns if turn.message_id == message.message_id]
        if found:
            return found[-1], found[-1].index
        return None, None if len(turns) < _LATEST_TURNS else -1

    async def _counted_at(self, record: SourceRecord, message: ChatMessage, turn: Turn | None) -> int:
        """Return the offset of the first message with this id in the life of the conversation."""
        if turn is not None and turn.source.partition == record.partition:
            return turn.source.offset
        first, arrived_ms = record.offset, 0
        forget_ms = self._settings.conversation_forget_days * 86_400_000
        for each in await records_of(self._lookup, MESSAGES, message.conversation_id):
            if each.offset > record.offset:
                break
            if each.timestamp - arrived_ms >= forget_ms:
                first = record.offset
            arrived_ms = max(arrived_ms, each.timestamp)
            if first < record.offset or each.offset == record.offset:
                continue
            try:
                item = decode_item(each, self._settings.max_content_bytes)
            except InvalidRecord:
                continue
            if isinstance(item, ChatMessage) and (item.tenant_id, item.message_id) == (
                message.tenant_id,
                message.message_id,
            ):
                first = each.offset
        return first

    async def _learned(self, known: Progress, message: ChatMessage) -> Progress:
        """Say what came of the window in which the message was new."""
        learned = await self._learning.of(message)
        if learned.fact_ids:
            return msgspec.structs.replace(known, state=State.SEARCHABLE, fact_ids=learned.fact_ids)
        if learned.window is not None and learned.is_read:
            refused = await self._refused(known, WINDOWS, learned.window)
            if refused is not None:
                return refused
        return msgspec.structs.replace(known, state=State.EXTRACTED if learned.is_read else State.EXTRACTING)

    async def _refused(self, known: Progress, topic: str, record: SourceRecord) -> Progress | None:
        """Return why the services do not take a record; its letter came after it."""
        queue = self._catalog.dead_letter_name(topic)
        for letter in await letters_of(self._settings, queue, since_ms=record.timestamp - _CLOCKS_DIFFER_MS):
            if (letter.source_partition, letter.source_offset) == (str(record.partition), str(record.offset)):
                why = f"{letter.reason}: {letter.message}"
                return msgspec.structs.replace(known, state=State.DEAD_LETTERED, reason=why)
        return None


def _read(record: SourceRecord) -> ChatMessage | None:
    """Return the message of a record; ``None``: it is none."""
    try:
        return read_message(record)
    except InvalidRecord:
        return None


def _repeats(message: ChatMessage, first: str) -> str:
    return (
        f"message_id {message.message_id!r} was sent before, at {first}, and counts once: this one changes "
        "nothing, whatever it says. Send an edit under a new message_id"
    )


def _unknown(partition: int, offset: int) -> NotFound:
    return NotFound(f"there is no message at {partition}:{offset} of {MESSAGES} (any more)")
