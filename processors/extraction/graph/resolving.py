"""Entities and relations of all that a person has said, whatever order it came in.

"My sister", "Anna" and "my sister Anna" are one if nobody else could be meant.  Two people with one name stay
two: what is said of "Anna" alone is then of neither.  What is somebody's by name alone is a person of its own.
"""

from __future__ import annotations

from bisect import insort
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from datetime import datetime
from itertools import pairwise
from typing import NamedTuple, TypeVar

from models import ids
from models.graph import SELF_ROLE, Entity, EntityType, GraphSource, GraphStatement, Mention, Relation
from processors.extraction.graph.people import People
from processors.extraction.graph.wordings import SINGLE

_Thing = TypeVar("_Thing", Entity, Relation)

#: How many sentences a relation names.
PROVENANCE_LIMIT = 5

#: How the person themself is called in their graph.
SELF_NAME = "user"


class Graph(NamedTuple):
    """By id, without versions (1)."""

    entities: dict[str, Entity]
    relations: dict[str, Relation]


class Changed(NamedTuple):
    """Changes of a graph by id; ``None``: removed."""

    entities: dict[str, Entity | None]
    relations: dict[str, Relation | None]


#: Subject, relation and object, by their keys.
_Claim = tuple[str, str, str]


def resolve(statements: Iterable[GraphStatement]) -> Graph:
    """Return the graph of one person's statements."""
    resolved = Resolved()
    resolved.change(statements)
    return resolved.graph


class Resolved:
    """The graph of one person's statements, as they come and go: what a change does not touch stays as it is.

    Whatever way it came to its statements, it is the same.
    """

    def __init__(self) -> None:
        self.graph = Graph({}, {})
        self._whose = ("", "")
        self._people = People(())
        #: The key of each mention, and the statements that it stands in.
        self._key_of: dict[Mention, str | None] = {}
        self._with: dict[Mention, set[GraphStatement]] = {}
        #: What is said of each entity, and of each two, in its order.
        self._about: dict[str, list[GraphStatement]] = {}
        self._claims: dict[_Claim, list[GraphStatement]] = {}
        #: The claims of which, where one thing can hold only, the latest ends the others.
        self._rivals: defaultdict[tuple[str, str], set[_Claim]] = defaultdict(set)
        self._touched = set[_Claim]()

    def change(self, added: Iterable[GraphStatement], removed: Iterable[GraphStatement] = ()) -> Changed:
        """Take statements in, and others out; return what is not as it was."""
        self._touched = set()
        coming = {each for each in added if each not in self._with.get(each.subject, ())}
        if coming and not self._about:
            first = min(coming, key=_place)
            self._whose = first.tenant_id, first.user_id
        gone = self._remove(set(removed))
        new = {mention for each in coming for mention in _mentions(each)} - self._with.keys()
        for each in coming:
            for mention in _mentions(each):
                self._with.setdefault(mention, set()).add(each)
        if any(each.role and each.name for each in (*gone, *new)):
            self._name_anew(coming)
        else:
            self._key_of |= {mention: self._people.key_of(mention) for mention in new}
        for each in sorted(coming, key=_place):
            self._put_in(each)
        return self._made_anew()

    def _remove(self, going: Set[GraphStatement]) -> set[Mention]:
        """Take statements out, and return the mentions that stand in none any more."""
        gone = set[Mention]()
        for each in going:
            self._take_out(each)
            for mention in _mentions(each):
                self._with[mention].discard(each)
                if not self._with[mention]:
                    gone.add(mention)
        for mention in gone:
            del self._with[mention], self._key_of[mention]
        return gone

    def _name_anew(self, coming: Set[GraphStatement]) -> None:
        """Say anew who is meant by each mention, and move what is said of somebody else now."""
        self._people = People(self._with)
        keys = {mention: self._people.key_of(mention) for mention in self._with}
        others = [mention for mention, key in self._key_of.items() if keys[mention] != key]
        moved = {each for mention in others for each in self._with[mention]} - coming
        for each in moved:
            self._take_out(each)
        self._key_of = keys
        for each in sorted(moved, key=_place):
            self._put_in(each)

    def _put_in(self, each: GraphStatement) -> None:
        if (claim := self._claim(each)) is None:
            return
        insort(self._claims.setdefault(claim, []), each, key=_place)
        for key in (claim[0], claim[2]):
            insort(self._about.setdefault(key, []), each, key=_place)
        self._rivals[claim[:2]].add(claim)
        self._touched.add(claim)

    def _take_out(self, each: GraphStatement) -> None:
        if (claim := self._claim(each)) is None:
            return
        self._touched.add(claim)
        for key in (claim[0], claim[2]):
            self._about[key].remove(each)
        self._claims[claim].remove(each)
        if not self._claims[claim]:
            del self._claims[claim]
            self._rivals[claim[:2]].discard(claim)

    def _claim(self, each: GraphStatement) -> _Claim | None:
        """Return the relation claimed between two entities; ``None`` if it is ambiguous or reflexive."""
        subject, thing = self._key_of[each.subject], self._key_of[each.object]
        if subject is None or thing is None or subject == thing:
            return None
        return subject, each.relation, thing

    # -- what was touched, made anew ------------------------------------------------------------------------

    def _made_anew(self) -> Changed:
        claims, entities = set(self._touched), dict[str, Entity | None]()
        for key in {key for claim in self._touched for key in (claim[0], claim[2])}:
            name = entity_id(*self._whose, key)
            before, after = self.graph.entities.get(name), self._entity(key)
            if after == before:
                continue
            entities[name] = after
            if before is None or after is None or before.name != after.name:
                # It stands in all that is said of it.
                claims |= {
                    claim for each in self._about.get(key, ()) if (claim := self._claim(each)) is not None
                }
        _put(self.graph.entities, entities)
        for rivals in {claim[:2] for claim in claims if claim[1] in SINGLE}:
            claims |= self._rivals[rivals]
        ends = _ends({claim: self._claims[claim] for claim in claims if claim in self._claims})
        relations = dict[str, Relation | None]()
        for claim in claims:
            name, relation = self._relation(claim, ends.get(claim))
            if relation != self.graph.relations.get(name):
                relations[name] = relation
        _put(self.graph.relations, relations)
        return Changed(entities, relations)

    def _entity(self, key: str) -> Entity | None:
        """Return an entity by its key; ``None`` if nothing is said of it any more."""
        said = self._about.get(key)
        if not said:
            self._about.pop(key, None)
            return None
        found = [
            (each.subject if self._key_of[each.subject] == key else each.object, each.source) for each in said
        ]
        return _entity(key, found, *self._whose)

    def _relation(self, claim: _Claim, ended: datetime | None) -> tuple[str, Relation | None]:
        """Return a relation by its claim, and its id; ``None`` if nobody says so any more."""
        subject, thing = (entity_id(*self._whose, key) for key in (claim[0], claim[2]))
        name = ids.deterministic_id("relation", subject, claim[1], thing)
        if (said := self._claims.get(claim)) is None:
            return name, None
        entities = self.graph.entities
        return name, _relation(name, claim[1], said, entities[subject], entities[thing], ended)


def _place(each: GraphStatement) -> tuple[datetime, int, str]:
    return each.source.said_at, each.source.offset, each.statement_id


def _mentions(each: GraphStatement) -> tuple[Mention, Mention]:
    return each.subject, each.object


def _put(known: dict[str, _Thing], changed: Mapping[str, _Thing | None]) -> None:
    for name, thing in changed.items():
        if thing is None:
            del known[name]
        else:
            known[name] = thing


def entity_id(tenant_id: str, user_id: str, key: str) -> str:
    """Return the id of the entity with a key, in the graph of a person."""
    return ids.deterministic_id("entity", tenant_id, user_id, key)


def _entity(key: str, found: Sequence[tuple[Mention, GraphSource]], tenant_id: str, user_id: str) -> Entity:
    kind, role, _ = key.split("/", 2)
    names = [mention.name for mention, _ in found if mention.name]
    if role == SELF_ROLE:
        name, called = SELF_NAME, ["I"]
    else:
        # The longest name, and of these the one that came last: "Anna Lund" says more than "Anna".
        name = max(enumerate(names), key=lambda each: (len(each[1]), each[0]))[1] if names else role
        called = [*([f"my {role}"] if role else []), *sorted(names)]
    times = [source.sent_at for _, source in found]
    arrivals = [source.arrived_at for _, source in found]
    return Entity(
        entity_id=entity_id(tenant_id, user_id, key),
        tenant_id=tenant_id,
        user_id=user_id,
        type=EntityType(kind),
        role="" if role == SELF_ROLE else role,
        name=name,
        aliases=tuple(dict.fromkeys(each for each in called if each != name)),
        mentions=len(found),
        first_said_at=min(times),
        last_said_at=max(times),
        changed_at=max(arrivals),
        version=1,
    )


def _ends(claims: Mapping[_Claim, Sequence[GraphStatement]]) -> dict[_Claim, datetime]:
    """Return since when what was so is no longer: somebody said so, or something else takes its place."""
    ends: dict[_Claim, datetime] = {}
    for key, found in claims.items():
        if found[-1].ended:
            ends[key] = found[-1].source.said_at
    rivals: dict[tuple[str, str], list[tuple[datetime, _Claim]]] = defaultdict(list)
    for key, found in claims.items():
        holding = [each.source.said_at for each in found if not each.ended]
        if key[1] in SINGLE and holding:
            rivals[key[0], key[1]] += [(at, key) for at in holding]
    for said in rivals.values():
        said.sort()
        last = {key: at for at, key in said}
        for (_, key), (later, other) in pairwise(said):
            if other != key and key not in ends and last[key] <= later:
                ends[key] = later
    return ends


def _relation(
    relation_id: str,
    relation: str,
    found: Sequence[GraphStatement],
    subject: Entity,
    thing: Entity,
    ended: datetime | None,
) -> Relation:
    first, sources = found[0], [each.source for each in found]
    began = min(source.said_at for source in sources)
    return Relation(
        relation_id=relation_id,
        tenant_id=first.tenant_id,
        user_id=first.user_id,
        from_id=subject.entity_id,
        from_name=subject.name,
        relation=relation,
        to_id=thing.entity_id,
        to_name=thing.name,
        valid_from=began,
        valid_to=None if ended is None else max(began, ended),
        learned_at=min(source.arrived_at for source in sources),
        changed_at=max(source.arrived_at for source in sources),
        evidence_count=len(found),
        provenance=tuple(sources[-PROVENANCE_LIMIT:]),
        version=1,
    )
