"""Pages next to a conversation's state: episodes, erased ones, and waiting turns.

A page knows its episodes by the hashes of their turns, so that an erasure finds those that it takes back.
"""

from __future__ import annotations

import struct
from datetime import UTC, datetime
from hashlib import blake2b

import msgspec

from processors.conversations.episodes.cutting import Formed
from processors.conversations.episodes.state import Place
from processors.conversations.episodes.topic_queue import Row
from streams.runtime.codec import Codec
from streams.runtime.work import Work


class Listed(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """An episode that was published: whose it is, and of each of its turns the hash of the id and when it
    arrived (:data:`_TURN`).
    """

    episode_id: str
    user_id: str
    turns: bytes


class ErasedEpisode(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """An episode that was erased, and up to which arrival (epoch milliseconds): a late copy of it is erased
    again.
    """

    episode_id: str
    until_ms: int


ERASED_EPISODES: Codec[tuple[ErasedEpisode, ...]] = Codec("erased episodes", tuple[ErasedEpisode, ...])
ROW: Codec[Row] = Codec("waiting turn", Row)
PAGE: Codec[tuple[Listed, ...]] = Codec("page of episodes", tuple[Listed, ...])

#: Episodes of a page: each new one is written with those before it.
PAGE_EPISODES = 16

#: The hash of a turn's id, and when the turn arrived (epoch milliseconds).
_TURN = struct.Struct(">8sQ")

#: What parts the key of a page, of a row, or of the tombstones, from its conversation's: no id holds it.
PAGE_MARK, ROW_MARK, ERASED_MARK = b"\x00", b"\x01", b"\x02"


class StoredRows:
    """Rows of a conversation, each under a key of its own."""

    def __init__(self, conversation: bytes, work: Work) -> None:
        self._conversation = conversation
        self._work = work

    def get(self, place: Place) -> Row | None:
        """Return the row of a turn; ``None``: there is none."""
        return self._work.get(self._key(place), ROW)

    def put(self, place: Place, row: Row) -> None:
        """Store a row, before the state that counts on it."""
        self._work.put(self._key(place), row, ROW, first=True)

    def remove(self, place: Place) -> None:
        """Remove a row."""
        self._work.remove(self._key(place))

    def _key(self, place: Place) -> bytes:
        return b"%s%s%d/%d" % (self._conversation, ROW_MARK, *place)


def hash_of(turn_id: str) -> bytes:
    """Return the hash of a turn's id for a page."""
    return blake2b(turn_id.encode(), digest_size=8).digest()


def has_turn(listed: Listed, hashed: bytes, until_ms: float) -> bool:
    """Say whether a turn is in an episode that arrived up to ``until_ms``.

    An erasure may be read again when the page knows more than the conversation's state does (pages are stored
    first): then a turn that came after it, under the same id, may be in an episode that it must leave alone.
    """
    return hashed in listed.turns and any(
        each == hashed and arrived <= until_ms for each, arrived in _TURN.iter_unpack(listed.turns)
    )


def last_arrival(listed: Listed) -> datetime:
    """Return up to when an episode is erased: one of the same turns that are said again later is another."""
    latest = max(arrived for _, arrived in _TURN.iter_unpack(listed.turns))
    return datetime.fromtimestamp(latest / 1000, UTC)


def listed_as(formed: Formed) -> Listed:
    """Return the page entry of an episode."""
    episode = formed.episode
    turns = zip(episode.turn_ids, formed.arrivals, strict=True)
    packed = b"".join(_TURN.pack(hash_of(turn_id), round(arrived * 1000)) for turn_id, arrived in turns)
    return Listed(episode.episode_id, episode.user_id, packed)


def page_key(conversation: bytes, number: int) -> bytes:
    """Return the key of a page of the episodes of ``conversation``."""
    return conversation + PAGE_MARK + str(number).encode()


def erased_key(conversation: bytes) -> bytes:
    """Return the key of the erased episodes of ``conversation``."""
    return conversation + ERASED_MARK
