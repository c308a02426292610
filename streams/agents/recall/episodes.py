"""recall/episodes: turns that belong together become an episode, which asks for its vector; what its new turns
say of people and places goes to the graph (:mod:`streams.agents.memory.graph`).

It reads the log of turns and, if episodes end with their topic, that of the turns' vectors, in any order
(:mod:`processors.conversations.episodes.topic_queue`): turns that wait for a vector lie beside the
conversation's state. A turn that gets none for a day gets an empty one, in the log, too.

Where nothing follows the last turn of an episode, the clock says so: then the stage writes into the log of
turns that the conversation was silent, and ends the episode when it reads it there.

A record without a value erases a turn: it is left out of the open episode, and of those that had it nothing
stays (:mod:`.episode_erasing`).  So the stage knows its episodes by the hashes of their turns, in pages beside
the conversation's state.
"""

from __future__ import annotations

from datetime import UTC, datetime

from models.errors import InvalidRecord
from models.messages import Punctuation, PunctuationKind
from models.turns import Turn
from models.vectors import TurnVector, VectorKind
from processors.conversations.episodes.fold import EpisodeFold
from processors.conversations.episodes.state import EpisodePolicy, EpisodesState
from processors.conversations.windows import WindowSizes
from processors.extraction.graph.reading import read as read_statements
from processors.extraction.policies.never import NEVER_KEPT, texts_of_relation
from processors.retrieval.embedding.wording import request_for
from processors.text.validation import decode
from streams.agents.emitting import emit
from streams.agents.memory.graph import send_statement
from streams.agents.policy_stamping import PolicyStamps
from streams.agents.recall import turn_vectors
from streams.agents.recall.episode_erasing import SOURCE, Published, decode_own, fold_own, take_back
from streams.agents.recall.episode_pages import (
    ERASED_EPISODES,
    ERASED_MARK,
    PAGE,
    PAGE_EPISODES,
    PAGE_MARK,
    ROW,
    ROW_MARK,
    StoredRows,
    erased_key,
    listed_as,
    page_key,
)
from streams.agents.recall.punctuations import TURNS, is_punctuation, punctuate
from streams.agents.recall.turn_log import Erased, read
from streams.agents.recall.turn_vectors import TURN_VECTORS
from streams.agents.vectors import requests as embedding_requests
from streams.clients.erasures import Erasing
from streams.clients.policies.known import NoPolicies, Policies
from streams.clients.records import SourceRecord
from streams.clients.topics import EPISODES
from streams.config.settings import Settings
from streams.runtime.codec import Codec
from streams.runtime.keyed import Run, Source, Work, keyed_stage
from streams.runtime.stage import Stage, TimerContext

__all__ = ["EPISODES", "STATE", "Episodes", "policy_of"]

STATE: Codec[EpisodesState] = Codec("episodes", EpisodesState)
#: The settings that decide which turns are an episode.
DECIDING = ("episodes", "episode_size", "episode_overlap", "idle_seconds")

#: After how long a vector is waited for no more; of so many turns at a time.
_PATIENCE_SECONDS = 86_400.0
_GIVEN_UP_AT_ONCE = 1_000


_Item = Turn | Erased | Punctuation | None


def policy_of(settings: Settings) -> EpisodePolicy:
    """Return the episode policy from the settings."""
    return EpisodePolicy(
        WindowSizes(settings.episode_size, settings.episode_overlap),
        settings.idle_seconds,
        adaptive=settings.episodes == "adaptive",
    )


class Episodes:
    """Handlers of turns, erasures and punctuations."""

    def __init__(self, settings: Settings, policies: Policies | None = None) -> None:
        self._settings = settings
        self._tenants = policies or NoPolicies()
        self._stamps = PolicyStamps("episodes", settings.chosen(*DECIDING))
        self._policy = policy_of(settings)
        self._kept_seconds = settings.turn_retention_days * 86_400

    def stage(self) -> Stage:
        """Return the stage."""
        return keyed_stage(
            name="episodes",
            table="episodes",
            codec=STATE,
            others=(PAGE, ROW, ERASED_EPISODES),
            sources={
                TURNS: Source(decode=_decode, fold=self._fold, key=_key),
                TURN_VECTORS: Source(decode=turn_vectors.read, fold=self._fold_vectors, key=_key),
                EPISODES: Source(decode=decode_own, fold=fold_own, key=_key),
            },
            wake_at=self._wake_at,
            on_timer=self._on_timer,
            timer_at=self._timer_at,
            batch_records=self._settings.batch_records,
            decided_by=self._stamps.decided_by,
            observes_only_of=(TURNS, EPISODES),
        )

    def _fold(self, before: EpisodesState | None, run: Run[_Item], work: Work) -> EpisodesState | None:
        state = before or EpisodesState()
        fold = EpisodeFold(run.key.decode(), state, self._policy, StoredRows(run.key, work))
        listed = state.formed
        for item, record in run.items:
            if isinstance(item, Turn):
                fold.add(item, record.timestamp / 1000)
            elif isinstance(item, Punctuation):
                if item.punctuation == PunctuationKind.CLOSE:
                    fold.close(item.tenant_id)
                else:
                    fold.tick(record.timestamp / 1000)
            elif isinstance(item, Erased):
                listed = self._publish(run.key, fold, listed, work)
                fold.erase(item.turn_id, item.until_ms / 1000)
                if self._policy.adaptive:
                    turn_vectors.forget(work, item.conversation_id, item.turn_id)
                take_back(run.key, item, listed, work)
        self._publish(run.key, fold, listed, work)
        if fold.repeated:
            work.skip("duplicate", by=fold.repeated)
        return self._finish(before, run.key, fold, work)

    def _fold_vectors(
        self, before: EpisodesState | None, run: Run[TurnVector | None], work: Work
    ) -> EpisodesState | None:
        if not self._policy.adaptive:
            return before
        state = before or EpisodesState()
        fold = EpisodeFold(run.key.decode(), state, self._policy, StoredRows(run.key, work))
        for item, record in run.items:
            if item is not None:
                place = round(item.began_at.timestamp() * 1000), item.index
                fold.add_vector(place, item.vector, record.timestamp / 1000)
        self._publish(run.key, fold, state.formed, work)
        return self._finish(before, run.key, fold, work)

    @staticmethod
    def _finish(
        before: EpisodesState | None, key: bytes, fold: EpisodeFold, work: Work
    ) -> EpisodesState | None:
        if not fold.changed:
            return before
        after = fold.finish()
        if not after.is_open:
            # Most conversations are idle most of the time: packed, this is a quarter of the size.
            work.put(key, after, STATE, packed=True)
        return after

    def _publish(self, conversation: bytes, fold: EpisodeFold, listed: int, work: Work) -> int:
        """Publish what was formed, behind the ``listed`` episodes that are known; return how many are then."""
        for formed in fold.take_formed():
            episode = formed.episode
            emit(work, episode, subject=episode.user_id)
            if formed.embedded:
                request = request_for(
                    VectorKind.EPISODE,
                    episode.episode_id,
                    formed.embedded,
                    episode.user_id,
                    episode.tenant_id,
                )
                embedding_requests.ask(work, request, SOURCE)
            for statement in read_statements(episode.conversation_id, formed.turns, episode.overlap):
                policy = self._tenants.of(statement.tenant_id)
                if policy.never_kept.mentioned(texts_of_relation(statement)):
                    work.count("statements_dropped_total", NEVER_KEPT)
                else:
                    send_statement(statement, work, self._stamps.of(policy))
            work.count("episodes_total", episode.reason)
            page = page_key(conversation, listed // PAGE_EPISODES)
            before = tuple(each for each in work.get(page, PAGE) or () if each.episode_id != episode.episode_id)
            work.put(page, (*before, listed_as(formed)), PAGE, first=True)
            listed += 1
        return listed

    def _wake_at(self, state: EpisodesState) -> float:
        came_at = state.seen.came_at
        if state.is_open:
            # A little later, since the broker's clock may be behind: it is the one that counts.
            return came_at + self._policy.idle_seconds + self._settings.tick_seconds
        return came_at + (_PATIENCE_SECONDS if state.waiting else self._kept_seconds)

    def _timer_at(self, key: bytes, payload: bytes) -> float | None:
        if ROW_MARK in key:
            # Of what a crash left behind nobody knows, so it is looked at after each restart.
            return ROW.decode(payload, key).came_at + _PATIENCE_SECONDS
        if ERASED_MARK in key:
            # They go with their conversation's state; after a reset there may be none.
            return (
                max(each.until_ms for each in ERASED_EPISODES.decode(payload, key)) / 1000 + self._kept_seconds
            )
        return None if PAGE_MARK in key else self._wake_at(STATE.decode(payload, key))

    def _on_timer(self, key: bytes, context: TimerContext, work: Work) -> None:
        """Write into the logs that a conversation is silent, or that no vectors came; forget what is gone."""
        if ROW_MARK in key:
            self._drop_leftover(key, context, work)
            return
        if ERASED_MARK in key:
            work.remove(key)
            return
        state = work.get(key, STATE)
        if state is None:
            return
        now, tick = context.now, self._settings.tick_seconds
        waited = now - state.seen.came_at
        if not context.caught_up:
            # Turns that say whether it is silent may still be in the log.
            work.wake(key, now + tick)
        elif state.is_open:
            began_at = datetime.fromtimestamp(state.seen.began_at, UTC)
            punctuate(
                work, PunctuationKind.TICK, state.tenant_id, key.decode(), began_at, state.seen.next_index
            )
            # Until it is read; and again, ever more seldom, if the broker's clock did not think so.
            overdue = waited - self._policy.idle_seconds
            work.wake(key, now + min(max(10 * tick, overdue), self._policy.idle_seconds))
        elif state.waiting:
            rows = StoredRows(key, work)
            for place in state.waiting[:_GIVEN_UP_AT_ONCE]:
                row = rows.get(place)
                if row is not None and row.turn is not None and not row.is_ready:
                    turn_vectors.give_up(work, key.decode(), row.turn)
            work.wake(key, now + max(10 * tick, waited - _PATIENCE_SECONDS))
        elif waited >= self._kept_seconds:
            for number in range(-(-state.formed // PAGE_EPISODES)):
                work.remove(page_key(key, number))
            if work.get(erased_key(key), ERASED_EPISODES):
                work.remove(erased_key(key))
            work.remove(key)

    @staticmethod
    def _drop_leftover(key: bytes, context: TimerContext, work: Work) -> None:
        """Remove a row that waits for nothing: what it was read for has happened, or will not."""
        conversation, _, name = key.partition(ROW_MARK)
        state = work.get(conversation, STATE)
        life, _, index = name.partition(b"/")
        place = int(life), int(index)
        if not context.caught_up or (state is not None and place in state.waiting):
            work.wake(key, context.now + _PATIENCE_SECONDS)
        else:
            work.remove(key)


def _decode(record: SourceRecord) -> _Item:
    """Return the decoded record; ``None`` for a record that the turns stage dead-letters."""
    try:
        if is_punctuation(record):
            return decode(Punctuation, record.value)
        said = read(record)
        # Of an erased conversation each turn is erased by itself.
        return None if isinstance(said, Erasing) else said
    except InvalidRecord:
        return None


def _key(item: _Item | TurnVector | Published) -> bytes:
    """Return the conversation; what says nothing is folded into none."""
    return item.conversation_id.encode() if item is not None else b""
