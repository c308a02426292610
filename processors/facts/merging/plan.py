"""Plan of consolidation for a person's changed facts: merges, contradictions, and questions for a validator.

A function of the facts and their vectors alone, whatever order they come in.  Only what changed is compared
with the rest; nothing of what was decided before comes up again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from models import ids
from models.consolidation import Likeness, MergeCluster
from models.facts import Fact, FactChange, FactStatus
from models.vectors import Saying
from processors.facts.evidence import latest
from processors.facts.merging.guards import FactFeatures, Relation, relation_of

#: From where on two facts are near (requirement 3.4).
NEAR_FROM = 0.85

#: How many facts of a cluster, and how many clusters, somebody is asked about at once.
CLUSTER_LIMIT = 8
CLUSTERS_LIMIT = 20

#: What is noted of two facts that were decided about.
_DECIDED = (FactChange.CONTRADICTED, FactChange.KEPT)

#: Rows that are compared with all others at a time.
_ROWS = 256


class Known(NamedTuple):
    """A fact, and its vector: of unit length, shape ``(dimensions,)``, float32."""

    fact: Fact
    vector: NDArray[np.float32]


class Pair(NamedTuple):
    """Two facts: which stays, or comes first; and the other.  ``similarity``: the cosine of their vectors."""

    fact_id: str
    other_id: str
    similarity: float


class Plan(NamedTuple):
    """Consolidation plan; ``left``: changed facts for the next round, beyond the limit on questions."""

    merges: tuple[Pair, ...] = ()
    contradictions: tuple[Pair, ...] = ()
    questions: tuple[MergeCluster, ...] = ()
    left: tuple[str, ...] = ()


def plan(known: Sequence[Known], changed: Collection[str], near_from: float = NEAR_FROM) -> Plan:
    """Return the plan for the facts ``changed`` (their ids), compared with all of ``known``, one person's.

    Vectors must be of one model.  Only facts that hold are looked at.
    """
    holding = sorted((each for each in known if _counts(each.fact)), key=lambda each: each.fact.fact_id)
    facts = {each.fact.fact_id: each.fact for each in holding}
    same: list[Pair] = []
    opposite: list[Pair] = []
    unclear: list[Pair] = []
    relations = _Relations(facts)
    for pair in _near(holding, changed, near_from):
        found = relations.of(pair.fact_id, pair.other_id)
        if found is Relation.SAME:
            same.append(pair)
        elif found is Relation.OPPOSITE:
            opposite.append(pair)
        elif found is Relation.UNCLEAR:
            unclear.append(pair)
    merges, left_over = _merges(same, facts, relations)
    gone = {pair.other_id for pair in merges}
    open_pairs = [pair for pair in (*unclear, *left_over) if not gone & {pair.fact_id, pair.other_id}]
    denied = _by_strength((pair for pair in opposite if not gone & {pair.fact_id, pair.other_id}), facts)
    # What is decided to be a contradiction comes first: it does something already, and is asked about once.
    decided, later = denied[:CLUSTERS_LIMIT], denied[CLUSTERS_LIMIT:]
    room = CLUSTERS_LIMIT - len(decided)
    asked, put_off = _questions(open_pairs, facts, room)
    unasked = put_off.union(*({pair.fact_id, pair.other_id} for pair in later))
    confirmed = (
        _cluster(_ranked((pair.fact_id, pair.other_id), facts), contradictory=True) for pair in decided
    )
    return Plan(
        merges,
        tuple(sorted(decided, key=lambda pair: (pair.fact_id, pair.other_id))),
        (*confirmed, *asked),
        tuple(sorted(unasked.intersection(changed))),
    )


def _counts(fact: Fact) -> bool:
    return fact.status is FactStatus.ACTIVE and not fact.tentative


class _Relations:
    """Relations of facts.  A fact is near many others: its features are read once."""

    def __init__(self, facts: Mapping[str, Fact]) -> None:
        self._facts = facts
        self._read: dict[str, tuple[FactFeatures, frozenset[str | None]]] = {}

    def of(self, one_id: str, other_id: str) -> Relation:
        """Return the relation of two facts; ``different`` if an earlier verdict says so."""
        (one, one_about), (other, other_about) = self._known(one_id), self._known(other_id)
        if not one_about.isdisjoint((one_id, other_id)) or not other_about.isdisjoint((one_id, other_id)):
            return Relation.DIFFERENT
        return relation_of(one, other)

    def _known(self, fact_id: str) -> tuple[FactFeatures, frozenset[str | None]]:
        if (found := self._read.get(fact_id)) is None:
            fact = self._facts[fact_id]
            about = frozenset(each.fact_id for each in fact.changes if each.change in _DECIDED)
            found = self._read[fact_id] = FactFeatures(fact), about
        return found


def _near(known: Sequence[Known], changed: Collection[str], near_from: float) -> Iterator[Pair]:
    """Yield the pairs of which one changed and whose vectors are near, each once, in order."""
    among = frozenset(changed)
    rows = [n for n, each in enumerate(known) if each.fact.fact_id in among]
    if not rows:
        return
    vectors = np.stack([each.vector for each in known])
    is_row = np.zeros(len(known), dtype=bool)
    is_row[rows] = True
    for start in range(0, len(rows), _ROWS):
        some = rows[start : start + _ROWS]
        cosines = vectors[some] @ vectors.T
        for at, other in zip(*np.nonzero(cosines >= near_from), strict=True):
            row = some[int(at)]
            if row == other or (is_row[other] and other < row):
                continue
            one_id, other_id = sorted((known[row].fact.fact_id, known[int(other)].fact.fact_id))
            yield Pair(one_id, other_id, float(cosines[at, other]))


def _strength(fact: Fact) -> tuple[float, int, float, str]:
    """Return the sort key for which fact stays: the surest, then the best supported, then the oldest."""
    return fact.confidence, fact.evidence_count, -fact.learned_at.timestamp(), fact.fact_id


def _merges(
    pairs: Sequence[Pair], facts: Mapping[str, Fact], relations: _Relations
) -> tuple[tuple[Pair, ...], list[Pair]]:
    """Return merges into the strongest of each component, and the pairs that a guard keeps out of one.

    That two facts are near a third does not make them one: each must be the same as the one that stays.
    """
    similarity = {(pair.fact_id, pair.other_id): pair.similarity for pair in pairs}
    pairs_of: defaultdict[str, list[Pair]] = defaultdict(list)
    for pair in pairs:
        pairs_of[pair.fact_id].append(pair)
        pairs_of[pair.other_id].append(pair)
    merges, left_over = [], list[Pair]()
    for members in _components(pairs):
        winner = max((facts[each] for each in members), key=_strength)
        for other_id in sorted(members - {winner.fact_id}):
            first, second = sorted((winner.fact_id, other_id))
            cosine = similarity.get((first, second))
            if cosine is not None or relations.of(winner.fact_id, other_id) is Relation.SAME:
                merges.append(Pair(winner.fact_id, other_id, cosine or 0.0))
            else:
                left_over += pairs_of[other_id]
    return tuple(merges), left_over


def _components(pairs: Sequence[Pair]) -> list[set[str]]:
    """Return the sets of facts that are connected by pairs, in order of their least id."""
    of: dict[str, set[str]] = {}
    for pair in pairs:
        one = of.setdefault(pair.fact_id, {pair.fact_id})
        other = of.setdefault(pair.other_id, {pair.other_id})
        if one is other:
            continue
        few, many = sorted((one, other), key=len)
        many |= few
        of.update(dict.fromkeys(few, many))
    found = {min(members): members for members in of.values()}
    return [found[least] for least in sorted(found)]


def _by_strength(pairs: Iterable[Pair], facts: Mapping[str, Fact]) -> list[Pair]:
    """Return pairs, those of the surest facts first."""

    def strength(pair: Pair) -> list[tuple[float, int, float, str]]:
        return [_strength(fact) for fact in _ranked((pair.fact_id, pair.other_id), facts)]

    return sorted(pairs, key=strength, reverse=True)


def _questions(
    pairs: Sequence[Pair], facts: Mapping[str, Fact], room: int
) -> tuple[list[MergeCluster], set[str]]:
    """Return the clusters to ask about, the surest first, and the facts of those for which there is no room.

    What is connected is asked about as a whole, or later as a whole: of a part the rest would come up again
    with all of it.  In clusters that are too large for a question the surest fact stands in each part.
    """
    components = [_ranked(members, facts) for members in _components(pairs)]
    components.sort(key=lambda ranked: _strength(ranked[0]), reverse=True)
    asked: list[MergeCluster] = []
    put_off: set[str] = set()
    for ranked in components:
        surest, others = ranked[0], ranked[1:]
        parts = [others[at : at + CLUSTER_LIMIT - 1] for at in range(0, len(others), CLUSTER_LIMIT - 1)]
        if len(parts) <= room - len(asked) or (room == CLUSTERS_LIMIT and not asked):
            asked += [_cluster([surest, *part]) for part in parts[:room]]
        else:
            put_off.update(fact.fact_id for fact in ranked)
    return asked, put_off


def _ranked(fact_ids: Iterable[str], facts: Mapping[str, Fact]) -> list[Fact]:
    """Return facts, the surest first."""
    return sorted((facts[each] for each in fact_ids), key=_strength, reverse=True)


def _cluster(ranked: Sequence[Fact], *, contradictory: bool = False) -> MergeCluster:
    return MergeCluster(
        cluster_id=ids.deterministic_id("cluster", *sorted(fact.fact_id for fact in ranked)),
        facts=tuple(map(_likeness, ranked)),
        contradictory=contradictory,
    )


def _likeness(fact: Fact) -> Likeness:
    return Likeness(
        fact_id=fact.fact_id,
        statement=fact.statement,
        confidence=fact.confidence,
        kind=fact.kind,
        event_at=fact.event_at,
        last_evidence_at=fact.last_evidence_at,
        said=_said_last(fact) if fact.provenance else None,
    )


def _said_last(fact: Fact) -> Saying:
    last = latest(fact)
    return Saying(conversation_id=last.conversation_id, sent_at=last.sent_at, arrived_at=last.arrived_at)
