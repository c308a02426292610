"""Looking up in ``memory.embeddings.v1`` whether a vector was made before: that topic is the memo of vectors.

It is read when something is asked for that was asked for before, and only what has come since the last time.
In memory is where the latest vector of each thing lies, not the vector: 130 bytes, so 130 MB for a million
things, whose vectors take 3 GB in the index; and nothing before requests are read again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import aclosing
from hashlib import blake2b
from itertools import pairwise

import msgspec

from models.vectors import EmbeddingResult
from streams.llm.memo.topic import Entry, MemoTopic

VECTORS = "memory.embeddings.v1"

#: Records between two that are looked for, which are read through rather than skipped.
_STRIDE = 500

_decode = msgspec.json.Decoder(EmbeddingResult).decode


class VectorLog:
    """The log of vectors, as it stands at each call."""

    def __init__(self, topic: MemoTopic) -> None:
        self._topic = topic
        #: By partition: a hash of each key, and the offset of the key's latest record.
        self._latest: defaultdict[int, dict[int, int]] = defaultdict(dict)
        self._read_to: defaultdict[int, int] = defaultdict(int)

    async def find(self, partition: int, wanted: Mapping[bytes, tuple[str, str]]) -> dict[bytes, bytes]:
        """Return the packed vectors of things, by key, whose latest one is of the wanted (text hash, model).

        Raises:
            DependencyUnavailable: the broker does not answer.
        """
        await self._catch_up(partition)
        latest = self._latest[partition]
        offsets = {latest[name] for key in wanted if (name := _name(key)) in latest}
        found: dict[bytes, bytes] = {}
        for start, end in _stretches(offsets):
            async for entry in self._entries(partition, start, end):
                if entry.offset not in offsets or (result := _read(entry)) is None:
                    continue
                if wanted.get(entry.key) == (result.text_hash, result.model):
                    found[entry.key] = result.vector
        return found

    async def _catch_up(self, partition: int) -> None:
        latest, end = self._latest[partition], (await self._topic.ends())[partition]
        if end < self._read_to[partition]:  # the topic was made again
            latest.clear()
            self._read_to[partition] = 0
        async for entry in self._entries(partition, self._read_to[partition], end):
            if entry.value is None:
                latest.pop(_name(entry.key), None)
            else:
                latest[_name(entry.key)] = entry.offset
            # One by one: a long log takes more than one call, and the next one goes on from here.
            self._read_to[partition] = entry.offset + 1
        self._read_to[partition] = end

    async def _entries(self, partition: int, start: int, end: int) -> AsyncIterator[Entry]:
        if start >= end:
            return
        # Closed here, whatever happens: it holds the reader.
        async with aclosing(self._topic.read(partition, start, end)) as parts:
            async for entries, _ in parts:
                for entry in entries:
                    yield entry


def _read(entry: Entry) -> EmbeddingResult | None:
    """Return the decoded record; ``None`` for a tombstone, or a foreign record."""
    try:
        return _decode(entry.value) if entry.value else None
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def _name(key: bytes) -> int:
    return int.from_bytes(blake2b(key, digest_size=8).digest())


def _stretches(offsets: Iterable[int]) -> list[tuple[int, int]]:
    """Return stretches of the log, from an offset to before another, that together hold all of ``offsets``."""
    places = sorted(offsets)
    if not places:
        return []
    cuts = [number for number, (one, next_one) in enumerate(pairwise(places), 1) if next_one - one > _STRIDE]
    return [(places[a], places[b - 1] + 1) for a, b in zip([0, *cuts], [*cuts, len(places)], strict=True)]
