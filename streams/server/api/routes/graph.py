"""Graph of a person."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

import msgspec

from models.messages import DEFAULT_TENANT, Identifier
from processors.retrieval.recall.question import LONGEST_QUESTION
from streams.server.api.cursors import after, cursor_of
from streams.server.api.operations import Call, Parameters, Scope, operation
from streams.server.api.problems import INVALID_REQUEST, Problem
from streams.stores.qdrant_payload import is_point_id
from streams.stores.remembered.ports import Graph
from streams.stores.search.graph import NEIGHBOURS_LIMIT, STEPS_LIMIT, GraphAnswer, GraphWanted

#: What a cursor is of.
_LIST = "graph"


class GraphParameters(Parameters, frozen=True, kw_only=True):
    """Around the entity ``entity_id``, around those that ``q`` names, or, without either, any of them.

    ``steps``: how many relations away an entity may be; ``limit``: how many relations.  ``cursor``: the
    ``next`` of the page before.
    """

    user_id: Identifier
    tenant_id: Identifier = DEFAULT_TENANT
    q: Annotated[str, msgspec.Meta(max_length=LONGEST_QUESTION)] = ""
    entity_id: UUID | None = None
    steps: Annotated[int, msgspec.Meta(ge=1, le=STEPS_LIMIT)] = 1
    limit: Annotated[int, msgspec.Meta(ge=1, le=NEIGHBOURS_LIMIT)] = 50
    cursor: str | None = None


@operation("GET", "/v1/graph", scope=Scope.READ, example={"user_id": "ada", "q": "my sister"})
async def get_graph(call: Call, wanted: GraphParameters) -> GraphAnswer:
    """People, pets, places, organizations and dates that a person speaks of, and what ties them."""
    graph: Graph = call.part("graph")
    found = await graph.look(
        GraphWanted(
            user_id=wanted.user_id,
            tenant_id=wanted.tenant_id,
            query=wanted.q,
            entity_id=str(wanted.entity_id or ""),
            steps=wanted.steps,
            limit=wanted.limit,
            start=None if wanted.cursor is None else _start(wanted.cursor),
        )
    )
    known = bool(found.entities) or await call.part("search").knows(wanted.user_id, wanted.tenant_id)
    return GraphAnswer(
        user_id=wanted.user_id,
        tenant_id=wanted.tenant_id,
        entities=found.entities,
        relations=found.relations,
        is_cut=found.is_cut,
        next=None if found.next is None else cursor_of(_LIST, found.next),
        known=known,
        unread=not known and await call.is_unread(wanted.tenant_id, wanted.user_id),
    )


def _start(cursor: str) -> str:
    start = after(_LIST, cursor)
    if not is_point_id(start):
        raise Problem(INVALID_REQUEST, "cursor is not the `next` of a page of the graph: begin without one.")
    return start
