"""Whom and what a person speaks of, and how it hangs together."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

import msgspec

from models.messages import DEFAULT_TENANT, Identifier
from processors.recall.question import LONGEST_QUESTION
from streams.api.operations import Call, Parameters, Scope, operation
from streams.remembered.ports import Graph
from streams.search.graph import NEIGHBOURS_LIMIT, STEPS_LIMIT, GraphWanted, Neighbourhood


class GraphParameters(Parameters, frozen=True, kw_only=True):
    """Around the entity ``entity_id``, around those that ``q`` names, or, without either, any of them.

    ``steps``: how many relations away an entity may be; ``limit``: how many relations.
    """

    user_id: Identifier
    tenant_id: Identifier = DEFAULT_TENANT
    q: Annotated[str, msgspec.Meta(max_length=LONGEST_QUESTION)] = ""
    entity_id: UUID | None = None
    steps: Annotated[int, msgspec.Meta(ge=1, le=STEPS_LIMIT)] = 1
    limit: Annotated[int, msgspec.Meta(ge=1, le=NEIGHBOURS_LIMIT)] = 50


@operation("GET", "/v1/graph", scope=Scope.READ, example={"user_id": "ada", "q": "my sister"})
async def get_graph(call: Call, wanted: GraphParameters) -> Neighbourhood:
    """People, pets, places, organizations and dates that a person speaks of, and what ties them."""
    graph: Graph = call.part("graph")
    return await graph.look(
        GraphWanted(
            user_id=wanted.user_id,
            tenant_id=wanted.tenant_id,
            query=wanted.q,
            entity_id=str(wanted.entity_id or ""),
            steps=wanted.steps,
            limit=wanted.limit,
        )
    )
