"""Unpacking what the broker sent: compressed batches are decompressed here, within a bound (rule 8).

A broker counts compressed bytes, so 18 KB that it accepted may hold 600 MB.  aiokafka would unpack them whole,
and a batch that it cannot read ends the worker, and the next one that takes the partition over.  So each answer
to a fetch passes through here first.  A compressed batch leaves as an uncompressed one with the same offsets,
producer and transaction; one that is too large, or damaged, leaves as a batch of a single empty record at its
last offset, and :class:`UnreadBatch` takes the place of that record before anybody sees it.  To everything that
counts positions, nothing has happened.

Of records that are not compressed aiokafka is the better reader, but for one thing: a header whose name is not
UTF-8 ends it.  Once it has refused something of a partition, records of it are read here first, and such names
get replacement characters, as in Java.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterable
from typing import Any

from models.errors import InvalidRecord
from streams.clients.aiokafka_internals import FetchRequest
from streams.clients.records import UnreadBatch
from streams.runtime.batches import (
    HEADER_BYTES,
    Batch,
    batches,
    empty_record,
    is_intact,
    rewritten,
    seal,
    with_readable_names,
)
from streams.runtime.decompression import CODECS, decompress_into
from streams.runtime.faust_internals import TP

#: Of one partition no more batches are unpacked once they have this many bytes; the rest is fetched again.
_ENOUGH_BYTES = 16 << 20


class Unpacker:
    """Decompresses batches; what cannot be is set aside.

    ``limit``: most bytes of one batch, and of all compressed batches in one answer, when decompressed.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._set_aside: dict[tuple[str, int, int], UnreadBatch] = {}
        self._distrusted: set[tuple[str, int]] = set()

    def watch(self, client: Any) -> None:
        """Unpack what aiokafka's ``client`` fetches from now on."""
        send = client.send

        async def send_and_unpack(node_id: int, request: Any, **options: Any) -> Any:
            response = await send(node_id, request, **options)
            if isinstance(request, FetchRequest):
                response.topics = self.unpack(response.topics)
            return response

        client.send = send_and_unpack

    def unpack(self, topics: Iterable[tuple[str, Iterable[tuple[Any, ...]]]]) -> list[Any]:
        """Return a fetch's response by topic, with its batches unpacked.

        A partition's entry begins with its number and ends with its batches.  They may end early: the
        consumer asks for the rest, as it does after an answer that was full.
        """
        left = self._limit
        unpacked = []
        for topic, partitions in topics:
            entries = []
            for entry in partitions:
                data = entry[-1]
                if data:
                    data, used = self.unpack_partition(topic, entry[0], data, min(left, _ENOUGH_BYTES))
                    left -= used
                entries.append((*entry[:-1], data))
            unpacked.append((topic, entries))
        return unpacked

    def unpack_partition(self, topic: str, partition: int, data: bytes, room: int) -> tuple[bytes, int]:
        """Return ``data`` (batches) without compression, and how many bytes were decompressed.

        After ``room`` decompressed bytes the rest of ``data`` is left out.
        """
        distrusted = (topic, partition) in self._distrusted
        parts: list[bytes] = []
        used = start = 0
        for batch in batches(data):
            if not (batch.codec or distrusted) or batch.payload_start == batch.end:
                continue
            if not is_intact(data, batch):
                # For aiokafka to refuse.
                continue
            parts.append(data[start : batch.start])
            start = batch.end
            if batch.codec and used >= room:
                return b"".join(parts), used
            try:
                written = self._unpacked(data, batch, distrusted)
            except InvalidRecord as error:
                written = self._put_aside(topic, partition, data, batch, error)
            parts.append(written)
            used += len(written) if batch.codec else 0
        if not parts:
            return data, 0
        parts.append(data[start:])
        return b"".join(parts), used

    def _unpacked(self, data: bytes, batch: Batch, distrusted: bool) -> bytes:
        if batch.codec:
            # Reserved, not filled: a page of it takes memory once something is written there.
            with mmap.mmap(-1, HEADER_BYTES + self._limit) as memory, memoryview(memory) as view:
                payload = data[batch.payload_start : batch.end]
                with view[HEADER_BYTES:] as room:
                    size = decompress_into(room, batch.codec, payload)
                with view[: HEADER_BYTES + size] as whole:
                    data, batch = seal(whole, data, batch, batch.record_count), batch.moved(size)
        if distrusted:
            try:
                payload = with_readable_names(data[batch.payload_start : batch.end], batch.record_count)
            except ValueError as exc:
                raise InvalidRecord("batch_unreadable", f"its records cannot be read: {exc}") from None
            return rewritten(data, batch, payload, batch.record_count)
        return data

    def _put_aside(self, topic: str, partition: int, data: bytes, batch: Batch, error: InvalidRecord) -> bytes:
        unread = UnreadBatch(
            topic=topic,
            partition=partition,
            first_offset=batch.first_offset,
            offset=batch.last_offset,
            timestamp=batch.latest,
            codec=CODECS.get(batch.codec, str(batch.codec)),
            record_count=batch.record_count,
            data=data[batch.start : batch.end],
            reason=error.reason,
            message=str(error),
        )
        self._set_aside[topic, partition, unread.offset] = unread
        place = empty_record(batch.last_offset - batch.first_offset)
        return rewritten(data, batch, place, 1)

    def distrust(self, tps: Iterable[TP]) -> bool:
        """Read records of ``tps`` here first: aiokafka has refused some.  ``False`` if that is done already."""
        partitions = {(tp.topic, tp.partition) for tp in tps}
        new = not partitions <= self._distrusted
        self._distrusted |= partitions
        return new

    def put_back(self, records: list[Any]) -> list[Any]:
        """Put what was set aside into the places that were kept for it in ``records``."""
        if self._set_aside:
            for at, record in enumerate(records):
                unread = self._set_aside.pop((record.topic, record.partition, record.offset), None)
                if unread is not None:
                    records[at] = unread
        return records
