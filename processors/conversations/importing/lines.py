"""A file as numbered lines, whatever its pieces are; a line that is too long is cut away, not held."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

#: A line that is longer (bytes) is no message: one may hold 64 KiB, and JSON escapes make six of one.
LONGEST_LINE = 4 << 20

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Line(NamedTuple):
    """One line without its end; ``number`` counts from 1.  ``data`` is ``None`` if it was too long."""

    number: int
    data: bytes | None


def lines(pieces: Iterable[bytes], longest: int = LONGEST_LINE) -> Iterator[Line]:
    """Yield the lines of a file that comes in pieces of any size."""
    number, held, too_long = 1, b"", False
    for piece in pieces:
        *ended, rest = piece.split(b"\n")
        for end in ended:
            data = held + end
            yield _line(number, None if too_long or len(data) > longest else data)
            number, held, too_long = number + 1, b"", False
        held += rest
        if len(held) > longest:
            held, too_long = b"", True
    if held or too_long:
        yield _line(number, None if too_long else held)


def _line(number: int, data: bytes | None) -> Line:
    if data is None:
        return Line(number, None)
    data = data.removesuffix(b"\r")
    return Line(number, data.removeprefix(_BYTE_ORDER_MARK) if number == 1 else data)
