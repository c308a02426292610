"""Cutting a conversation into episodes, turn by turn.

An episode ends when it has as many turns as an episode may have; where the topic changes, if that is looked
for; where the conversation was silent, or somebody said that it was over.  Silence is found as windows find
it (:mod:`processors.conversations.fold`): by what the turns say of when they were sent and when they arrived,
or by a punctuation in the log of turns.  So the same log gives the same episodes, however it is cut into
batches.  :mod:`.cutting` does the cutting; where topics matter, turns wait in the :mod:`.topic_queue` before.
"""

from __future__ import annotations

import msgspec

from models.episodes import EpisodeReason
from models.turns import Turn
from processors.conversations.episodes.cutting import Cutting, Formed
from processors.conversations.episodes.state import EpisodePolicy, EpisodesState, Place, Seen, kept
from processors.conversations.episodes.topic_queue import Rows, TopicQueue


class EpisodeFold:
    """Folds turns of one conversation, in the order of their log, into its episodes.

    Thaws the state once, takes any number of steps, and freezes it in :meth:`finish`.  ``repeated`` counts
    turns that had come before, ``changed`` says whether there is anything to store.  ``rows``: where turns are
    kept that wait for vectors; needed if the policy is adaptive.  Nothing here reads a clock.
    """

    def __init__(
        self, conversation_id: str, state: EpisodesState, policy: EpisodePolicy, rows: Rows | None = None
    ) -> None:
        self._policy = policy
        self._seen = state.seen
        self._cutting = Cutting(conversation_id, state, policy)
        if policy.adaptive:
            assert rows is not None
            self._queue: TopicQueue | None = TopicQueue(state, rows, self._cutting)
        else:
            self._queue = None
        self._changed = False
        self.repeated = 0

    @property
    def changed(self) -> bool:
        """True if there is anything to store."""
        return self._changed or self._cutting.changed or (self._queue is not None and self._queue.changed)

    def add(self, turn: Turn, came: float) -> None:
        """Take the next turn, whose record came at ``came`` (epoch seconds).

        One that had come before is passed over, and so is a turn of an earlier life of the conversation.
        """
        seen, began_at = self._seen, turn.began_at.timestamp()
        begins = began_at > seen.began_at
        if began_at < seen.began_at or (not begins and turn.index < seen.next_index):
            self.repeated += 1
            return
        sent_at, arrived_at = turn.sent_at.timestamp(), turn.arrived_at.timestamp()
        silence = max(
            sent_at - seen.sent_at if seen.sent_at else 0.0,
            arrived_at - seen.arrived_at if seen.arrived_at else 0.0,
        )
        said = kept(turn, after_silence=silence >= self._policy.idle_seconds)
        if self._queue is None:
            self._cutting.take(said)
        else:
            self._queue.add(said, seen.place, came)
        self._seen = Seen(
            began_at,
            turn.index + 1,
            sent_at if begins else max(seen.sent_at, sent_at),
            max(seen.arrived_at, arrived_at),
            max(seen.came_at, came),
        )
        self._changed = True

    def add_vector(self, place: Place, vector: bytes, came: float) -> None:
        """Take the vector of the turn at ``place``, in half precision; it may come before its turn."""
        if self._queue is not None:
            self._queue.add_vector(place, vector, came, self._seen.place)

    def tick(self, came: float) -> None:
        """A punctuation came (epoch seconds): end what was silent until then."""
        if came - self._seen.came_at >= self._policy.idle_seconds:
            self._end(EpisodeReason.IDLE)

    def close(self, tenant_id: str) -> None:
        """Somebody of this tenant said that the conversation was over."""
        if tenant_id == self._cutting.tenant_id:
            self._end(EpisodeReason.CLOSED)

    def take_formed(self) -> list[Formed]:
        """Return the episodes that were formed since this was last asked."""
        return self._cutting.take_formed()

    def erase(self, turn_id: str, until: float) -> None:
        """Leave a turn out of what is not yet an episode, if it arrived up to ``until`` (epoch seconds)."""
        self._cutting.erase(turn_id, until)
        if self._queue is not None:
            self._queue.erase(turn_id, until)

    def finish(self) -> EpisodesState:
        """Return the new state."""
        state = msgspec.structs.replace(self._cutting.state(), seen=self._seen)
        return state if self._queue is None else self._queue.within(state)

    def _end(self, reason: EpisodeReason) -> None:
        if self._queue is None:
            self._cutting.end(reason)
        else:
            self._queue.end(self._seen.place, reason)
