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

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from hashlib import blake2b
from typing import NamedTuple

#: Bytes of a hashed message id: among 200,000 of them, one in 10^14 messages is taken for a repetition.
ID_HASH_BYTES = 8

#: Most conversations have fewer messages than this, and so no page.
CHUNK_IDS = 128

#: Hashes in a page.  A power of two, as the chunks of a run are.
PAGE_IDS = 1024

_CHUNK_BYTES = CHUNK_IDS * ID_HASH_BYTES

#: Copied for each id, which takes two thirds of the time of making one.
_HASHER = blake2b(digest_size=ID_HASH_BYTES)


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

    __slots__ = ("_load", "_loaded", "fresh", "latest", "paged", "pages")

    def __init__(self, latest: bytes, paged: int, load: LoadIds) -> None:
        self._load = load
        self._loaded: dict[IdPage, bytes] = {}
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
        for first, chunks in _runs(self.paged // CHUNK_IDS):
            parts = range(_parts(chunks))
            # Not guessed from the hash: who chooses ids can choose hashes that begin alike.
            part = bisect_right(
                parts, hashed, key=lambda part: self._page(IdPage(first, chunks, part))[:ID_HASH_BYTES]
            )
            if part and _is_sorted_in(self._page(IdPage(first, chunks, part - 1)), hashed):
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
        self.pages.update(dict.fromkeys(_pages(self.paged // CHUNK_IDS)))
        self._loaded.clear()
        self.fresh.clear()
        self.latest, self.paged = b"", 0

    def _merge(self, leaving: bytes) -> None:
        """Store chunks, merged with the runs that they complete."""
        begin = self.paged // CHUNK_IDS
        before = list(_runs(begin))
        self.paged += len(leaving) // ID_HASH_BYTES
        after = list(_runs(self.paged // CHUNK_IDS))
        for first, chunks in after:
            if (first, chunks) in before:
                continue
            merged = [run for run in before if first <= run[0] < first + chunks]
            old = [IdPage(*run, part) for run in merged for part in range(_parts(run[1]))]
            new = leaving[
                max(0, first - begin) * _CHUNK_BYTES : max(0, first + chunks - begin) * _CHUNK_BYTES
            ]
            hashes = sorted(each for page in (*map(self._page, old), new) for each in _hashes(page))
            for part in range(_parts(chunks)):
                page = b"".join(hashes[part * PAGE_IDS : (part + 1) * PAGE_IDS])
                self.pages[IdPage(first, chunks, part)] = self._loaded[IdPage(first, chunks, part)] = page
            self.pages.update(dict.fromkeys(old))

    def _page(self, name: IdPage) -> bytes:
        page = self._loaded.get(name)
        if page is None:
            page = self._loaded[name] = self._load(name)
        return page


def hash_of(message_id: str) -> bytes:
    """Return the hash of a message id."""
    hashing = _HASHER.copy()
    hashing.update(message_id.encode())
    return hashing.digest()


def stands_in(hashes: bytes, hashed: bytes) -> bool:
    """Return whether ``hashed`` is one of the hashes that ``hashes`` strings together."""
    at = hashes.find(hashed)
    while at >= 0 and at % ID_HASH_BYTES:
        at = hashes.find(hashed, at + 1)
    return at >= 0


def _is_sorted_in(page: bytes, hashed: bytes) -> bool:
    at = bisect_left(
        range(0, len(page), ID_HASH_BYTES), hashed, key=lambda at: page[at : at + ID_HASH_BYTES]
    )
    return page[at * ID_HASH_BYTES : (at + 1) * ID_HASH_BYTES] == hashed


def _runs(chunks: int) -> Iterator[tuple[int, int]]:
    """Yield the runs of so many chunks: the first chunk of each and how many it has, a power of two."""
    first = 0
    while left := chunks - first:
        size = 1 << (left.bit_length() - 1)
        yield first, size
        first += size


def _pages(chunks: int) -> Iterator[IdPage]:
    for first, size in _runs(chunks):
        for part in range(_parts(size)):
            yield IdPage(first, size, part)


def _parts(chunks: int) -> int:
    return max(1, chunks * CHUNK_IDS // PAGE_IDS)


def _hashes(page: bytes) -> Iterator[bytes]:
    for at in range(0, len(page), ID_HASH_BYTES):
        yield page[at : at + ID_HASH_BYTES]
