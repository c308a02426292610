"""Cutting the turns of a conversation into episodes, one by one, once it is known what lies between them."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec

from models import ids
from models.episodes import Episode, EpisodeReason
from models.messages import DEFAULT_TENANT
from models.windows import WindowSource
from processors.conversations.episodes.state import EpisodePolicy, EpisodesState, KeptTurn
from processors.conversations.episodes.wording import embedded_text, text_of
from processors.conversations.windows import WindowCursor, WindowSizes


class Formed(msgspec.Struct, frozen=True):
    """An episode; what is embedded of it, ``""`` if nothing was said in it; when each of its turns arrived
    (epoch seconds); and its turns.
    """

    episode: Episode
    embedded: str
    arrivals: tuple[float, ...]
    turns: tuple[KeptTurn, ...] = ()


class Cutting:
    """The open episode of a conversation, and what ends it.  ``changed``: there is something to store."""

    def __init__(self, conversation_id: str, state: EpisodesState, policy: EpisodePolicy) -> None:
        self._conversation_id = conversation_id
        self._policy = policy
        self._tenant_id = state.tenant_id or DEFAULT_TENANT
        self._user_id = state.user_id
        self._began_at = state.began_at
        self._next_index = state.next_index
        self._cursor = state.cursor
        self._kept = list(state.kept)
        self._formed: list[Formed] = []
        self._count = state.formed
        self.changed = False

    @property
    def tenant_id(self) -> str:
        """Tenant of the conversation."""
        return self._tenant_id

    @property
    def new_turns(self) -> int:
        """How many turns of the open episode no other had."""
        first = self._cursor.from_index + self._cursor.overlap
        return sum(turn.index >= first for turn in self._kept)

    def begins_anew(self, turn: KeptTurn) -> bool:
        """Say whether a turn is of a later life of the conversation."""
        return turn.began_at > self._began_at

    def take(self, turn: KeptTurn, *, changes_topic: bool = False) -> None:
        """Take the next turn; with it, the topic may change."""
        if self.begins_anew(turn):
            self._begin(turn)
        elif turn.after_silence:
            self.end(EpisodeReason.IDLE)
        elif changes_topic:
            self.end(EpisodeReason.BOUNDARY)
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
        self.changed = True
        if self._next_index >= self._cursor.full_at(sizes):
            self._close(EpisodeReason.WINDOW, self._next_index)

    def end(self, reason: EpisodeReason) -> None:
        """End the open episode, if anything is in it that no other had."""
        self._close(reason, self._next_index)

    def take_formed(self) -> list[Formed]:
        """Return the episodes that were formed since this was last asked."""
        formed, self._formed = self._formed, []
        return formed

    def erase(self, turn_id: str, until: float) -> None:
        """Leave a turn out, if it arrived up to ``until`` (epoch seconds)."""
        left = [turn for turn in self._kept if turn.turn_id != turn_id or turn.arrived_at > until]
        if len(left) < len(self._kept):
            self._kept = left
            self.changed = True

    def state(self) -> EpisodesState:
        """Return the state to store."""
        return EpisodesState(
            self._tenant_id,
            self._user_id,
            self._began_at,
            self._next_index,
            self._cursor,
            tuple(self._kept),
            self._count,
        )

    def _begin(self, turn: KeptTurn) -> None:
        """Begin anew: nothing of what was said in an earlier life is repeated."""
        self.end(EpisodeReason.IDLE)
        self._tenant_id, self._user_id = turn.tenant_id, turn.user_id
        self._began_at, self._next_index = turn.began_at, turn.index
        self._cursor = WindowCursor(turn.index)
        self._kept.clear()

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
            arrivals = tuple(turn.arrived_at for turn in turns)
            self._formed.append(Formed(episode, embedded_text(turns), arrivals, tuple(turns)))
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
