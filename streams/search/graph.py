"""Searching a person's graph, and walking it: whom a question names, and what is tied to them."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from models.errors import InvalidRecord
from models.graph import Entity, Relation
from models.index import GraphFilter, SearchIndex
from models.messages import DEFAULT_TENANT
from processors.graph.asking import is_named, relations_of
from processors.graph.resolving import SELF_NAME

#: How far and how wide a walk goes at most.
STEPS_LIMIT = 2
NEIGHBOURS_LIMIT = 200

#: Turns that a question finds by what is tied to whom it names.
TURNS_LIMIT = 20


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
        found = await self.entities(user_id, tenant_id, question, 4 * limit) if question.strip() else []
        return [each for each in found if is_named(each, question)][:limit]

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
            # Those that are known already may be among them.
            found, more = await self._relations.page(where, limit)
            new = [each for each in found if each.relation_id not in relations]
            is_cut = is_cut or more is not None or len(new) > left
            relations |= {each.relation_id: each for each in new[:left]}
            ends = [end for each in new[:left] for end in (each.from_id, each.to_id)]
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

    async def turns_of(self, user_id: str, tenant_id: str, question: str, *, of_self: bool) -> list[str]:
        """Return the ids of the turns that say what is tied to those whom a question names, the surest first.

        ``of_self``: the question is about the person, so that it is answered by the relations that it asks for,
        too: "which cities have I visited".
        """
        found = await self.tied_to(user_id, tenant_id, question, TURNS_LIMIT)
        asked = relations_of(question) if of_self else frozenset()
        if asked:
            words = " ".join(sorted(relation.replace("_", " ") for relation in asked))
            where = GraphFilter(user_id=user_id, tenant_id=tenant_id)
            said = await self._relations.search_text(words, where, 2 * TURNS_LIMIT)
            found += [
                each.item for each in said if each.item.relation in asked and each.item.from_name == SELF_NAME
            ]
        turns = (source.turn_id for each in found for source in reversed(each.provenance))
        return [*dict.fromkeys(turns)][:TURNS_LIMIT]


def _is_theirs(entity: Entity, user_id: str, tenant_id: str) -> bool:
    return (entity.user_id, entity.tenant_id) == (user_id, tenant_id)
