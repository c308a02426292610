"""High-water marks: how far into each source a value has folded its log.

A stored value is ``marks + payload``.  The marks are one unsigned 64-bit big-endian integer per source of
the stage, in the order of ``Stage.sources``: the offset after the last record folded in, 0 for none.  So
the mark travels with the value through the changelog, and comparing two values of one source is comparing
eight bytes.
"""

from __future__ import annotations

import struct

MARK_SIZE = 8

_ONE = struct.Struct(">Q")


def next_offset(value: bytes, source_index: int) -> int:
    """Return the offset after the last record of source ``source_index`` that ``value`` has folded in."""
    mark: int = _ONE.unpack_from(value, source_index * MARK_SIZE)[0]
    return mark


def payload(value: bytes, sources: int) -> bytes:
    """Return ``value`` without its ``sources`` marks."""
    return value[sources * MARK_SIZE :]


def seal(
    previous: bytes | None, payload: bytes, sources: int, source_index: int, next_offset: int | None
) -> bytes:
    """Return ``payload`` with the marks of ``previous``, that of ``source_index`` advanced.

    A mark never moves back: ``next_offset`` below the previous one is an error of the step.
    """
    if sources == 1 and next_offset is not None:
        if previous is not None and _ONE.unpack_from(previous)[0] > next_offset:
            raise ValueError(f"a high-water mark cannot move back to {next_offset}")
        return _ONE.pack(next_offset) + payload
    marks = bytearray(previous[: sources * MARK_SIZE] if previous else bytes(sources * MARK_SIZE))
    if next_offset is not None:
        if _ONE.unpack_from(marks, source_index * MARK_SIZE)[0] > next_offset:
            raise ValueError(f"a high-water mark cannot move back to {next_offset}")
        _ONE.pack_into(marks, source_index * MARK_SIZE, next_offset)
    return bytes(marks) + payload


def is_stale(candidate: bytes, current: bytes, sources: int) -> bool:
    """Say whether ``candidate`` folded in less than ``current``: a zombie's late write, to be ignored.

    With several sources a value is stale when no mark is ahead and one is behind.
    """
    size = sources * MARK_SIZE
    if sources == 1:
        return candidate[:MARK_SIZE] < current[:MARK_SIZE]
    if candidate[:size] == current[:size]:
        return False
    return all(
        candidate[at : at + MARK_SIZE] <= current[at : at + MARK_SIZE] for at in range(0, size, MARK_SIZE)
    )
