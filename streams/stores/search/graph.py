"""Searching a person's graph, and walking it: whom a question names, and what is tied to them."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from models.errors import InvalidRecord
from models.graph import Entity, Relation
from models.index import GraphFilter, IndexReader
from models.messages import DEFAULT_TENANT
from processors.extraction.graph.asking import is_named, relations_of
from processors.extraction.graph.resolving import SELF_NAME

#: How far and how wide a walk goes at most.
STEPS_LIMIT = 2
NEIGHBOURS_LIMIT = 200

#: Turns that a question finds by what is tied to whom it names.
TURNS_LIMIT = 20

#: Relations of those whom a question names that are compared; of a hub those with the question's words, too.
_COMPARED = 400


class GraphWanted(msgspec.Struct, frozen=True, kw_only=True):
    """Graph query: around an entity, around those that ``query`` names, or the whole graph.

    ``start``: where the page before says that this one begins.
    """

    user_id: str
    tenant_id: str = DEFAULT_TENANT
    query: str = ""
    entity_id: str = ""
    steps: int = 1
    limit: int = 50
    start: str | None = None


class Neighbourhood(msgspec.Struct, frozen=True):
    """The entities that were reached, nearest first, and the relations between them.

    ``is_cut``: there is more than was asked for.  ``next``: where the next page begins, of relations of the
    first step; further steps are walked from what is on the page.
    """

    entities: list[Entity]
    relations: list[Relation]
    is_cut: bool = False
    next: str | None = None


class GraphAnswer(Neighbourhood, frozen=True, kw_only=True):
    """A neighbourhood as whoever asks over HTTP is told of it; there ``next`` is a cursor.

    ``known``: anything is known of the person.  ``unread``: nothing is, and something was said that nobody has
    read yet.
    """

    user_id: str
    tenant_id: str
    known: bool
    unread: bool


class GraphSearch:
    """Looks up entities and relations in their indexes."""

    def __init__(
        self, entities: IndexReader[Entity, GraphFilter], relations: IndexReader[Relation, GraphFilter]
    ) -> None:
        self._entities = entities
        self._relations = relations

    async def look(self, wanted: GraphWanted) -> Neighbourhood:
        """Return the requested part of the graph; raises as :meth:`neighbours`."""
        user_id, tenant_id = wanted.user_id, wanted.tenant_id
        begin: list[str] | None = None
        if wanted.entity_id:
            begin = [wanted.entity_id]
        elif wanted.query.strip():
            begin = [each.entity_id for each in await self.named(user_id, tenant_id, wanted.query)]
        found = await self.neighbours(user_id, tenant_id, begin, wanted.steps, wanted.limit, wanted.start)
        if begin is not None or wanted.start is not None:
            return found
        # Of anybody: those that nothing is tied to, too.
        known = {each.entity_id for each in found.entities}
        some = await self.entities(user_id, tenant_id, limit=wanted.limit)
        alone = [each for each in some if each.entity_id not in known]
        return msgspec.structs.replace(found, entities=[*found.entities, *alone])

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
        self,
        user_id: str,
        tenant_id: str,
        entity_ids: Iterable[str] | None,
        steps: int = 1,
        limit: int = 50,
        start: str | None = None,
    ) -> Neighbourhood:
        """Walk from entities along their relations, up to ``steps`` of them, and return what is reached.

        ``None``: from any entity.  ``start``: see :class:`Neighbourhood`.

        Raises:
            InvalidRecord: ``invalid_steps``, ``invalid_limit``: less than one, or too many.
        """
        if not 1 <= steps <= STEPS_LIMIT:
            raise InvalidRecord("invalid_steps", f"steps must be 1 to {STEPS_LIMIT}, not {steps}")
        if not 1 <= limit <= NEIGHBOURS_LIMIT:
            raise InvalidRecord("invalid_limit", f"limit must be 1 to {NEIGHBOURS_LIMIT}, not {limit}")
        reached = dict.fromkeys(entity_ids or ())
        relations: dict[str, Relation] = {}
        edge, is_cut, following = [*reached], False, None
        for step in range(steps if entity_ids is not None else 1):
            where = GraphFilter(user_id=user_id, tenant_id=tenant_id, ends=tuple(edge))
            left = limit - len(relations)
            if left <= 0 or (entity_ids is not None and not edge):
                break
            # Those that are known already may be among them.
            found, more = await self._relations.page(where, limit, None if step else start)
            following = following if step else more
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
        return Neighbourhood(theirs, [*relations.values()], is_cut, following)

    async def tied_to(self, user_id: str, tenant_id: str, question: str, limit: int = 10) -> list[Relation]:
        """Return the relations one step from the entities in a question: current first, then frequent, then
        latest.
        """
        named = await self.named(user_id, tenant_id, question)
        if not named:
            return []
        ends = tuple(each.entity_id for each in named)
        where = GraphFilter(user_id=user_id, tenant_id=tenant_id, ends=ends)
        found, more = await self._relations.page(where, _COMPARED)
        if more is not None:
            found += [each.item for each in await self._relations.search_text(question, where, _COMPARED)]
        ties = {each.relation_id: each for each in found}.values()
        return sorted(ties, key=_surest)[:limit]

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


def _surest(relation: Relation) -> tuple[bool, int, float, str]:
    latest = max((source.sent_at for source in relation.provenance), default=relation.valid_from)
    return relation.valid_to is not None, -relation.evidence_count, -latest.timestamp(), relation.relation_id


def _is_theirs(entity: Entity, user_id: str, tenant_id: str) -> bool:
    return (entity.user_id, entity.tenant_id) == (user_id, tenant_id)
