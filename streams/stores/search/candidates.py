"""Turns, facts and episodes as candidates that are ranked together."""

from __future__ import annotations

from models.episodes import Episode
from models.facts import Fact
from models.messages import Role
from models.turns import Turn
from processors.retrieval.recall.features import Candidate
from streams.stores.search.results import Around, messages_of, neighbour


def of_turn(turn: Turn, cosine: float | None, around: Around, *, tied: bool = False) -> Candidate:
    """Return a turn, with the ones before and after it."""
    before, after = neighbour(turn, turn.index - 1, around), neighbour(turn, turn.index + 1, around)
    return Candidate(
        text=turn.text,
        role=turn.role,
        speaker=turn.speaker,
        conversation_id=turn.conversation_id,
        index=turn.index,
        cosine=cosine,
        before="" if before is None else before.text,
        after="" if after is None else after.text,
        said_at=turn.sent_at.timestamp(),
        message_ids=(turn.message_id,),
        tied=tied,
    )


def of_fact(fact: Fact, cosine: float | None, person: str) -> Candidate:
    """Return a fact as something that the person said."""
    return Candidate(
        text=fact.statement,
        role=Role.USER,
        speaker=person,
        cosine=cosine,
        importance=fact.importance,
        said_at=max((source.sent_at.timestamp() for source in fact.provenance), default=0.0),
        message_ids=messages_of(fact),
    )


def of_episode(episode: Episode, cosine: float | None) -> Candidate:
    """Return an episode as something that the person said."""
    return Candidate(
        text=episode.text,
        role=Role.USER,
        cosine=cosine,
        said_at=episode.last_sent_at.timestamp(),
        message_ids=episode.message_ids,
    )
