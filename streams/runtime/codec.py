"""How state is stored: a format byte, then the value.

::

    format byte           body
    P vvvvvvv             MessagePack or JSON; a zlib stream of it if P (packed) is set
    │    └── version of the value's shape, 1..127
    └── 0x80

A codec writes one version and reads it and the one before (or more): a worker of the next release goes on with
what this one stored.  Golden values of every version are checked in and read by a test, so a changed struct
that no longer reads them is noticed before it is released.

State is this project's own writing.  If it cannot be read, no record is to blame: :class:`ConsistencyError`, so
that the worker stops instead of burying good records.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any, Generic, TypeVar

import msgspec

from models.errors import ConsistencyError

V = TypeVar("V")

#: The bit of the format byte that says that the body is a zlib stream.
_PACKED = 0x80


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
        if not 1 <= version < _PACKED:
            raise ValueError(f"{name}: versions are 1 to {_PACKED - 1}, not {version}")
        if version > 1 and version - 1 not in (older or {}):
            raise ValueError(f"{name}: version {version} must be able to read version {version - 1}")
        self.name = name
        self.version = version
        self._readers: dict[int, Callable[[bytes], V]] = {**(older or {}), version: form.Decoder(kind).decode}
        self._encode: Callable[[V], bytes] = form.Encoder().encode
        self._plain, self._packed = bytes([version]), bytes([version | _PACKED])

    @property
    def reads(self) -> tuple[int, ...]:
        """The versions that can be read, in ascending order."""
        return tuple(sorted(self._readers))

    def encode(self, value: V, *, packed: bool = False) -> bytes:
        """Return ``value`` as stored.  ``packed``: compressed, for what will not be read for some time."""
        body = self._encode(value)
        return self._packed + zlib.compress(body, 1) if packed else self._plain + body

    def decode(self, payload: bytes, key: bytes = b"") -> V:
        """Return the value that :meth:`encode` wrote, or a codec of an earlier version.

        Raises:
            ConsistencyError: it was written by a later version, or it is damaged.
        """
        if not payload:
            raise self._unreadable(key, "it is empty")
        version = payload[0] & ~_PACKED
        reader = self._readers.get(version)
        if reader is None:
            known = " and ".join(map(str, self.reads))
            raise self._unreadable(key, f"it has format {version}, and this program reads {known}")
        try:
            body = payload[1:]
            return reader(zlib.decompress(body) if payload[0] & _PACKED else body)
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
