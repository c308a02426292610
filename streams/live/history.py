"""What happened in a conversation, from the log: the same events that are seen live, so it plays again."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable
from dataclasses import replace

import msgspec
from aiokafka import TopicPartition

from models.errors import DependencyUnavailable
from streams.adapters.tokenizer import open_counter
from streams.kafka import broker
from streams.live.interest import Interest
from streams.live.records import TOPICS, Happened, Kind, Seen, may_concern, read
from streams.settings import Settings
from streams.topics import Catalog

#: What a conversation consists of.  Its responses are left out: what became of them are messages.
OF_THE_CONVERSATION = frozenset(
    {Kind.MESSAGE, Kind.PUNCTUATION, Kind.WINDOW, Kind.SUMMARY_REQUESTED, Kind.SUMMARY}
)
OF_ITS_PEOPLE = frozenset({Kind.CANDIDATES, Kind.FACT})

_READ_SECONDS = 25.0


class Policy(msgspec.Struct, frozen=True, kw_only=True):
    """When windows end and summaries begin: messages, messages, seconds, tokens."""

    window_size: int
    window_overlap: int
    idle_seconds: float
    token_threshold: int


class Place(msgspec.Struct, frozen=True):
    """A partition, and up to where it was read (the offset after the last record)."""

    topic: str
    partition: int
    read_to: int


class ConversationLog(msgspec.Struct, frozen=True, kw_only=True):
    """A conversation's events in order of their arrival, and who spoke in it.

    ``earlier``: how many of the oldest were left out.
    """

    conversation_id: str
    tenant_id: str
    people: list[str]
    events: list[Happened]
    earlier: int
    read: list[Place]
    policy: Policy


class History:
    """Reads the topics for one question: no group, no state."""

    def __init__(self, settings: Settings, catalog: Catalog) -> None:
        self._settings = settings
        self._catalog = catalog
        self._count = open_counter(settings.tokenizer)

    async def log(self, interest: Interest, limit: int) -> ConversationLog:
        """Return the newest ``limit`` events of ``interest.conversation_id``, what came of it included.

        Raises :class:`DependencyUnavailable` when the broker does not answer, or not all in time.
        """
        try:
            async with asyncio.timeout(_READ_SECONDS):
                seen, places = await self._read([replace(interest, kinds=OF_THE_CONVERSATION)])
                people = sorted({each.user_id for each in seen if each.user_id})
                about = [replace(interest, user_id=name, kinds=OF_ITS_PEOPLE) for name in people]
                learned, more = await self._read(about)
        except TimeoutError:
            raise DependencyUnavailable(
                "kafka", f"reading the log of the conversation took more than {_READ_SECONDS:g} s"
            ) from None
        events = sorted((each.event for each in (*seen, *learned)), key=_order)
        return ConversationLog(
            conversation_id=interest.conversation_id,
            tenant_id=interest.tenant_id,
            people=people,
            events=events[-limit:],
            earlier=max(0, len(events) - limit),
            read=[*places, *more],
            policy=Policy(
                window_size=self._settings.window_size,
                window_overlap=self._settings.window_overlap,
                idle_seconds=self._settings.idle_seconds,
                token_threshold=self._settings.token_threshold,
            ),
        )

    async def _read(self, interests: Collection[Interest]) -> tuple[list[Seen], list[Place]]:
        names = {self._catalog.name(topic): topic for topic in TOPICS}
        wanted = {place for interest in interests for place in interest.places(self._catalog)}
        if not wanted:
            return [], []
        conversations = frozenset(interest.conversation_id.encode() for interest in interests)
        present = await broker.partitions_of(self._settings, names)
        places = [
            TopicPartition(self._catalog.name(topic), number)
            for topic, number in sorted(wanted)
            if number < present.get(self._catalog.name(topic), 0)
        ]
        found: list[Seen] = []
        async with broker.reading(self._settings) as consumer:
            consumer.assign(places)
            ends = await broker.ends_of(consumer, places)
            async for records in broker.batches_until(consumer, ends):
                topic = names[records[0].topic]
                keyed_by = self._catalog.get(topic).key
                for record in records:
                    if not may_concern(record.key, keyed_by, conversations):
                        continue
                    seen = read(record, topic, self._count)
                    if seen is not None and _concerns(interests, seen):
                        found.append(seen)
        return found, [Place(names[place.topic], place.partition, end) for place, end in ends.items()]


def _concerns(interests: Iterable[Interest], seen: Seen) -> bool:
    tenant = seen.tenant_id
    return tenant is not None and any(
        interest.concerns(seen.event.kind, tenant, seen.user_id, seen.conversations) for interest in interests
    )


def _order(event: Happened) -> tuple[object, ...]:
    return event.at, list(TOPICS).index(event.topic), event.partition, event.offset
