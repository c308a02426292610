"""The elements of a JSON array, one after the other, without holding the array.

Only brackets and strings are looked at here; what an element says is decoded by whoever asked for it.  So an
element that is broken inside, but closed, costs itself alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from models.errors import InvalidRecord

#: The largest element that is held (bytes): the longest conversations that people export have some 20 MB.
LARGEST_ELEMENT = 64 << 20

#: A string, or the beginning of one at the end of what is there; a bracket; a comma; anything else but white
#: space.
_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*("?)|[][{}]|,|[^][{}",\s]+', re.DOTALL)
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_OPENING, _CLOSING, _QUOTE, _COMMA = b"[{", b"]}", ord('"'), ord(",")


class Element(NamedTuple):
    """One element, undecoded.  ``number`` counts elements from 1, ``line`` is where it begins.

    ``data`` is ``None`` for one that is larger than may be held.
    """

    number: int
    line: int
    data: bytes | None


def elements(pieces: Iterable[bytes], largest: int = LARGEST_ELEMENT) -> Iterator[Element]:
    """Yield the elements of the array that the file is.

    Raises:
        InvalidRecord: ``not_an_array`` before the first element; ``cut_off`` when the file ends within the
            array.  The elements before were yielded.
    """
    splitter = _Splitter(largest)
    for piece in pieces:
        yield from splitter.feed(piece)
        if splitter.ended:
            return
    splitter.finish()


class _Splitter:
    def __init__(self, largest: int) -> None:
        self._largest = largest
        self._buffer = bytearray()
        self._at = 0  # up to where the buffer was looked at
        self._begin: int | None = None  # where the element begins, of those that are open
        self._depth = 0
        self._line, self._line_at = 1, 0  # the number of the line that a place in the buffer is on
        self._begin_line = 1
        self._number = 0
        self._too_large = False
        self._any = False
        self.ended = False

    def feed(self, piece: bytes) -> Iterator[Element]:
        """Take the next piece; yield what it completes."""
        if not self._any and piece:
            self._any = True
            piece = piece.removeprefix(_BYTE_ORDER_MARK)
        self._buffer += piece
        view = self._buffer
        while match := _TOKEN.search(view, self._at):
            first = view[match.start()]
            if first == _QUOTE and not match[1]:
                self._at = match.start()
                if self._depth:
                    self._start(self._at)
                break  # the string goes on in the next piece
            if first not in b'[]{}",' and match.end() == len(view):
                self._at = match.start()
                break  # so may a number
            self._at = match.end()
            if (done := self._token(first, match.start(), match.end())) is not None:
                yield done
            if self.ended:
                return
        else:
            self._at = len(view)
        self._forget()

    def _token(self, first: int, start: int, end: int) -> Element | None:
        if self._depth == 0:
            if first != _OPENING[0]:
                raise _not_an_array(self._line)
            self._depth = 1
            return None
        if first in _OPENING:
            self._depth += 1
            self._start(start)
        elif first in _CLOSING:
            self._depth -= 1
            if self._depth == 0:
                self.ended = True
                return self._end(start)
        elif first == _COMMA:
            return self._end(start) if self._depth == 1 else None
        else:
            self._start(start)
        return None

    def _start(self, at: int) -> None:
        if self._begin is None and not self._too_large:
            self._begin = at
            self._begin_line = self._count_lines(at)

    def _count_lines(self, at: int) -> int:
        """Return the line that ``at`` is on; it never goes back."""
        self._line += self._buffer.count(b"\n", self._line_at, at)
        self._line_at = max(at, self._line_at)
        return self._line

    def _end(self, at: int) -> Element | None:
        if self._begin is None and not self._too_large:
            return None
        data = None if self._begin is None else bytes(self._buffer[self._begin : at]).rstrip()
        self._number += 1
        self._begin, self._too_large = None, False
        return Element(self._number, self._begin_line, data)

    def _forget(self) -> None:
        """Drop what is done with, and an element that has become too large."""
        if self._begin is not None and len(self._buffer) - self._begin > self._largest:
            self._begin, self._too_large = None, True
        if self._at == 0 and len(self._buffer) > self._largest:
            # One string larger than any element may be: its beginning is dropped, its quote stays.
            self._count_lines(len(self._buffer))
            escaped = len(self._buffer) - len(self._buffer.rstrip(b"\\"))
            self._buffer[1:] = b"\\" * (escaped % 2)
            self._line_at = len(self._buffer)
        keep = self._at if self._begin is None else self._begin
        if keep:
            self._count_lines(keep)
            del self._buffer[:keep]
            self._at -= keep
            self._line_at -= keep
            if self._begin is not None:
                self._begin = 0

    def finish(self) -> None:
        """The file is over.  Raises :class:`InvalidRecord` if the array is not."""
        if self._depth == 0:
            raise _not_an_array(self._line)
        what = f"within element {self._number + 1}, which begins on line {self._begin_line}"
        where = "between two elements" if self._begin is None and not self._too_large else what
        raise InvalidRecord(
            "cut_off", f"the file ends {where}: it is cut off; export it anew (what came before is taken)"
        )


def _not_an_array(line: int) -> InvalidRecord:
    return InvalidRecord(
        "not_an_array",
        f"line {line} begins no JSON array: give the file conversations.json of the export, or its .zip",
    )
