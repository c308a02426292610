"""People of whom no view has anything: whether something was said by or to them that nobody has read yet.

What was accepted lies in ``chat.messages.v1``, and behind that in ``memory.turns.v1``, before the views have
it.  Only what lies there beyond the offsets that the recall service has committed is looked at.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime

import msgspec
from aiokafka import AIOKafkaConsumer, TopicPartition

from models.errors import DependencyUnavailable, InvalidRecord
from models.ids import turn_id
from models.messages import DEFAULT_TENANT, PUNCTUATION_HEADER
from streams.agents.message_log import read_message
from streams.clients.catalog import TURNS, catalog_for
from streams.clients.kafka import broker
from streams.clients.kafka.readers import Readers
from streams.clients.records import SourceRecord, header
from streams.clients.topics import MESSAGES
from streams.config.settings import Settings
from streams.queries.conversations.erased import Erased

#: How long it may take to tell (seconds).
_WAITS_SECONDS = 3.0

#: How many records are looked through; a service that is further behind than that has not read anybody.
MOST_UNREAD = 20_000

#: Who asks at the same time: more of them would only wait for the broker together.
_AT_ONCE = 4


class _Utterance(msgspec.Struct):
    """Owner of a message or a turn.  ``arrived_at``: arrival of the turn's message."""

    message_id: str
    conversation_id: str
    user_id: str
    tenant_id: str = DEFAULT_TENANT
    arrived_at: datetime | None = None


_decode = msgspec.json.Decoder(_Utterance).decode


class Unread:
    """Tells who is not read yet from whom nobody ever heard of."""

    def __init__(self, settings: Settings, erased: Erased, readers: Readers) -> None:
        self._settings = settings
        self._erased = erased
        self._reading, self._committed = readers.reading, readers.committed
        self._room = asyncio.Semaphore(_AT_ONCE)

    async def waits(
        self,
        tenant_id: str,
        user_id: str,
        is_known: Callable[[], Awaitable[bool]],
        until: datetime | None = None,
    ) -> bool:
        """Tell of a person of whom no view has anything whether something was said by or to them all the same.

        So it is, too, while more is unread than can be looked through: theirs may be among it.  If the broker
        does not answer, they are as unknown as anybody else.  ``is_known`` looks at the views once more.
        ``until``: only what had arrived by then counts.
        """
        is_behind = False
        try:
            async with asyncio.timeout(_WAITS_SECONDS), self._room, self._reading() as consumer:
                begins, ends = await self._beyond(consumer)
                is_behind = bool(begins)
                if sum(ends[place] - begins[place] for place in ends) > MOST_UNREAD:
                    return True
                said = await _of_person(consumer, begins, ends, tenant_id, user_id)
                if until is not None:
                    said = [each for each in said if each[1] <= until.timestamp() * 1000]
                if said and await self._counts(tenant_id, user_id, said):
                    return True
        except (DependencyUnavailable, TimeoutError):
            return is_behind
        # What was read between the first look at the views and the one at the offsets is there by now.
        return await is_known()

    async def _beyond(
        self, consumer: AIOKafkaConsumer
    ) -> tuple[dict[TopicPartition, int], dict[TopicPartition, int]]:
        """Return from where to where each partition is unread, of those that are."""
        specs = [catalog_for(self._settings).get(name) for name in (MESSAGES, TURNS)]
        places = [TopicPartition(spec.name, number) for spec in specs for number in range(spec.partitions)]
        # First how far it is: what it read until then lies further on, or in a view.
        read = await self._committed(self._settings.group("recall"))
        ends, kept = await asyncio.gather(
            broker.ends_of(consumer, places), broker.beginnings_of(consumer, places)
        )
        begins = {place: max(read.get(place, 0), kept[place]) for place in places}
        unread = [place for place in places if begins[place] < ends[place]]
        return {place: begins[place] for place in unread}, {place: ends[place] for place in unread}

    async def _counts(self, tenant_id: str, user_id: str, said: list[tuple[_Utterance, int]]) -> bool:
        """Tell whether any of it was not erased."""
        turns: dict[str, list[str]] = {}
        for each, _ in said:
            turns.setdefault(each.conversation_id, []).append(_turn_of(each))
        until = await self._erased.erasures(tenant_id, user_id, turns)
        return any(
            arrived_ms
            > max(until.person, until.conversations[each.conversation_id], until.turns.get(_turn_of(each), -1))
            for each, arrived_ms in said
        )


async def _of_person(
    consumer: AIOKafkaConsumer,
    begins: dict[TopicPartition, int],
    ends: dict[TopicPartition, int],
    tenant_id: str,
    user_id: str,
) -> list[tuple[_Utterance, int]]:
    """Return the messages to or from a person, and their arrival (ms)."""
    if not begins:
        return []
    consumer.assign([*begins])
    for place, offset in begins.items():
        consumer.seek(place, offset)
    found = []
    async for batch in broker.batches_until(consumer, ends):
        for record in batch:
            said = _read(record)
            if said is not None and (said.tenant_id, said.user_id) == (tenant_id, user_id):
                found.append((said, _arrived_ms(said, record)))
    return found


def _read(record: SourceRecord) -> _Utterance | None:
    """Return the owner of a record; ``None`` if it has none, or is invalid."""
    if record.value is None or header(record.headers, PUNCTUATION_HEADER) is not None:
        return None
    try:
        return _decode(record.value)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        pass  # a message as another client has it, or what the services dead-letter
    try:
        said = read_message(record)
    except InvalidRecord:
        return None
    return _Utterance(said.message_id, said.conversation_id, said.user_id, said.tenant_id)


def _turn_of(said: _Utterance) -> str:
    return turn_id(said.tenant_id, said.conversation_id, said.message_id)


def _arrived_ms(said: _Utterance, record: SourceRecord) -> int:
    return record.timestamp if said.arrived_at is None else round(said.arrived_at.timestamp() * 1000)
