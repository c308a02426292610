"""State of conversations in ingest, from the changelog that a restarted worker recovers from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from aiokafka import TopicPartition

from models.errors import NotFound
from processors.conversations.state import ConversationState, is_page
from streams.agents.ingest.conversations import STATE
from streams.clients.catalog import catalog_for
from streams.clients.kafka import broker
from streams.clients.kafka.lookup import Lookup
from streams.clients.topics import COMMANDS, MESSAGES, SUMMARIES
from streams.config.settings import Settings
from streams.runtime.stored import StoredPartition
from streams.runtime.table import PartitionState

CHANGELOG = "switchboard-ingest-conversations-changelog"

#: The sources of the stage.
SOURCES = (MESSAGES, SUMMARIES, COMMANDS)

#: An earlier owner's late write lies next to the newer one, so among so many there is the one that holds.
_LATEST = 20


class Stored(NamedTuple):
    """A conversation's latest state: where its messages lie, and the next offset of each source."""

    partition: int
    next_offsets: Sequence[int]
    state: ConversationState


async def find(lookup: Lookup, conversation_id: str) -> Stored | None:
    """Return the latest state of a conversation, ``None`` if there is none; see :func:`find_all`."""
    return (await find_all(lookup, [conversation_id])).get(conversation_id)


async def find_all(lookup: Lookup, conversation_ids: Iterable[str]) -> dict[str, Stored]:
    """Return the latest state of those of the conversations that there is one of.

    Raises :class:`NotFound` when the changelog does not exist.
    """
    found = {}
    for name in dict.fromkeys(conversation_ids):
        key = name.encode()
        read = await lookup.find(CHANGELOG, key, newest=_LATEST)
        if read is None:
            raise NotFound(f"{CHANGELOG} does not exist yet: `switchboard topics apply` creates it")
        stored = StoredPartition(SOURCES)
        stored.fold(record for record in read.records if record.key == key)
        value = stored.values.get(key)
        payload = None if value is None else stored.layout.payload(value)
        state = STATE.decode(payload, key) if payload is not None else None
        # Of some that were closed before they began it is known that they were.
        if value is not None and state is not None and state.next_index:
            offsets = [stored.layout.next_offset(value, number) for number in range(len(SOURCES))]
            found[name] = Stored(read.partition, offsets, state)
    return found


async def of_person(settings: Settings, tenant_id: str, user_id: str) -> list[str]:
    """Return the conversations that a person began, as far as they are remembered."""
    topic = catalog_for(settings).name(CHANGELOG)
    partitions = (await broker.partitions_of(settings, [topic])).get(topic, 0)
    places = [TopicPartition(topic, number) for number in range(partitions)]
    stored = StoredPartition(SOURCES)  # a conversation is in one partition
    async with broker.reading(settings) as consumer:
        consumer.assign(places)
        ends = await broker.ends_of(consumer, places)
        async for record in broker.until(consumer, ends):
            if record.key is not None and not is_page(record.key):
                stored.fold([record])
    states = ((key, STATE.decode(payload, key)) for key, payload in PartitionState(stored).items())
    return sorted(
        key.decode()
        for key, state in states
        if state.next_index and (state.tenant_id, state.user_id) == (tenant_id, user_id)
    )
