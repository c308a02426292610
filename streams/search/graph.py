"""Searching a person's graph, and walking it: whom a question names, and what is tied to them."""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

from models.errors import InvalidRecord
from models.graph import Entity, EntityType, Relation
from models.messages import DEFAULT_TENANT
from models.ports import GraphFilter, SearchIndex
from processors.graph.resolving import SELF_NAME

#: How far and how wide a walk goes at most.
STEPS_LIMIT = 2
NEIGHBOURS_LIMIT = 200

_WORD = re.compile(r"[^\W_]+")


class GraphWanted(msgspec.Struct, frozen=True, kw_only=True):
    """Whose graph, and what of it: around an entity, around those that ``query`` names, or any."""

    user_id: str
    tenant_id: str = DEFAULT_TENANT
    query: str = ""
    entity_id: str = ""
    steps: int = 1
    limit: int = 50


class Neighbourhood(msgspec.Struct, frozen=True):
    """The entities that were reached, nearest first, and the relations between them.

    ``is_cut``: there is more than was asked for.
    """

    entities: list[Entity]
    relations: list[Relation]
    is_cut: bool = False


class GraphSearch:
    """Looks up entities and relations in their indexes."""

    def __init__(
        self, entities: SearchIndex[Entity, GraphFilter], relations: SearchIndex[Relation, GraphFilter]
    ) -> None:
        self._entities = entities
        self._relations = relations

    async def look(self, wanted: GraphWanted) -> Neighbourhood:
        """Return what was asked for; raises as :meth:`neighbours`."""
        user_id, tenant_id = wanted.user_id, wanted.tenant_id
        if wanted.entity_id:
            begin = [wanted.entity_id]
        else:
            named = await self.named(user_id, tenant_id, wanted.query) if wanted.query.strip() else []
            some = (
                named if wanted.query.strip() else await self.entities(user_id, tenant_id, limit=wanted.limit)
            )
            begin = [each.entity_id for each in some]
        return await self.neighbours(user_id, tenant_id, begin, wanted.steps, wanted.limit)

    async def entities(self, user_id: str, tenant_id: str, query: str = "", limit: int = 20) -> list[Entity]:
        """Return the entities whose names share words with ``query``, best first; of no query, any."""
        where = GraphFilter(user_id=user_id, tenant_id=tenant_id)
        if not query.strip():
            found, _ = await self._entities.page(where, limit)
            return found
        return [each.item for each in await self._entities.search_text(query, where, limit)]

    async def named(self, user_id: str, tenant_id: str, question: str, limit: int = 5) -> list[Entity]:
        """Return the entities that a question names: all words of their name, or of one way to call them."""
        words = {_folded(word) for word in _WORD.findall(question)}
        found = await self.entities(user_id, tenant_id, question, 4 * limit) if words else []
        return [each for each in found if each.name != SELF_NAME and _is_named(each, words)][:limit]

    async def neighbours(
        self, user_id: str, tenant_id: str, entity_ids: Iterable[str], steps: int = 1, limit: int = 50
    ) -> Neighbourhood:
        """Walk from entities along their relations, up to ``steps`` of them, and return what is reached.

        Raises:
            InvalidRecord: ``invalid_steps``, ``invalid_limit``: less than one, or too many.
        """
        if not 1 <= steps <= STEPS_LIMIT:
            raise InvalidRecord("invalid_steps", f"steps must be 1 to {STEPS_LIMIT}, not {steps}")
        if not 1 <= limit <= NEIGHBOURS_LIMIT:
            raise InvalidRecord("invalid_limit", f"limit must be 1 to {NEIGHBOURS_LIMIT}, not {limit}")
        reached = dict.fromkeys(entity_ids)
        relations: dict[str, Relation] = {}
        edge, is_cut = [*reached], False
        for _ in range(steps):
            where = GraphFilter(user_id=user_id, tenant_id=tenant_id, ends=tuple(edge))
            left = limit - len(relations)
            if not edge or left <= 0:
                break
            found, more = await self._relations.page(where, left + len(relations))
            is_cut = is_cut or more is not None
            relations |= {each.relation_id: each for each in found[:limit]}
            ends = [end for each in found for end in (each.from_id, each.to_id)]
            edge = [end for end in dict.fromkeys(ends) if end not in reached]
            reached |= dict.fromkeys(edge)
        known = {each.entity_id: each for each in await self._entities.get([*reached])}
        theirs = [
            known[each] for each in reached if each in known and _is_theirs(known[each], user_id, tenant_id)
        ]
        return Neighbourhood(theirs, [*relations.values()], is_cut)

    async def tied_to(self, user_id: str, tenant_id: str, question: str, limit: int = 10) -> list[Relation]:
        """Return what is tied to those whom a question names, by one step, what holds now first."""
        named = await self.named(user_id, tenant_id, question)
        if not named:
            return []
        found = await self.neighbours(user_id, tenant_id, [each.entity_id for each in named], 1, limit)
        return sorted(found.relations, key=lambda each: (each.valid_to is not None, -each.evidence_count))


def _is_theirs(entity: Entity, user_id: str, tenant_id: str) -> bool:
    return (entity.user_id, entity.tenant_id) == (user_id, tenant_id)


def _is_named(entity: Entity, words: set[str]) -> bool:
    ways = [entity.name, *entity.aliases, *([entity.role] if entity.role else [])]
    if entity.type is EntityType.PERSON:
        ways += [way.split(" ")[0] for way in (entity.name, *entity.aliases) if not way.startswith("my ")]
    named = ({_folded(word) for word in _WORD.findall(way)} - {"my"} for way in ways)
    return any(parts and parts <= words for parts in named)


def _folded(word: str) -> str:
    return word.casefold()
