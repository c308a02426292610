"""Reading and writing ``models.memo.v1``, outside of any consumer group; other topics are looked up in as well.

Connected with the first use.  Whatever is wrong with the broker is waited for (:class:`DependencyUnavailable`).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import NamedTuple

import msgspec
import structlog
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.errors import KafkaError
from aiokafka.structs import ConsumerRecord

from models.errors import DependencyUnavailable, InvalidRecord
from models.memo import Memo
from streams.clients import cloudevents, erasures, kafka
from streams.clients.catalog import catalog_for
from streams.clients.erasures import Erasing
from streams.clients.partitioner import partition_of
from streams.clients.records import Headers
from streams.config.settings import Settings
from streams.config.single_flight import SingleFlight

TOPIC = "models.memo.v1"

log = structlog.get_logger("streams.memo")

#: A fetch that finds nothing holds up the next one for so long.
_FETCH_WAIT_MS = 20


_decode = msgspec.json.Decoder(Memo).decode


def read(value: bytes | None) -> Memo | None:
    """Return the decoded record; ``None`` for a tombstone, or a foreign record."""
    try:
        return _decode(value) if value else None
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


class Entry(NamedTuple):
    """A record of the topic: ``value`` ``None`` erases, or ``headers`` say what was erased of a conversation.

    ``offset`` and ``timestamp`` (the broker's, in ms): of one that was read.
    """

    key: bytes
    value: bytes | None
    partition: int
    offset: int = -1
    timestamp: int = 0
    headers: Headers = ()


def erasing_of(entry: Entry) -> Erasing | None:
    """Return the erasure of a conversation in a record without a value; ``None`` if there is none."""
    try:
        return erasures.read(entry)
    except InvalidRecord as error:
        log.warning("an erasure in the memo cannot be read, and is passed over", reason=str(error))
        return None


class Looked:
    """How far somebody has looked through the topic for answers, and which they found.

    ``at``: by partition, the offset up to which; ``count``: of how many records.
    """

    def __init__(self) -> None:
        self.at: dict[int, int] = {}
        self.count = 0
        self.theirs: dict[tuple[bytes, int], None] = {}

    def take(self, entry: Entry, is_theirs: Callable[[Memo, Entry], bool]) -> None:
        """Look at a record."""
        self.count += 1
        memo = read(entry.value)
        if memo is not None and is_theirs(memo, entry):
            self.theirs[entry.key, entry.partition] = None
        elif entry.value is None:
            self.theirs.pop((entry.key, entry.partition), None)


class MemoTopic:
    """The topic of a deployment."""

    def __init__(self, settings: Settings, name: str = "switchboard-memo", topic: str = TOPIC) -> None:
        self._settings = settings
        self._name = name
        self._spec = catalog_for(settings).get(topic)
        self._patience = settings.request_timeout_seconds
        self._reader: AIOKafkaConsumer | None = None
        self._writer: AIOKafkaProducer | None = None
        self._reading = asyncio.Lock()
        self._connecting = asyncio.Lock()
        self._ends = SingleFlight(self._ask_for_ends, "memo-ends", self._reading)

    @property
    def partitions(self) -> int:
        """How many there are."""
        return self._spec.partitions

    def partition(self, user_id: str) -> int:
        """Return the partition of a person."""
        return partition_of(user_id.encode(), self._spec.partitions)

    async def write(self, entries: Sequence[Entry]) -> None:
        """Write records and return when the broker has confirmed them all."""
        async with self._asking("written"):
            if self._writer is None:
                async with self._connecting:
                    self._writer = self._writer or await self._connected_writer()
            writer = self._writer
            trace = cloudevents.trace_headers()
            sent = [
                await writer.send(
                    self._spec.name, each.value, each.key, each.partition, headers=[*each.headers, *trace]
                )
                for each in entries
            ]
            await asyncio.gather(*sent)

    async def ends(self) -> list[int]:
        """Return the offset of the next record of each partition: who asks meanwhile shares the next answer."""
        return await self._ends.run()

    async def _ask_for_ends(self) -> list[int]:
        places = [TopicPartition(self._spec.name, number) for number in range(self._spec.partitions)]
        async with self._asking("read"):
            ends = await (await self._connected_reader()).end_offsets(places)
        return [int(ends[place]) for place in places]

    async def read(self, partition: int, start: int, end: int) -> AsyncGenerator[tuple[list[Entry], int], None]:
        """Yield the records from ``start`` to before ``end``, some at a time, and the offset after them."""
        async with aclosing(self.read_spans({partition: (start, end)})) as parts:
            async for _, entries, following in parts:
                yield entries, following

    async def read_spans(
        self, spans: Mapping[int, tuple[int, int]]
    ) -> AsyncGenerator[tuple[int, list[Entry], int], None]:
        """Yield the records of several partitions at once, of each from an offset to before another: some of
        one partition at a time, and the offset after them.  Of a partition without any, nothing.
        """
        # A partition that has nothing would be waited for until the poll gives up.
        places = {TopicPartition(self._spec.name, number): span for number, span in spans.items()}
        ends = {place: end for place, (start, end) in places.items() if start < end}
        if not ends:
            return
        async with self._reading:
            async with self._asking("read"):
                reader = await self._connected_reader()
                reader.assign([*ends])
                for place in ends:
                    reader.seek(place, spans[place.partition][0])
            try:
                while ends:
                    async with self._asking("read"):
                        got = await reader.getmany(*ends, timeout_ms=1000, max_records=500)
                        at = {place: await reader.position(place) for place in ends}
                    for place, following in at.items():
                        end = ends[place]
                        if following >= end:
                            del ends[place]
                            reader.pause(place)
                        records = [each for each in got.get(place, ()) if each.offset < end]
                        yield place.partition, [_entry(each) for each in records], min(following, end)
            finally:
                reader.pause(*ends)

    async def all(self) -> AsyncIterator[Entry]:
        """Yield every record, partition by partition; none if the topic does not exist."""
        if not await self.exists():
            return
        for partition, end in enumerate(await self.ends()):
            async with aclosing(self.read(partition, 0, end)) as parts:
                async for entries, _ in parts:
                    for entry in entries:
                        yield entry

    async def mark(self, erased: Iterable[Erasing], *, now: bool = False) -> None:
        """Write what was erased of conversations: of that nobody is asked any more.

        ``now``: up to the arrival of what is written here.
        """
        entries = []
        for each in erased:
            at = self.partition(each.conversation_id)
            headers = each.headers_now() if now else each.headers()
            entries.append(Entry(each.key(at).encode(), None, at, headers=headers))
        await self.write(entries)

    async def forget(self, is_theirs: Callable[[Memo, Entry], bool], looked: Looked | None = None) -> int:
        """Erase the answers that are somebody's; return how many there were.

        ``looked``: how far an earlier call came, which did not come to its end.
        """
        looked = Looked() if looked is None else looked
        spans = {number: (looked.at.get(number, 0), end) for number, end in enumerate(await self.ends())}
        async with aclosing(self.read_spans(spans)) as parts:
            async for partition, entries, following in parts:
                for entry in entries:
                    looked.take(entry, is_theirs)
                looked.at[partition] = following
        if looked.theirs:
            await self.write([Entry(key, None, partition) for key, partition in looked.theirs])
        return len(looked.theirs)

    async def close(self) -> None:
        """Close what was opened."""
        await self._ends.close()
        for client in (self._reader, self._writer):
            if client is not None:
                await kafka.close(client)

    async def exists(self) -> bool:
        """Say whether the topic was made."""
        async with self._reading, self._asking("read"):
            return self._spec.name in await (await self._connected_reader()).topics()

    async def _connected_reader(self) -> AIOKafkaConsumer:
        if self._reader is None:
            made = kafka.make_consumer(
                self._settings,
                self._name,
                group_id=None,
                auto_offset_reset="earliest",
                fetch_max_wait_ms=_FETCH_WAIT_MS,
            )
            await self._connect(made)
            self._reader = made
        return self._reader

    async def _connected_writer(self) -> AIOKafkaProducer:
        made = kafka.make_producer(self._settings, self._name)
        await self._connect(made)
        return made

    async def _connect(self, client: AIOKafkaConsumer | AIOKafkaProducer) -> None:
        try:
            await kafka.connect(client, self._settings, self._patience)
        except BaseException:  # given up, too: what is half connected is nobody's to close
            await kafka.close(client)
            raise

    @asynccontextmanager
    async def _asking(self, what: str) -> AsyncIterator[None]:
        try:
            async with asyncio.timeout(self._patience):
                yield
        except (KafkaError, OSError) as error:  # TimeoutError is one
            raise DependencyUnavailable(
                "kafka", f"{self._spec.name} could not be {what} ({error or type(error).__name__})"
            ) from error


def _entry(record: ConsumerRecord[bytes, bytes]) -> Entry:
    return Entry(
        record.key or b"", record.value, record.partition, record.offset, record.timestamp, record.headers
    )
