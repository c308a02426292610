"""Marks: what a stored value says of itself, before its payload.

::

    format  kind  sources n   source names    term   marks        payload
    1 byte  1     1           n × 4           4      n × 8        the rest

``format`` is :data:`FORMAT`.  ``kind`` is a value or a removal.  The *names* are the first bytes of a hash of
each source's catalog name, in the order of its marks, so that marks are never taken for those of another
topic when a stage's sources change.  The *term* counts the owners that a partition has had: each takes the
next one.  A *mark* is the offset after the last record of its source that was folded in, 0 for none.

What an earlier owner writes late stands behind what the present one wrote, and has a lower term; within one
term, it has a lower mark.  Term and marks are big-endian, so with one source comparing two values is
comparing twelve bytes.  :meth:`Layout.adopt` reads what was stored under another order of sources, or in
format 0: marks alone, in the order of the stage's sources, without a term.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from hashlib import blake2b

from models.errors import ConsistencyError

#: The present format.  Format 0 begins with the highest byte of an offset, which is 0.
FORMAT = 1

_VALUE, _REMOVAL = 0, 1
_NAME_SIZE = 4
_TERM = struct.Struct(">I")
_MARK = struct.Struct(">Q")


class Layout:
    """How the values of a stage with these ``sources`` are laid out.

    Raises:
        ValueError: two sources cannot be distinguished.
    """

    def __init__(self, sources: Sequence[str]) -> None:
        names = [blake2b(source.encode(), digest_size=_NAME_SIZE).digest() for source in sources]
        if len(set(names)) < len(names) or not 0 < len(names) < 256:
            raise ValueError(f"sources that cannot be distinguished: {', '.join(sources)}")
        self._sources = tuple(sources)
        self._names = names
        #: What every value begins with that was stored in this layout and not removed.
        self.header = self._header(_VALUE)
        self._removal = self._header(_REMOVAL)
        self._term_at = len(self.header)
        self._marks_at = self._term_at + _TERM.size
        self._payload_at = self._marks_at + len(names) * _MARK.size
        self._no_marks = bytes(len(names) * _MARK.size)

    def _header(self, kind: int) -> bytes:
        return bytes((FORMAT, kind, len(self._names))) + b"".join(self._names)

    # -- reading ------------------------------------------------------------------------------------------

    def next_offset(self, value: bytes, source_index: int) -> int:
        """Return the offset after the last record of source ``source_index`` that ``value`` has folded in."""
        mark: int = _MARK.unpack_from(value, self._marks_at + source_index * _MARK.size)[0]
        return mark

    def term(self, value: bytes) -> int:
        """Return the term of the owner that wrote ``value``."""
        term: int = _TERM.unpack_from(value, self._term_at)[0]
        return term

    @staticmethod
    def is_removal(value: bytes) -> bool:
        """Say whether ``value`` stands for a removed key."""
        return value[1] == _REMOVAL

    def payload(self, value: bytes) -> bytes | None:
        """Return the stage's payload, or ``None`` if it removed it."""
        return value[self._payload_at :] if value[1] == _VALUE else None

    def is_stale(self, candidate: bytes, current: bytes) -> bool:
        """Say whether ``candidate``, which stands behind ``current``, is an earlier owner's late write.

        It is if its term is lower; or if terms are equal, no mark is ahead and one is behind.
        """
        if len(self._names) == 1:
            return candidate[self._term_at : self._payload_at] < current[self._term_at : self._payload_at]
        at, marks_at = self._term_at, self._marks_at
        if candidate[at:marks_at] != current[at:marks_at]:
            return candidate[at:marks_at] < current[at:marks_at]
        behind = False
        for at in range(marks_at, self._payload_at, _MARK.size):
            theirs, ours = candidate[at : at + _MARK.size], current[at : at + _MARK.size]
            if theirs > ours:
                return False
            behind = behind or theirs < ours
        return behind

    def adopt(self, stored: bytes) -> bytes:
        """Return a value from a changelog in this layout.

        A source that the stage did not read when it stored the value has folded in nothing.

        Raises:
            ConsistencyError: the value is of an unknown format, or has folded in a topic that the stage does
            not
                read any more: what it read is not known where that topic is read again.
        """
        if len(stored) >= self._payload_at and stored.startswith((self.header, self._removal)):
            return stored
        if len(stored) >= len(self._no_marks) and stored[0] == 0:
            return self.header + bytes(_TERM.size) + stored
        if len(stored) < 3 or stored[0] != FORMAT or stored[1] not in (_VALUE, _REMOVAL):
            raise ConsistencyError(f"a stored value begins with {stored[:3].hex()!r}, which no version wrote")
        count = stored[2]
        term_at = 3 + count * _NAME_SIZE
        marks_at = term_at + _TERM.size
        payload_at = marks_at + count * _MARK.size
        if len(stored) < payload_at:
            raise ConsistencyError(f"a stored value of {len(stored)} bytes is shorter than its marks")
        found = {
            stored[3 + n * _NAME_SIZE : 3 + (n + 1) * _NAME_SIZE]: stored[
                marks_at + n * _MARK.size : marks_at + (n + 1) * _MARK.size
            ]
            for n in range(count)
        }
        marks = b"".join(found.pop(name, bytes(_MARK.size)) for name in self._names)
        if any(map(any, found.values())):
            raise ConsistencyError(
                f"state was stored by a stage that also read another topic than {', '.join(self._sources)}; "
                "how far it was read would be forgotten. Let the stage read it, or start over with its state"
            )
        header = self.header if stored[1] == _VALUE else self._removal
        return header + stored[term_at:marks_at] + marks + stored[payload_at:]

    # -- writing ------------------------------------------------------------------------------------------

    def seal(
        self,
        previous: bytes | None,
        payload: bytes | None,
        source_index: int,
        next_offset: int | None,
        term: int = 0,
    ) -> bytes:
        """Return ``payload`` (``None``: its removal) with the marks of ``previous``, one of them advanced.

        ``next_offset`` is the new mark of ``source_index``; ``None`` leaves it as it is.

        Raises:
            ValueError: a mark would move back, which is an error of the step.
        """
        marks = self._no_marks if previous is None else previous[self._marks_at : self._payload_at]
        if next_offset is not None:
            at = source_index * _MARK.size
            if _MARK.unpack_from(marks, at)[0] > next_offset:
                raise ValueError(f"a high-water mark cannot move back to {next_offset}")
            marks = marks[:at] + _MARK.pack(next_offset) + marks[at + _MARK.size :]
        if payload is None:
            return self._removal + _TERM.pack(term) + marks
        return self.header + _TERM.pack(term) + marks + payload
