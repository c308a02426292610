"""The message ids that a conversation knows, as hashes: the latest in its state, earlier ones in pages.

The state is written with every change, so it holds fewer than :data:`CHUNK_IDS` hashes.  Each time that many
have come they leave it as a *chunk*; chunks are merged into sorted *runs*, like the bits of a binary counter:
1 + 2 + 8 chunks are 11.  A hash is rewritten once per doubling of the conversation, and looked up in one run
per bit.  A run is stored in pages of :data:`PAGE_IDS` hashes, each under a key of its own.

A page is never changed: its name says which chunks it is made of.  Pages are to be stored before the state that
names them and removed after the state that does not, so a crash between two writes loses no id, and what is
read again makes the same pages.
"""

from __future__ import annotations

import sys
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from hashlib import blake2b
from itertools import chain
from typing import NamedTuple

#: Bytes of a hashed message id: among 200,000 of them, one in 10^14 messages is taken for a repetition.
ID_HASH_BYTES = 8

#: Most conversations have fewer messages than this, and so no page.
CHUNK_IDS = 128

#: Hashes in a page.  A power of two, as the chunks of a run are.
PAGE_IDS = 1024

_CHUNK_BYTES = CHUNK_IDS * ID_HASH_BYTES

#: Copied for each id, which takes two thirds of the time of making one.
HASHER = blake2b(digest_size=ID_HASH_BYTES)


class IdPage(NamedTuple):
    """The name of a page: the ``part``-th of the run that begins with chunk ``first`` and has ``chunks``."""

    first: int
    chunks: int
    part: int


#: Loads a page that was stored.
LoadIds = Callable[[IdPage], bytes]


class MessageIds:
    """The known ids of one conversation.

    ``latest`` are the hashes in the state, ``fresh`` those that came since, in order; ``paged`` is how many are
    in pages.  ``pages`` are the pages to store, ``None`` for one that is no longer needed.
    """

    __slots__ = ("_load", "_loaded", "_runs", "_short", "fresh", "latest", "paged", "pages")

    def __init__(self, latest: bytes, paged: int, load: LoadIds) -> None:
        self._load = load
        self._loaded: dict[IdPage, array[int]] = {}
        self._runs: Sequence[tuple[int, int]] = _runs(paged // CHUNK_IDS) if paged else ()
        self._short: list[array[int]] | None = None
        self.latest = latest
        self.paged = paged
        self.fresh: dict[bytes, None] = {}
        self.pages: dict[IdPage, bytes | None] = {}

    def add(self, message_id: str) -> bool:
        """Remember an id; return whether it is new."""
        hashed = hash_of(message_id)
        if self.knows(hashed):
            return False
        self.fresh[hashed] = None
        return True

    def knows(self, hashed: bytes) -> bool:
        """Return whether an id with this hash is known."""
        return hashed in self.fresh or stands_in(self.latest, hashed) or self.in_pages(hashed)

    def in_pages(self, hashed: bytes) -> bool:
        """Return whether the hash stands in a page."""
        number = int.from_bytes(hashed, "little")
        if self._short is None:
            short = [run for run in self._runs if _parts(run[1]) == 1]
            self._short = [self._page(IdPage(*run, 0)) for run in short]
        for page in self._short:
            if page[bisect_left(page, number, 0, len(page) - 1)] == number:
                return True
        for first, chunks in self._runs[: len(self._runs) - len(self._short)]:  # longer runs come first
            parts = _parts(chunks)
            page = self._page(IdPage(first, chunks, number * parts >> 64))
            if not page[0] <= number <= page[-1]:
                # Often the next one; but who chooses ids can choose hashes that begin alike.
                begins = partial(self._begin, first, chunks)
                part = max(0, bisect_right(range(parts), number, key=begins) - 1)
                page = self._page(IdPage(first, chunks, part))
            if page[bisect_left(page, number, 0, len(page) - 1)] == number:
                return True
        return False

    def settle(self) -> None:
        """Move full chunks to pages, so that ``latest`` is what the state is to hold."""
        if self.fresh:
            self.latest += b"".join(self.fresh)
            self.fresh.clear()
        if full := len(self.latest) // _CHUNK_BYTES:
            leaving, self.latest = self.latest[: full * _CHUNK_BYTES], self.latest[full * _CHUNK_BYTES :]
            self._merge(leaving)

    def clear(self) -> None:
        """Know no id any more."""
        self.pages.update(dict.fromkeys(_pages(self._runs)))
        self._loaded.clear()
        self.fresh.clear()
        self.latest, self.paged, self._runs, self._short = b"", 0, (), None

    def _merge(self, leaving: bytes) -> None:
        """Store chunks, merged with the runs that they complete."""
        begin, before = self.paged // CHUNK_IDS, self._runs
        self.paged += len(leaving) // ID_HASH_BYTES
        self._runs, self._short = _runs(self.paged // CHUNK_IDS), None
        for first, chunks in self._runs:
            if (first, chunks) in before:
                continue
            ends = first + chunks
            old = list(_pages(run for run in before if first <= run[0] < ends))
            new = leaving[max(0, first - begin) * _CHUNK_BYTES : (ends - begin) * _CHUNK_BYTES]
            numbers = [*chain.from_iterable(map(self._page, old)), *_numbers(new)]
            numbers.sort()
            for part in range(_parts(chunks)):
                name, page = IdPage(first, chunks, part), numbers[part * PAGE_IDS : (part + 1) * PAGE_IDS]
                self._loaded[name] = array("Q", page)
                self.pages[name] = _stored(self._loaded[name])
            self.pages.update(dict.fromkeys(old))

    def _page(self, name: IdPage) -> array[int]:
        page = self._loaded.get(name)
        if page is None:
            page = self._loaded[name] = _numbers(self._load(name))
        return page

    def _begin(self, first: int, chunks: int, part: int) -> int:
        return self._page(IdPage(first, chunks, part))[0]


def hash_of(message_id: str) -> bytes:
    """Return the hash of a message id."""
    hashing = HASHER.copy()
    hashing.update(message_id.encode())
    return hashing.digest()


def stands_in(hashes: bytes, hashed: bytes) -> bool:
    """Return whether ``hashed`` is one of the hashes that ``hashes`` strings together."""
    at = hashes.find(hashed)
    while at >= 0 and at % ID_HASH_BYTES:
        at = hashes.find(hashed, at + 1)
    return at >= 0


def _runs(chunks: int) -> Sequence[tuple[int, int]]:
    """Return the runs of so many chunks: the first chunk of each and how many it has, a power of two."""
    runs, first = [], 0
    while left := chunks - first:
        size = 1 << (left.bit_length() - 1)
        runs.append((first, size))
        first += size
    return runs


def _parts(chunks: int) -> int:
    return max(1, chunks * CHUNK_IDS // PAGE_IDS)


def _pages(runs: Iterable[tuple[int, int]]) -> Iterator[IdPage]:
    for first, chunks in runs:
        for part in range(_parts(chunks)):
            yield IdPage(first, chunks, part)


def _numbers(hashes: bytes) -> array[int]:
    """Return hashes as numbers, which are looked up and merged several times as fast."""
    numbers = array("Q")
    numbers.frombytes(hashes)
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers


def _stored(numbers: array[int]) -> bytes:
    if sys.byteorder == "big":
        numbers = array("Q", numbers)
        numbers.byteswap()
    return numbers.tobytes()
