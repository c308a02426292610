"""How state is stored: a format byte, then the value.

::

    format byte           body
    P L vvvvvv            MessagePack or JSON; a zlib stream of it if P (packed) is set, an LZ4 block if L is
    │ │    └── version of the value's shape, 1..63
    │ └── 0x40
    └── 0x80

State is written with every change, so all but the shortest values are LZ4 blocks: half the bytes for the
changelog, the broker and memory, in no more time than those bytes would have taken.  zlib packs them smaller
still, at eight times the cost.

A codec writes one version and reads it and the one before (or more): a worker of the next release goes on with
what this one stored.  Golden values of every version are checked in and read by a test, so a changed struct
that no longer reads them is noticed before it is released.

State is this project's own writing.  If it cannot be read, no record is to blame: :class:`ConsistencyError`, so
that the worker stops instead of dead-lettering good records.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any, Generic, TypeVar

import cramjam
import msgspec

from models.errors import ConsistencyError

V = TypeVar("V")

#: The bits of the format byte: the body is a zlib stream; it is an LZ4 block with its size before it.
_PACKED, _BLOCK = 0x80, 0x40
_VERSION = 0x3F

#: A body of fewer bytes than this is stored as it is.
_SHORT = 200

_compress, _decompress = cramjam.lz4.compress_block, cramjam.lz4.decompress_block


def body_of(payload: bytes) -> bytes:
    """Return the decompressed body of a stored value, without its format byte.

    Raises:
        ConsistencyError: it is damaged.
    """
    body = payload[1:]
    try:
        if payload[0] & _PACKED:
            return zlib.decompress(body)
        return bytes(_decompress(body)) if payload[0] & _BLOCK else body
    except (zlib.error, cramjam.DecompressionError, IndexError) as exc:
        raise ConsistencyError(f"a stored value is damaged: {exc}") from exc


class Codec(Generic[V]):
    """Encodes values of one kind.

    ``name`` is what errors and golden files call the kind.  ``version`` is what is written; ``older`` reads
    what was written before, by version, from the body (never packed).  ``form`` is :mod:`msgspec.msgpack`, or
    :mod:`msgspec.json` for values whose times must keep their offset from UTC.

    Raises:
        ValueError: no reader for the version before ``version``.
    """

    def __init__(
        self,
        name: str,
        kind: type[V] | Any,
        *,
        version: int = 1,
        older: Mapping[int, Callable[[bytes], V]] | None = None,
        form: ModuleType = msgspec.msgpack,
    ) -> None:
        if not 1 <= version <= _VERSION:
            raise ValueError(f"{name}: versions are 1 to {_VERSION}, not {version}")
        if version > 1 and version - 1 not in (older or {}):
            raise ValueError(f"{name}: version {version} must be able to read version {version - 1}")
        self.name = name
        self.version = version
        self._readers: dict[int, Callable[[bytes], V]] = {**(older or {}), version: form.Decoder(kind).decode}
        self._encode: Callable[[V], bytes] = form.Encoder().encode
        self._plain, self._block, self._packed = (bytes([version | bit]) for bit in (0, _BLOCK, _PACKED))

    @property
    def reads(self) -> tuple[int, ...]:
        """The versions that can be read, in ascending order."""
        return tuple(sorted(self._readers))

    def encode(self, value: V, *, packed: bool = False) -> bytes:
        """Return ``value`` as stored.  ``packed``: small, for what will not be read for some time."""
        body = self._encode(value)
        if packed:
            return self._packed + zlib.compress(body, 1)
        if len(body) < _SHORT:
            return self._plain + body
        return self._block + _compress(body)

    def decode(self, payload: bytes, key: bytes = b"") -> V:
        """Return the value that :meth:`encode` wrote, or a codec of an earlier version.

        Raises:
            ConsistencyError: it was written by a later version, or it is damaged.
        """
        if not payload:
            raise self._unreadable(key, "it is empty")
        version = payload[0] & _VERSION
        reader = self._readers.get(version)
        if reader is None:
            known = " and ".join(map(str, self.reads))
            raise self._unreadable(key, f"it has format {version}, and this program reads {known}")
        try:
            return reader(body_of(payload))
        except MemoryError:
            raise
        except Exception as exc:  # whatever a reader raises, it is not a record's fault
            raise self._unreadable(key, f"{type(exc).__name__}: {exc}") from exc

    def _unreadable(self, key: bytes, why: str) -> ConsistencyError:
        return ConsistencyError(
            f"the stored {self.name} of {key!r} cannot be read: {why}. Run the release that wrote it, or "
            "start over from what the topics hold: stop the service's workers and run "
            "`switchboard state reset SERVICE`"
        )
