"""Cutting a conversation into episodes, turn by turn.

An episode ends when it has as many turns as an episode may have; where the topic changes, if that is looked
for; where the conversation was silent, or somebody said that it was over.  Silence is found as windows find
it (:mod:`processors.conversations.fold`): by what the turns say of when they were sent and when they arrived,
or by a punctuation in the log of turns.  So the same log gives the same episodes, however it is cut into
batches.
"""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec

from models import ids
from models.episodes import Episode, EpisodeReason
from models.messages import DEFAULT_TENANT
from models.turns import Turn
from models.windows import WindowSource
from processors.conversations.windows import WindowCursor, WindowSizes
from processors.episodes.state import EpisodePolicy, EpisodesState, KeptTurn, kept
from processors.episodes.wording import embedded_text, text_of


class Formed(msgspec.Struct, frozen=True):
    """An episode; what is embedded of it, ``""`` if nothing was said in it; and when its first turn arrived."""

    episode: Episode
    embedded: str
    first_arrived_at: float


class EpisodeFold:
    """Folds turns of one conversation, in the order of their log, into its episodes.

    Thaws the state once, takes any number of steps, and freezes it in :meth:`finish`.  ``repeated`` counts
    turns that had come before, ``changed`` says whether there is anything to store.  Nothing here reads a
    clock.
    """

    def __init__(self, conversation_id: str, state: EpisodesState, policy: EpisodePolicy) -> None:
        self._conversation_id = conversation_id
        self._policy = policy
        self._tenant_id = state.tenant_id or DEFAULT_TENANT
        self._user_id = state.user_id
        self._began_at = state.began_at
        self._next_index = state.next_index
        self._cursor = state.cursor
        self._kept = list(state.kept)
        self._sent_at = state.sent_at
        self._arrived_at = state.arrived_at
        self._came_at = state.came_at
        self._formed: list[Formed] = []
        self._count = state.formed
        self.repeated = 0
        self.changed = False

    @property
    def came_at(self) -> float:
        """When the latest turn came into the log of turns (epoch seconds)."""
        return self._came_at

    def add(self, turn: Turn, came: float) -> None:
        """Take the next turn, whose record came at ``came`` (epoch seconds); one that came before is passed
        over.

        So is a turn of an earlier life of the conversation.
        """
        began_at = turn.began_at.timestamp()
        begins = began_at > self._began_at
        if began_at < self._began_at or (not begins and turn.index < self._next_index):
            self.repeated += 1
            return
        sent_at, arrived_at = turn.sent_at.timestamp(), turn.arrived_at.timestamp()
        silence = max(
            sent_at - self._sent_at if self._sent_at else 0.0,
            arrived_at - self._arrived_at if self._arrived_at else 0.0,
        )
        if begins:
            self._begin(turn, began_at)
        elif silence >= self._policy.idle_seconds:
            self._close(EpisodeReason.IDLE, self._next_index)
        self._take(kept(turn, after_silence=silence >= self._policy.idle_seconds, begins=begins))
        self._sent_at = sent_at if begins else max(self._sent_at, sent_at)
        self._arrived_at = max(self._arrived_at, arrived_at)
        self._came_at = max(self._came_at, came)
        self.changed = True

    def tick(self, came: float) -> None:
        """A punctuation came (epoch seconds): end what was silent until then."""
        if came - self._came_at >= self._policy.idle_seconds:
            self._close(EpisodeReason.IDLE, self._next_index)

    def close(self, tenant_id: str) -> None:
        """Somebody of this tenant said that the conversation was over."""
        if tenant_id == self._tenant_id:
            self._close(EpisodeReason.CLOSED, self._next_index)

    def take_formed(self) -> list[Formed]:
        """Return the episodes that were formed since this was last asked."""
        formed, self._formed = self._formed, []
        return formed

    def erase(self, turn_id: str, until: float) -> None:
        """Leave a turn out of the open episode, if it arrived up to ``until`` (epoch seconds)."""
        left = [turn for turn in self._kept if turn.turn_id != turn_id or turn.arrived_at > until]
        if len(left) < len(self._kept):
            self._kept = left
            self.changed = True

    def finish(self) -> EpisodesState:
        """Return the new state."""
        return EpisodesState(
            self._tenant_id,
            self._user_id,
            self._began_at,
            self._next_index,
            self._cursor,
            tuple(self._kept),
            self._sent_at,
            self._arrived_at,
            self._came_at,
            self._count,
        )

    def _begin(self, turn: Turn, began_at: float) -> None:
        """Begin anew: nothing of what was said in an earlier life is repeated."""
        self._close(EpisodeReason.IDLE, self._next_index)
        self._tenant_id, self._user_id = turn.tenant_id, turn.user_id
        self._began_at, self._next_index = began_at, turn.index
        self._cursor = WindowCursor(turn.index)
        self._kept.clear()

    def _take(self, turn: KeptTurn) -> None:
        sizes = self._policy.sizes
        full_at = self._cursor.full_at(sizes)
        if turn.index >= full_at:
            # Turns that were erased are gone from the log in time: who reads it then cuts where they were cut.
            self._close(EpisodeReason.WINDOW, full_at)
            step = sizes.size - sizes.overlap
            missing = max(0, turn.index - self._cursor.full_at(sizes) + step) // step
            self._cursor = WindowCursor(self._cursor.from_index + missing * step, self._cursor.overlap)
            self._kept = [each for each in self._kept if each.index >= self._cursor.from_index]
        self._kept.append(turn)
        self._next_index = turn.index + 1
        if self._next_index >= self._cursor.full_at(self._policy.sizes):
            self._close(EpisodeReason.WINDOW, self._next_index)

    def _close(self, reason: EpisodeReason, next_index: int) -> None:
        """End the open episode before ``next_index``, unless all of its turns were in the one before."""
        if not self._cursor.pending(next_index):
            return
        self.changed = True
        repeats = reason is EpisodeReason.WINDOW or not self._policy.adaptive
        sizes = self._policy.sizes if repeats else WindowSizes(self._policy.sizes.size, 0)
        span, self._cursor = self._cursor.close(next_index, sizes)
        turns = [turn for turn in self._kept if span.from_index <= turn.index <= span.to_index]
        repeated = sum(turn.index < span.from_index + span.overlap for turn in turns)
        self._kept = [turn for turn in self._kept if turn.index >= self._cursor.from_index]
        if len(turns) > repeated:
            episode = self._episode(reason, turns, repeated)
            first = min(turn.arrived_at for turn in turns)
            self._formed.append(Formed(episode, embedded_text(turns), first))
            self._count += 1

    def _episode(self, reason: EpisodeReason, turns: list[KeptTurn], overlap: int) -> Episode:
        first, last = turns[0], turns[-1]
        return Episode(
            episode_id=ids.episode_id(
                self._tenant_id, self._conversation_id, first.message_id, last.message_id
            ),
            conversation_id=self._conversation_id,
            user_id=self._user_id,
            reason=reason,
            message_ids=tuple(turn.message_id for turn in turns),
            turn_ids=tuple(turn.turn_id for turn in turns),
            text=text_of(turns),
            from_index=first.index,
            to_index=last.index,
            overlap=overlap,
            people=tuple(dict.fromkeys(turn.user_id for turn in turns)),
            speakers=tuple(dict.fromkeys(turn.speaker for turn in turns if turn.speaker)),
            first_sent_at=_time(min(turn.sent_at for turn in turns)),
            last_sent_at=_time(max(turn.sent_at for turn in turns)),
            arrived_at=_time(max(turn.arrived_at for turn in turns)),
            began_at=_time(self._began_at),
            source=WindowSource(
                topic=last.topic,
                partition=last.partition,
                first_offset=min(turn.offset for turn in turns),
                last_offset=max(turn.offset for turn in turns),
            ),
            tenant_id=self._tenant_id,
        )


def _time(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
