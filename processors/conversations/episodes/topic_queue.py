"""Turns on their way into episodes that end with their topic: each waits for its vector and the next one's.

Turns come in their order, vectors from another log in any.  Whether there is a boundary before a turn is asked
when its vector is there and what follows it is known: the next turn with its vector, or that the conversation
ended.  So it does not matter when a vector comes, and the same logs give the same episodes.  (A turn that is
erased while it waits is gone at once, and the next ones are judged without it.)
"""

from __future__ import annotations

from bisect import bisect_left
from typing import Protocol

import msgspec

from models.episodes import EpisodeReason
from processors.conversations.episodes.boundaries import CONTEXT, SHORTEST, is_boundary
from processors.conversations.episodes.cutting import Cutting
from processors.conversations.episodes.state import EpisodesState, KeptTurn, Place
from processors.conversations.episodes.traits import Traits, traits_of

#: Turns that may be missing between two, because they were erased, of which vectors are looked for.
_GAP = 1_000


class Row(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A turn that waits, or a vector that came before its turn; ``came_at``: when (epoch seconds).

    An empty vector says that none will come.
    """

    turn: KeptTurn | None = None
    vector: bytes | None = None
    came_at: float = 0.0

    @property
    def is_ready(self) -> bool:
        """True if all vectors are there; a turn without words has none."""
        return self.turn is not None and (self.vector is not None or not self.turn.text)


class Rows(Protocol):
    """Where rows are kept: a conversation that is read again may have thousands."""

    def get(self, place: Place) -> Row | None: ...
    def put(self, place: Place, row: Row) -> None: ...
    def remove(self, place: Place) -> None: ...


class TopicQueue:
    """The turns of a conversation that wait.  ``changed``: there is something to store."""

    def __init__(self, state: EpisodesState, rows: Rows, cutting: Cutting) -> None:
        self._rows = rows
        self._cutting = cutting
        self._context = list(state.context)
        self._waiting = list(state.waiting)
        self._ends = list(state.ends)
        self.changed = False

    def add(self, turn: KeptTurn, expected: Place, came: float) -> None:
        """Take the next turn; ``expected``: where it was expected, what lies between was erased."""
        place = turn.place
        if expected[0] == place[0]:
            for index in range(expected[1], min(place[1], expected[1] + _GAP)):
                if self._rows.get((place[0], index)) is not None:
                    self._rows.remove((place[0], index))
        before = self._rows.get(place)
        self._rows.put(place, Row(turn, before.vector if before is not None else None, came))
        self._waiting.append(place)
        self.changed = True
        self._advance()

    def add_vector(self, place: Place, vector: bytes, came: float, expected: Place) -> None:
        """Take a vector; ``expected``: where the next turn is expected to stand."""
        number = bisect_left(self._waiting, place)
        if number < len(self._waiting) and self._waiting[number] == place:
            row = self._rows.get(place)
            assert row is not None
            if row.vector is None:
                self._rows.put(place, Row(row.turn, vector, row.came_at))
                self._advance()
        elif place >= expected:
            self._rows.put(place, Row(None, vector, came))

    def end(self, place: Place, reason: EpisodeReason) -> None:
        """The conversation ended before the turn that is to come at ``place``."""
        if not self._waiting:
            self._cutting.end(reason)
        elif not self._ends or self._ends[-1][0] < place:
            self._ends.append((place, reason))
            self.changed = True
            self._advance()

    def erase(self, turn_id: str, until: float) -> None:
        """Forget a turn, if it arrived up to ``until`` (epoch seconds)."""
        self._context = [traits for traits in self._context if traits.turn_id != turn_id]
        for place in self._waiting:
            row = self._rows.get(place)
            assert row is not None and row.turn is not None
            if row.turn.turn_id == turn_id and row.turn.arrived_at <= until:
                self._waiting.remove(place)
                self._rows.remove(place)
                break
        self.changed = True
        self._advance()

    def within(self, state: EpisodesState) -> EpisodesState:
        """Return the state with what is to be stored of the queue."""
        return msgspec.structs.replace(
            state, context=tuple(self._context), waiting=tuple(self._waiting), ends=tuple(self._ends)
        )

    def _advance(self) -> None:
        """Hand on the turns of which everything is known."""
        done = 0
        while done < len(self._waiting):
            place = self._waiting[done]
            row = self._rows.get(place)
            assert row is not None and row.turn is not None
            if not row.is_ready:
                break
            self._end_before(place)
            traits = _traits(row)
            if self._needs_no_next(row.turn):
                self._cutting.take(row.turn)
            else:
                known, after = self._next(place, done + 1)
                if not known:
                    break
                changes = is_boundary(self._context, traits, after)
                self._cutting.take(row.turn, changes_topic=changes)
            self._context = [*self._context, traits][-CONTEXT:]
            self._rows.remove(place)
            done += 1
        if done:
            del self._waiting[:done]
            self.changed = True
        if not self._waiting:
            for _, reason in self._ends:
                self._cutting.end(reason)
            self._ends.clear()

    def _needs_no_next(self, turn: KeptTurn) -> bool:
        """Say whether there is no question of a topic: something else ends the episode, or it is too short."""
        return turn.after_silence or self._cutting.begins_anew(turn) or self._cutting.new_turns < SHORTEST

    def _next(self, place: Place, number: int) -> tuple[bool, Traits | None]:
        """Return whether it is known what follows the turn at ``place``, and if it is a turn, that."""
        if number == len(self._waiting):
            return bool(self._ends), None
        following = self._waiting[number]
        row = self._rows.get(following)
        assert row is not None and row.turn is not None
        if (self._ends and self._ends[0][0] <= following) or row.turn.after_silence or following[0] > place[0]:
            return True, None
        return row.is_ready, _traits(row)

    def _end_before(self, place: Place) -> None:
        while self._ends and self._ends[0][0] <= place:
            self._cutting.end(self._ends.pop(0)[1])
            self.changed = True


def _traits(row: Row) -> Traits:
    turn = row.turn
    assert turn is not None
    return traits_of(turn.turn_id, turn.role, turn.text, row.vector or b"")
