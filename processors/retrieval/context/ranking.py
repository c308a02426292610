"""Ranking of context candidates by relevance to the last message (requirement 3.2).

Relevance is .6 similarity + .3 confidence + .1 recency.  Of things that say nearly the same (similarity .8 and
above) the surest one stands for all.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from models.context import ContextItem, FoundBy, Parts, Tier
from models.messages import Role

#: What each part counts.
SIMILARITY, CONFIDENCE, RECENCY = 0.6, 0.3, 0.1

#: From this similarity on two things say nearly the same.
ALIKE = 0.8

#: Below this similarity something has nothing to do with what was said; the floor of a search, too.  Of words
#: that two texts share, one in ten counts.
RELATED = 0.3
RELATED_BY_WORDS = 0.1

#: Recency fades as a fact does, per day.
_FADES = 0.01

_DAY = timedelta(days=1)

_LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """Something that was found and may be worth knowing.

    ``similarity`` to what was just said, 0..1; ``at`` is when it was last said, ``arrived_at`` as in
    :class:`~models.context.ContextItem`.  ``words`` are those that say something, in their base form;
    ``vector`` is ``None`` where none is stored yet.  ``lasting``: a fact that is in every prompt.
    """

    id: str
    text: str
    found_by: FoundBy
    similarity: float
    at: datetime
    words: tuple[str, ...] = ()
    vector: NDArray[np.float32] | None = None
    confidence: float = 1.0
    role: Role | None = None
    speaker: str = ""
    message_ids: tuple[str, ...] = ()
    conversation_id: str = ""
    cut: bool = False
    arrived_at: datetime | None = None
    lasting: bool = False


class Ranked(NamedTuple):
    """A candidate, its score, and what each part added to that."""

    candidate: Candidate
    score: float
    parts: Parts


def candidate_of(item: ContextItem) -> Candidate:
    """Return the candidate that an item of a context was packed from, without its words and vector."""
    parts = item.parts
    return Candidate(
        id=item.id,
        text=item.text,
        found_by=item.found_by,
        similarity=parts.similarity / SIMILARITY if parts is not None else item.score,
        confidence=parts.confidence / CONFIDENCE if parts is not None else 1.0,
        at=item.at or _LONG_AGO,
        role=item.role,
        speaker=item.speaker,
        message_ids=item.message_ids,
        conversation_id=item.conversation_id,
        cut=item.cut,
        arrived_at=item.arrived_at,
        lasting=item.tier is Tier.FACTS and item.found_by is FoundBy.KIND,
    )


def likeness(wanted: Collection[str], words: Collection[str]) -> float:
    """Return how like two texts are by their words, 0..1: the cosine of the two sets."""
    one, other = set(wanted), set(words)
    return len(one & other) / math.sqrt(len(one) * len(other)) if one and other else 0.0


def ranked(candidates: Sequence[Candidate], now: datetime) -> list[Ranked]:
    """Return the candidates, the most relevant first; their order does not depend on the one given."""
    found = []
    for each in candidates:
        days = max(0.0, (now - each.at) / _DAY)
        parts = Parts(
            similarity=round(SIMILARITY * min(1.0, max(0.0, each.similarity)), 4),
            confidence=round(CONFIDENCE * each.confidence, 4),
            recency=round(RECENCY * math.exp(-_FADES * days), 4),
        )
        found.append(Ranked(each, round(parts.similarity + parts.confidence + parts.recency, 4), parts))
    return sorted(found, key=lambda one: (-one.score, one.candidate.id))


def is_related(candidate: Candidate) -> bool:
    """Say whether something bears on what was just said."""
    least = RELATED if candidate.found_by is FoundBy.MEANING else RELATED_BY_WORDS
    return candidate.similarity >= least


def diverse(found: Sequence[Ranked], alike: float = ALIKE) -> tuple[list[Ranked], Mapping[str, str]]:
    """Return those that stand for what is alike, in the order of relevance, and by id for whom they stand.

    Each joins the first group whose most relevant one it is like; the surest of a group stands for it.
    """
    groups: list[list[Ranked]] = []
    for each in found:
        for group in groups:
            if _similarity(group[0].candidate, each.candidate) >= alike:
                group.append(each)
                break
        else:
            groups.append([each])
    kept, instead = [], {}
    for group in groups:
        surest = max(group, key=lambda one: (one.candidate.confidence, one.score, one.candidate.id))
        kept.append(surest)
        instead.update(
            {one.candidate.id: surest.candidate.id for one in group if one is not surest},
        )
    return sorted(kept, key=lambda one: (-one.score, one.candidate.id)), instead


def _similarity(one: Candidate, other: Candidate) -> float:
    if one.vector is None or other.vector is None:
        return likeness(one.words, other.words)
    return float(np.dot(one.vector, other.vector))
