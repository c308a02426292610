"""Contents of the log that a replay would read, and what is no longer in it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from hashlib import blake2b
from typing import NamedTuple

import msgspec
from aiokafka import TopicPartition

from models.errors import ConfigurationError, ConsistencyError
from models.messages import PUNCTUATION_HEADER
from processors.conversations.state import is_page
from streams.admin.topics import reset_log
from streams.agents.recall import turns
from streams.clients.catalog import catalog_for
from streams.clients.kafka import broker
from streams.clients.records import SourceRecord
from streams.clients.topics import COMMANDS, MESSAGES
from streams.config.settings import Settings
from streams.runtime.marks import Layout

_TURNS_TABLE = "switchboard-recall-turns-changelog"


Beginnings = dict[str, dict[int, int]]


class Gone(msgspec.Struct, frozen=True):
    """Losses by retention: records of messages and of commands, and conversations without a beginning.

    ``conversations``: those that began before the first message that their partition still has.
    """

    messages: int
    commands: int
    conversations: int

    def __bool__(self) -> bool:
        return bool(self.messages or self.commands)


class Held(NamedTuple):
    """Extent of a replay: messages and their bytes, conversations, commands, and the first arrival.

    ``beginnings``: by topic (contract name) and partition, the offset of the first record that is left.
    """

    messages: int
    bytes: int
    conversations: int
    commands: int
    since: datetime | None
    gone: Gone
    beginnings: Beginnings


async def look(settings: Settings, tell: Callable[[str], None] = lambda _: None) -> Held:
    """Read the log of the live generation once.

    Raises:
        ConfigurationError: its topics do not exist.
        DependencyUnavailable: the broker does not answer.
    """
    catalog = catalog_for(settings)
    names = {contract: catalog.name(contract) for contract in (MESSAGES, COMMANDS)}
    partitions = await broker.partitions_of(settings, names.values())
    if missing := names.values() - partitions.keys():
        raise ConfigurationError(
            f"nothing to replay: {', '.join(sorted(missing))} does not exist at {settings.bootstrap_servers}. "
            "Run `switchboard topics apply`"
        )
    seen = _Seen(names[MESSAGES])
    async with broker.reading(settings) as consumer:
        places = [TopicPartition(name, number) for name, count in partitions.items() for number in range(count)]
        consumer.assign(places)
        ends = await broker.ends_of(consumer, places)
        beginnings = await broker.beginnings_of(consumer, places)
        async for records in broker.batches_until(consumer, ends):
            for record in records:
                seen.note(record)
            tell(f"{seen.messages:,} messages, {len(seen.conversations):,} conversations")
    lost = {name: sum(beginnings[place] for place in places if place.topic == name) for name in partitions}
    cut = 0
    if lost[names[MESSAGES]]:
        cut_off = {place.partition for place in places if beginnings[place] and place.topic == names[MESSAGES]}
        cut = await _cut_conversations(settings, {number: seen.first.get(number) for number in cut_off})
    since = min(seen.first.values(), default=None)
    return Held(
        seen.messages,
        seen.bytes,
        len(seen.conversations),
        seen.commands,
        None if since is None else datetime.fromtimestamp(since / 1000, UTC),
        Gone(lost[names[MESSAGES]], lost[names[COMMANDS]], cut),
        {
            contract: {place.partition: beginnings[place] for place in places if place.topic == name}
            for contract, name in names.items()
        },
    )


class _Seen:
    """Counts of records; ``first``: by partition of messages, the arrival (ms) of the first one."""

    def __init__(self, messages: str) -> None:
        self.messages = self.bytes = self.commands = 0
        self.conversations: set[int] = set()
        self.first: dict[int, int] = {}
        self._messages = messages

    def note(self, record: SourceRecord) -> None:
        if record.topic != self._messages:
            self.commands += 1
            return
        self.bytes += len(record.value or b"") + len(record.key or b"")
        self.first.setdefault(record.partition, record.timestamp)
        if any(name == PUNCTUATION_HEADER for name, _ in record.headers):
            return
        self.messages += 1
        self.conversations.add(int.from_bytes(blake2b(record.key or b"", digest_size=8).digest()))


async def _cut_conversations(settings: Settings, first: dict[int, int | None]) -> int:
    """Count the conversations that began before the first message (``None``: none is left) of a partition."""
    layout, cut = Layout((MESSAGES,)), set[bytes]()

    def note(record: SourceRecord) -> None:
        if record.key is None or is_page(record.key) or record.partition not in first:
            return
        cut.discard(record.key)
        try:
            payload = layout.payload(layout.adopt(record.value)) if record.value else None
            state = None if payload is None else turns.STATE.decode(payload)
        except ConsistencyError:
            return  # the worker says so when it starts
        arrival = first[record.partition]
        if state is None or not state.sequence.next_index:
            return
        if arrival is None or state.began_at * 1000 < arrival:
            cut.add(record.key)

    await reset_log.read(settings, catalog_for(settings).get(_TURNS_TABLE), note)
    return len(cut)
