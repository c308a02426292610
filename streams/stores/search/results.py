"""Results of a search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Literal

import msgspec

from models.episodes import Episode
from models.facts import Fact
from models.messages import Role
from models.statements import Kind
from models.turns import Turn
from streams.stores.search.explaining import Explanation
from streams.stores.search.wanted import SearchType, Wanted


class Surrounding(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A turn beside one that was found."""

    message_id: str
    role: Role
    text: str
    sent_at: datetime
    speaker: str = ""


class Result(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Something that answers.  ``score`` is 0..1; ``parts`` is what each feature added to its logarithm.

    ``message_ids`` are the messages that it rests on, of a fact the latest first; ``conversation_id`` is that
    of the first of them.  There is ``fact``, ``turn`` or ``episode``, by its kind.  ``before`` and ``after``
    are the turns around a turn, as far as they are known.
    """

    kind: Literal["fact", "turn", "episode"]
    score: float
    parts: dict[str, float]
    text: str
    message_ids: tuple[str, ...]
    conversation_id: str
    fact: Fact | None = None
    turn: Turn | None = None
    episode: Episode | None = None
    before: Surrounding | None = None
    after: Surrounding | None = None


class Empty(StrEnum):
    """Why nothing was found.

    ``unknown_person``: nothing was ever said by or to them, or learned of them; ``not_read_yet``: nothing of
    them was read, and something was said that nobody has read, to be asked about again in a moment;
    ``unknown_conversation``: nothing was said in it, by or to this person; ``no_facts``: facts were asked for,
    too, and none was ever learned of them; ``no_answer``: nothing of what there is answers.
    """

    UNKNOWN_PERSON = "unknown_person"
    NOT_READ_YET = "not_read_yet"
    UNKNOWN_CONVERSATION = "unknown_conversation"
    NO_FACTS = "no_facts"
    NO_ANSWER = "no_answer"


class Scope(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Scope of a search: one person's memory of one tenant, and the part of it that was asked for."""

    user_id: str
    tenant_id: str
    search_type: SearchType
    minimum_confidence: float
    conversation_id: str = ""
    since: datetime | None = msgspec.field(default=None, name="from")
    until: datetime | None = msgspec.field(default=None, name="to")
    as_of: datetime | None = None
    kinds: tuple[Kind, ...] = ()
    period: tuple[datetime, datetime] | None = None
    metadata: dict[str, str] = {}


class Results(list[Result]):
    """Search results, best first.  ``degraded``: the embedder was down, so only words were compared;
    or the Qdrant server is older than 1.20, so words were compared less well.

    ``empty`` says why there are none; ``explanation``: how the search came to them.
    """

    def __init__(
        self,
        found: Sequence[Result] = (),
        *,
        scope: Scope,
        degraded: bool = False,
        empty: Empty | None = None,
        explanation: Explanation | None = None,
    ) -> None:
        super().__init__(found)
        self.scope = scope
        self.degraded = degraded
        self.empty = empty
        self.explanation = explanation

    @property
    def floor(self) -> float:
        """The chance below which a result does not count as an answer."""
        return self.explanation.floor if self.explanation is not None else 0.0


def scope_of(wanted: Wanted, period: tuple[datetime, datetime] | None = None) -> Scope:
    """Return the scope of a search; ``period``: the time that the question itself names."""
    return Scope(
        user_id=wanted.user_id,
        tenant_id=wanted.tenant_id,
        search_type=wanted.search_type,
        minimum_confidence=wanted.minimum_confidence,
        conversation_id=wanted.conversation_id,
        since=wanted.since,
        until=wanted.until,
        as_of=wanted.as_of,
        kinds=tuple(wanted.kinds),
        period=period,
        metadata=dict(wanted.metadata),
    )


#: Turns by conversation and index.
Around = Mapping[tuple[str, int], Turn]


def of_item(item: Turn | Fact | Episode, score: float, parts: dict[str, float], around: Around) -> Result:
    """Return a turn, a fact or an episode as a result."""
    if isinstance(item, Turn):
        return _of_turn(item, score, parts, around)
    return _of_fact(item, score, parts) if isinstance(item, Fact) else _of_episode(item, score, parts)


def _of_turn(turn: Turn, score: float, parts: dict[str, float], around: Around) -> Result:
    return Result(
        kind="turn",
        score=score,
        parts=parts,
        text=turn.text,
        message_ids=(turn.message_id,),
        conversation_id=turn.conversation_id,
        turn=turn,
        before=_beside(turn, turn.index - 1, around),
        after=_beside(turn, turn.index + 1, around),
    )


def _of_fact(fact: Fact, score: float, parts: dict[str, float]) -> Result:
    latest = sorted(fact.provenance, key=lambda source: source.sent_at, reverse=True)
    return Result(
        kind="fact",
        score=score,
        parts=parts,
        text=fact.statement,
        message_ids=messages_of(fact),
        conversation_id=latest[0].conversation_id if latest else "",
        fact=fact,
    )


def _of_episode(episode: Episode, score: float, parts: dict[str, float]) -> Result:
    return Result(
        kind="episode",
        score=score,
        parts=parts,
        text=episode.text,
        message_ids=episode.message_ids,
        conversation_id=episode.conversation_id,
        episode=episode,
    )


def messages_of(fact: Fact) -> tuple[str, ...]:
    """Return the messages that a fact rests on, the latest first."""
    latest = sorted(fact.provenance, key=lambda source: source.sent_at, reverse=True)
    return tuple(dict.fromkeys(name for source in latest for name in source.message_ids))


def neighbour(turn: Turn, index: int, around: Around) -> Turn | None:
    """Return the turn at an index of the same conversation, if it is known."""
    other = around.get((turn.conversation_id, index))
    # Of a conversation that was forgotten and began anew the two lives are no neighbours.
    return other if other is not None and other.began_at == turn.began_at else None


def _beside(turn: Turn, index: int, around: Around) -> Surrounding | None:
    other = neighbour(turn, index, around)
    if other is None:
        return None
    return Surrounding(
        message_id=other.message_id,
        role=other.role,
        text=other.text,
        sent_at=other.sent_at,
        speaker=other.speaker,
    )
