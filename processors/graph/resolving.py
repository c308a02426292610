"""Entities and relations of all that a person has said, whatever order it came in.

"My sister", "Anna" and "my sister Anna" are one if nobody else could be meant.  Two people with one name stay
two: what is said of "Anna" alone is then of neither.  What is somebody's by name alone is a person of its own.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import pairwise
from typing import NamedTuple

from models import ids
from models.graph import SELF_ROLE, Entity, EntityType, GraphSource, GraphStatement, Mention, Relation
from processors.graph.wordings import SINGLE

#: How many sentences a relation names.
PROVENANCE_LIMIT = 5

#: How the person themself is called in their graph.
SELF_NAME = "user"


class Graph(NamedTuple):
    """By id, without versions (1)."""

    entities: dict[str, Entity]
    relations: dict[str, Relation]


def resolve(statements: Iterable[GraphStatement]) -> Graph:
    """Return the graph of one person's statements."""
    said = sorted(
        set(statements), key=lambda each: (each.source.sent_at, each.source.offset, each.statement_id)
    )
    if not said:
        return Graph({}, {})
    people = _People(said)
    entities: dict[str, list[tuple[Mention, GraphSource]]] = defaultdict(list)
    claims: dict[tuple[str, str, str], list[GraphStatement]] = defaultdict(list)
    for each in said:
        subject, thing = people.key_of(each.subject), people.key_of(each.object)
        if subject is None or thing is None or subject == thing:
            continue
        entities[subject].append((each.subject, each.source))
        entities[thing].append((each.object, each.source))
        claims[subject, each.relation, thing].append(each)
    first = said[0]
    made = {key: _entity(key, found, first) for key, found in entities.items()}
    ends = _ends(claims)
    relations = [_relation(key, found, made, ends.get(key)) for key, found in claims.items()]
    return Graph(
        {each.entity_id: each for each in made.values()}, {each.relation_id: each for each in relations}
    )


class _People:
    """Who is meant by a role, by a name, or by both.  Keys tell entities apart."""

    def __init__(self, said: Sequence[GraphStatement]) -> None:
        self._names_of_role: dict[tuple[EntityType, str], set[str]] = defaultdict(set)
        self._keys_of_name: dict[tuple[EntityType, str], set[str]] = defaultdict(set)
        #: Names of a role by what they begin with, in whole words.
        self._longer: dict[tuple[EntityType, str, str], set[str]] = defaultdict(set)
        self._keys_of_role: dict[tuple[EntityType, str], str | None] = {}
        mentions = [mention for each in said for mention in (each.subject, each.object)]
        full = {(each.type, each.role, _folded(each.name)) for each in mentions if each.role and each.name}
        for kind, role, name in full:
            self._names_of_role[kind, role].add(name)
            words = name.split(" ")
            for count in range(1, len(words)):
                self._longer[kind, role, " ".join(words[:count])].add(name)
        for kind, role, name in full:
            key = _key(kind, role, self._longest(kind, role, name))
            self._keys_of_name[kind, name].add(key)
            self._keys_of_name[kind, name.split(" ")[0]].add(key)

    def _longest(self, kind: EntityType, role: str, name: str) -> str:
        """ "Anna" of the same role is "Anna Lund" if there is one such."""
        longer = self._longer.get((kind, role, name), ())
        return next(iter(longer)) if len(longer) == 1 else name

    def key_of(self, mention: Mention) -> str | None:
        """Return the key of whom or what is meant; ``None`` if it could be two."""
        kind, role, name = mention.type, mention.role, _folded(mention.name)
        if role == SELF_ROLE:
            return _key(kind, SELF_ROLE, "")
        if role and name:
            return _key(kind, role, self._longest(kind, role, name))
        if role:
            if (kind, role) not in self._keys_of_role:
                self._keys_of_role[kind, role] = self._key_of_role(kind, role)
            return self._keys_of_role[kind, role]
        keys = self._keys_of_name.get((kind, name), set())
        if len(keys) > 1:
            return None
        return next(iter(keys)) if keys else _key(kind, "", name)

    def _key_of_role(self, kind: EntityType, role: str) -> str | None:
        names = {self._longest(kind, role, each) for each in self._names_of_role[kind, role]}
        if len(names) > 1:
            return None
        return _key(kind, role, names.pop() if names else "")


def _key(kind: EntityType, role: str, name: str) -> str:
    return f"{kind.value}/{role}/{name}"


def _folded(name: str) -> str:
    return " ".join(name.casefold().split())


def entity_id(tenant_id: str, user_id: str, key: str) -> str:
    """Return the id of what a key tells apart, in the graph of a person."""
    return ids.deterministic_id("entity", tenant_id, user_id, key)


def _entity(key: str, found: Sequence[tuple[Mention, GraphSource]], first: GraphStatement) -> Entity:
    kind, role, _ = key.split("/", 2)
    names = [mention.name for mention, _ in found if mention.name]
    if role == SELF_ROLE:
        name, called = SELF_NAME, ["I"]
    else:
        # The longest name, and of these the one that came last: "Anna Lund" says more than "Anna".
        name = max(enumerate(names), key=lambda each: (len(each[1]), each[0]))[1] if names else role
        called = [*([f"my {role}"] if role else []), *sorted(names)]
    times = [source.sent_at for _, source in found]
    return Entity(
        entity_id=entity_id(first.tenant_id, first.user_id, key),
        tenant_id=first.tenant_id,
        user_id=first.user_id,
        type=EntityType(kind),
        role="" if role == SELF_ROLE else role,
        name=name,
        aliases=tuple(dict.fromkeys(each for each in called if each != name)),
        mentions=len(found),
        first_said_at=min(times),
        last_said_at=max(times),
        changed_at=max(source.arrived_at for _, source in found),
        version=1,
    )


def _ends(claims: dict[tuple[str, str, str], list[GraphStatement]]) -> dict[tuple[str, str, str], datetime]:
    """Return since when what was so is no longer: somebody said so, or something else takes its place."""
    ends: dict[tuple[str, str, str], datetime] = {}
    for key, found in claims.items():
        if found[-1].ended:
            ends[key] = found[-1].source.sent_at
    rivals: dict[tuple[str, str], list[tuple[datetime, tuple[str, str, str]]]] = defaultdict(list)
    for key, found in claims.items():
        holding = [each.source.sent_at for each in found if not each.ended]
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
    key: tuple[str, str, str],
    found: Sequence[GraphStatement],
    entities: dict[str, Entity],
    ended: datetime | None,
) -> Relation:
    subject, thing, first = entities[key[0]], entities[key[2]], found[0]
    sources = [each.source for each in found]
    began = min(source.sent_at for source in sources)
    return Relation(
        relation_id=ids.deterministic_id("relation", subject.entity_id, key[1], thing.entity_id),
        tenant_id=first.tenant_id,
        user_id=first.user_id,
        from_id=subject.entity_id,
        from_name=subject.name,
        relation=key[1],
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
