"""Digests of topics: whether two logs say the same, without keeping what they say.

What is compared is the latest value of each key, per partition.  A key is the record's own, or for a topic
that is not compacted the fields that its file names (``digest_key``): two copies of a window are one window.
The value is the decoded JSON, so that order and spaces are no difference, without the fields that the file
lists under ``digest_ignores``.  Headers and times of records are no part of it.

Per key 40 bytes are kept: 16 of the key's hash, 16 of key and value, and the offset, at which the few
records that differ can be read once more.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from models.errors import ConfigurationError
from streams.clients.records import SourceRecord
from streams.clients.topic_spec import TopicSpec

#: How many digests a partition is told by: those of the keys whose hash begins with the same byte.
BUCKETS = 256

#: Stands for the digest of a removed key.
_GONE = bytes(16)

#: Rows that are collected before they are merged into what is known, or as many as are known.
_PENDING_ROWS = 1 << 16

_ROW = np.dtype([("key", ">u8", 2), ("digest", ">u8", 2), ("offset", ">i8")])

Rows = NDArray[Any]
Path = tuple[str, ...]


class Recipe:
    """The identity of a topic's records, and the fields by which they are compared.

    ``exact``: every field counts, also those that two logs of the same things may differ in.
    """

    def __init__(self, spec: TopicSpec, *, exact: bool = False) -> None:
        if not spec.digest_key and not spec.is_compacted:
            raise ConfigurationError(
                f"{spec.name} keeps several records per key, and its file does not say how they differ: "
                "only topics with digest_key in schemas/topics, and compacted ones, can be compared"
            )
        self._key: Sequence[str] = spec.digest_key
        ignored = () if exact else spec.digest_ignores
        self._ignores: list[Path] = [tuple(path.split(".")) for path in ignored]

    def read(self, record: SourceRecord) -> tuple[str, Any]:
        """Return the key and the compared value of a record; ``None`` for a removed key.

        A value that is no JSON is compared as bytes, under the record's key.
        """
        key = (record.key or b"").decode(errors="replace")
        if record.value is None:
            return key, None
        try:
            value = msgspec.json.decode(record.value)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return key, record.value
        if self._key and isinstance(value, dict):
            named = [value.get(name) for name in self._key]
            # What has no name of its own (a message without an id) is told by what it says.
            unnamed = [record.value.decode(errors="replace")] if None in named else []
            key = "/".join([*map(str, named), *unnamed])
        for path in self._ignores:
            _drop(value, path)
        return key, value

    def digest(self, record: SourceRecord) -> tuple[bytes, bytes]:
        """Return the 16-byte hashes of a record's key, and of its key and value together."""
        key, value = self.read(record)
        hashed = blake2b(key.encode(errors="replace"), digest_size=16)
        of_key = hashed.digest()
        if value is None:
            return of_key, _GONE
        hashed.update(b"\0")
        hashed.update(value if isinstance(value, bytes) else msgspec.json.encode(value, order="sorted"))
        return of_key, hashed.digest()


def _drop(node: Any, path: Path) -> None:
    """Remove a field from an object, or from each object of a list."""
    if isinstance(node, list):
        for item in node:
            _drop(item, path)
    elif isinstance(node, dict):
        if len(path) == 1:
            node.pop(path[0], None)
        else:
            _drop(node.get(path[0]), path[1:])


class PartitionDigests:
    """The digest of the latest value of each key of one partition; records are added in order."""

    def __init__(self) -> None:
        self.records = 0
        self._rows: Rows = np.empty(0, _ROW)
        self._pending = bytearray()

    def add(self, key: bytes, digest: bytes, offset: int) -> None:
        """Note the digest of a later record."""
        self.records += 1
        self._pending += key
        self._pending += digest
        self._pending += offset.to_bytes(8, "big")
        if len(self._pending) >= _ROW.itemsize * max(_PENDING_ROWS, len(self._rows)):
            self._merge()

    def _merge(self) -> None:
        pending = np.frombuffer(bytes(self._pending), _ROW)
        self._pending.clear()
        self.take(pending)

    def take(self, later: Rows) -> None:
        """Note rows of later records."""
        rows = np.concatenate([self._rows, later])
        # A stable sort: among rows of one key, the later record stays behind the earlier one.
        order = np.lexsort((rows["key"][:, 1], rows["key"][:, 0]))
        rows = rows[order]
        latest = np.ones(len(rows), bool)
        latest[:-1] = np.any(rows["key"][1:] != rows["key"][:-1], axis=1)
        self._rows = rows[latest]

    def rows(self) -> Rows:
        """Return the rows sorted by key, without removed keys."""
        if self._pending:
            self._merge()
        return self._rows[np.any(self._rows["digest"] != 0, axis=1)]

    def buckets(self) -> list[str]:
        """Return the :data:`BUCKETS` digests of the partition, in hexadecimal digits."""
        rows = self.rows()
        sums = np.zeros((BUCKETS, 2), np.uint64)
        # Sums wrap around; a key is in one row, so nothing cancels out.
        np.add.at(sums, (rows["key"][:, 0] >> np.uint64(56)).astype(np.intp), rows["digest"].astype(np.uint64))
        return [f"{int(high):016x}{int(low):016x}" for high, low in sums]


def merged(parts: Sequence[PartitionDigests]) -> PartitionDigests:
    """Merge the digests of several partitions; each key is in one of them.

    An offset ``o`` of partition ``n`` becomes ``o * len(parts) + n``.
    """
    if len(parts) == 1:
        return parts[0]
    whole = PartitionDigests()
    for number, part in enumerate(parts):
        rows = part.rows()
        rows["offset"] = rows["offset"] * len(parts) + number
        whole.take(rows)
    return whole


def combined(parts: Iterable[str]) -> str:
    """Return one digest of several, in their order."""
    return blake2b("".join(parts).encode(), digest_size=16).hexdigest()


class PartitionDifference(NamedTuple):
    """Where two partitions differ, as offsets of the records that are the latest of their keys."""

    only_first: list[int]
    only_second: list[int]
    changed: list[tuple[int, int]]

    def __len__(self) -> int:
        return len(self.only_first) + len(self.only_second) + len(self.changed)


def difference(first: PartitionDigests, second: PartitionDigests) -> PartitionDifference:
    """Compare two partitions key by key."""
    sides = [first.rows(), second.rows()]
    rows = np.concatenate(sides)
    side = np.repeat([0, 1], [len(each) for each in sides])
    order = np.lexsort((side, rows["key"][:, 1], rows["key"][:, 0]))
    rows, side = rows[order], side[order]
    offsets = rows["offset"]
    # Both sides know a key when two neighbours are equal in it.
    pairs = np.flatnonzero(np.all(rows["key"][1:] == rows["key"][:-1], axis=1))
    alone = np.ones(len(rows), bool)
    alone[pairs] = alone[pairs + 1] = False
    differ = pairs[np.any(rows["digest"][pairs] != rows["digest"][pairs + 1], axis=1)]
    return PartitionDifference(
        only_first=sorted(map(int, offsets[alone & (side == 0)])),
        only_second=sorted(map(int, offsets[alone & (side == 1)])),
        changed=sorted(zip(map(int, offsets[differ]), map(int, offsets[differ + 1]), strict=True)),
    )


def differing_fields(first: Any, second: Any, path: str = "") -> list[str]:
    """Name the fields in which two decoded values differ: ``provenance.quote``, or ``(value)``."""
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        found: list[str] = []
        for name in sorted({*first, *second}):
            if first.get(name) != second.get(name) or (name in first) != (name in second):
                found += differing_fields(first.get(name), second.get(name), f"{path}.{name}" if path else name)
        return found
    if isinstance(first, list) and isinstance(second, list) and len(first) == len(second):
        items = (
            differing_fields(*pair, path) for pair in zip(first, second, strict=True) if pair[0] != pair[1]
        )
        return [*dict.fromkeys(name for item in items for name in item)]
    return [path or "(value)"]
