"""Sequence of a conversation's messages: index, duplicates, copies, and messages of other people.

Everybody who reads a log of messages and speaks of the "third message of a conversation" uses this sequencer,
so that all of them mean the same one, however the log repeats itself and wherever they crashed.  It depends on
the log alone: on the records, their order and the times of their arrival.

Messages are idempotent by ``message_id`` for as long as the conversation is remembered (:mod:`.message_ids`).
A conversation in which nothing arrives for ``forget_seconds`` is forgotten: its next message begins it anew,
with index 0.  So does one that is erased, but its ids stay known: what is sent again under them does not count.
When it was erased is remembered for as long, so that messages which are read again from the beginning of the
log, without the state that they once led to, count no more.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

import msgspec

from models.messages import ChatMessage
from processors.conversations.message_ids import HASHER, LoadIds, MessageIds, stands_in


class Sequenced(Protocol):
    """Stored part of a conversation's sequence, alone (:class:`SequenceState`) or inside another state."""

    @property
    def tenant_id(self) -> str: ...
    @property
    def user_id(self) -> str: ...
    @property
    def next_index(self) -> int: ...
    @property
    def recent_ids(self) -> bytes: ...
    @property
    def arrived_at(self) -> float: ...
    @property
    def copied(self) -> tuple[tuple[str, int], ...]: ...
    @property
    def erased(self) -> tuple[tuple[str, float], ...]: ...
    @property
    def paged_ids(self) -> int: ...


class SequenceState(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Everything that is known of a conversation's sequence.

    ``tenant_id`` and ``user_id`` are those of its first message; ``next_index`` is the absolute index of the
    next one; ``recent_ids`` are hashes of the latest message ids (BLAKE2b), and ``paged_ids`` is
    how many earlier ones are in pages (:class:`.message_ids.MessageIds`);
    ``arrived_at`` is the latest arrival (epoch seconds); ``copied`` is, for each partition from which copies of
    records came here, the offset after the latest; ``erased`` is, for each person who was erased (``""``:
    everybody), up to which arrival (epoch seconds).
    """

    tenant_id: str = ""
    user_id: str = ""
    next_index: int = 0
    recent_ids: bytes = b""
    arrived_at: float = 0.0
    copied: tuple[tuple[str, int], ...] = ()
    erased: tuple[tuple[str, float], ...] = ()
    paged_ids: int = 0


#: A message that counts: its absolute index, the message, and the offset and arrival (epoch seconds) of its
#: record.  Without a message it is a silence that ended with this arrival, and the index is that of the next.
#: A plain tuple: one is made for every message there is.
Placed = tuple[int, ChatMessage | None, int, float]


class Sequencer:
    """Gives the messages of one conversation their indices.

    ``forget_seconds``: the silence after which it is forgotten; ``load_ids`` loads pages of its message ids.

    Thaws the state once, takes any number of steps, and is then read by whoever stores it, under the names of
    :class:`Sequenced`; of ``ids``, once they are settled, also the pages to store.  ``duplicates`` counts
    messages that were seen before; ``strangers`` are the offsets of those that belong to another tenant;
    ``changed`` says whether there is anything to store.  Nothing here reads a clock.
    """

    __slots__ = (
        "_forget_seconds",
        "arrived_at",
        "changed",
        "copied",
        "duplicates",
        "erased",
        "ids",
        "next_index",
        "strangers",
        "tenant_id",
        "user_id",
    )

    def __init__(self, state: Sequenced, forget_seconds: float, load_ids: LoadIds) -> None:
        self._forget_seconds = forget_seconds
        self.ids = MessageIds(state.recent_ids, state.paged_ids, load_ids)
        self.tenant_id = state.tenant_id
        self.user_id = state.user_id
        self.next_index = state.next_index
        self.arrived_at = state.arrived_at
        self.copied = state.copied
        self.erased = state.erased
        self.duplicates = 0
        self.strangers: list[int] = []
        self.changed = False

    def was_copied(self, origin: str, offset: int, came: float, arrived: float) -> bool:
        """Say whether a record was copied here before, as :meth:`is_second_copy` does, and note nothing."""
        return offset < dict(self.copied).get(origin, 0) or arrived - came >= self._forget_seconds

    def is_second_copy(self, origin: str, offset: int, came: float, arrived: float) -> bool:
        """Say whether a record was copied here before: it stands at ``offset`` of the partition ``origin``.

        Copies of one partition come in its order, and all of them come again when it is read again.  ``came``
        and ``arrived`` (epoch seconds) are the times of the record and of its copy.  What is copied
        ``forget_seconds`` later may have been copied before the conversation was forgotten: it was.  A first
        copy that finds it forgotten lets it begin anew, and only then is remembered.
        """
        if self.was_copied(origin, offset, came, arrived):
            return True
        self.forget(arrived)
        self.copied = tuple((dict(self.copied) | {origin: offset + 1}).items())
        if not self.next_index:
            self.arrived_at = max(self.arrived_at, arrived)
        self.changed = True
        return False

    def place(
        self, run: Iterable[tuple[ChatMessage, int, float]], idle_seconds: float | None = None
    ) -> Iterator[Placed]:
        """Yield those of the next messages that count, in offset order: (message, offset, arrival).

        With ``idle_seconds``, each silence of that length is yielded, before what ends it (which need not
        count), and before the conversation is forgotten.  What the sequencer says of itself is true then, and
        at the end.
        """
        # This loop runs once for every message there is: what it needs often is in local variables.
        ids, fresh = self.ids, self.ids.fresh
        find, hasher = ids.latest.find, HASHER.copy
        quiet = self._forget_seconds if idle_seconds is None else idle_seconds
        index, arrived_at, tenant_id = self.next_index, self.arrived_at, self.tenant_id
        if self.erased:
            run = self._without_erased(run)
        for message, offset, arrived in run:
            if arrived - arrived_at >= quiet:
                self.next_index, self.arrived_at = index, arrived_at
                if idle_seconds is not None:
                    yield index, None, offset, arrived
                self.forget(arrived)
                index, arrived_at = self.next_index, self.arrived_at
                find = ids.latest.find
            if not index:
                tenant_id = self.tenant_id = message.tenant_id
                self.user_id = message.user_id
            if message.tenant_id != tenant_id:
                self.strangers.append(offset)
                continue
            self.changed = True
            hashing = hasher()
            hashing.update(message.message_id.encode())
            hashed = hashing.digest()
            if (
                hashed in fresh
                or (find(hashed) >= 0 and stands_in(ids.latest, hashed))
                or (ids.paged and ids.in_pages(hashed))
            ):
                self.duplicates += 1
                continue
            fresh[hashed] = None
            if arrived > arrived_at:
                arrived_at = arrived
            yield index, message, offset, arrived
            index += 1
        self.next_index, self.arrived_at = index, arrived_at

    def is_forgotten(self, arrived: float) -> bool:
        """Say whether what arrives now (epoch seconds) finds the conversation forgotten."""
        return arrived - self.arrived_at >= self._forget_seconds

    def forget(self, arrived: float) -> None:
        """Something arrived (epoch seconds): if it finds the conversation forgotten, the next begins anew.

        Its messages count from 0 again, and nothing is known of what came before.
        """
        if not self.is_forgotten(arrived):
            return
        self.next_index, self.arrived_at, self.copied, self.erased = 0, 0.0, (), ()
        self.ids.clear()
        self.changed = True

    def erase(self, tenant_id: str, user_id: str, offset: int, arrived: float) -> bool:
        """Somebody of this tenant wants gone what arrived until now (epoch seconds); say whether it is theirs.

        ``user_id`` ``""``: all of it, and the next message begins the conversation anew.  Of one person the
        words go, and what others said keeps its place.  Ids stay known.
        """
        if self.next_index and tenant_id != self.tenant_id:
            self.strangers.append(offset)
            return False
        self.tenant_id = tenant_id
        self.erased = tuple((dict(self.erased) | {user_id: arrived}).items())
        self.arrived_at = max(self.arrived_at, arrived)
        if not user_id:
            self.next_index = 0
        self.changed = True
        return True

    def _without_erased(
        self, run: Iterable[tuple[ChatMessage, int, float]]
    ) -> Iterator[tuple[ChatMessage, int, float]]:
        until = dict(self.erased)
        for message, offset, arrived in run:
            if arrived <= until.get("", 0.0):
                self.duplicates += 1
                if message.tenant_id == self.tenant_id:
                    # It is read again by a table that was reset, and may be sent again later.
                    self.changed = self.ids.add(message.message_id) or self.changed
            elif arrived <= until.get(message.user_id, 0.0):
                yield msgspec.structs.replace(message, content="", metadata={}), offset, arrived
            else:
                yield message, offset, arrived

    def state(self) -> SequenceState | None:
        """Return the sequence to store by itself; ``None``: nothing."""
        self.ids.settle()
        if not self.next_index and not self.copied and not self.erased:
            return None
        return SequenceState(
            self.tenant_id,
            self.user_id,
            self.next_index,
            self.ids.latest,
            self.arrived_at,
            self.copied,
            self.erased,
            self.ids.paged,
        )
