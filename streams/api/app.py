"""The routes.  All answers are JSON; all errors are problem details (:mod:`streams.api.problems`).

=============================  =================================================================
``GET /v1/search``             ``q``, ``user_id``, and if need be ``search_type``, ``tenant_id``,
                               ``limit``, ``conversation_id``, ``from``, ``to``, ``as_of``,
                               ``kind``, ``minimum_confidence``: what the person said and what
                               is known of them, best first
``GET /v1/facts``              ``user_id``, and if need be ``tenant_id``, ``limit``, ``start``,
                               ``status``: the facts about the person that hold, or those of
                               another status (``any``), a page at a time
``GET /v1/facts/{fact_id}``    ``user_id``, and if need be ``tenant_id``: one fact about the
                               person, whatever its status
``GET /v1/conversations/       ``user_id``, ``first``, ``last``, and if need be ``turns`` and
{id}/window``                  ``tenant_id``: the messages around a match
``GET /v1/understanding``      ``q``, ``user_id``, and if need be ``conversation_id`` and
                               ``tenant_id``: what a question means, before it is answered
``GET /v1/context``            ``user_id``, ``conversation_id``, and if need be ``tenant_id``:
                               the context that was made for the conversation's next turn
=============================  =================================================================

Lists that are empty say in ``known`` whether there is nothing to find, or nobody of this name.

Who may ask for what: :mod:`streams.api.access`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Annotated, Any, Literal, TypeVar
from uuid import UUID

import msgspec
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from models.facts import Confidence, FactStatus
from models.messages import DEFAULT_TENANT, Identifier, Timestamp
from models.ports import FactFilter, FactIndex
from processors.recall.question import LONGEST_QUESTION, InvalidQuestion
from streams.api.access import Access, KnownHosts
from streams.api.contexts import context_route
from streams.api.problems import HANDLERS, Problem
from streams.api.understanding import understanding_route
from streams.api.windows import window_route
from streams.context_reading import ContextReader
from streams.printing import encode_json
from streams.search import (
    MINIMUM_CONFIDENCE,
    MOST_RESULTS,
    Empty,
    MemorySearch,
    SearchType,
    Wanted,
    kinds_of,
)
from streams.understanding import Understanding
from streams.windows import WindowRetriever


class _SearchParameters(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    q: Annotated[str, msgspec.Meta(max_length=LONGEST_QUESTION)]
    user_id: Identifier
    tenant_id: Identifier = DEFAULT_TENANT
    search_type: SearchType = SearchType.BOTH
    limit: Annotated[int, msgspec.Meta(ge=1, le=MOST_RESULTS)] = 5
    minimum_confidence: Confidence = MINIMUM_CONFIDENCE
    conversation_id: Identifier | None = None
    since: Timestamp | None = msgspec.field(default=None, name="from")
    until: Timestamp | None = msgspec.field(default=None, name="to")
    as_of: Timestamp | None = None
    kind: str = ""


class _ListParameters(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    user_id: Identifier
    tenant_id: Identifier = DEFAULT_TENANT
    limit: Annotated[int, msgspec.Meta(ge=1, le=500)] = 50
    start: UUID | None = None
    status: Literal["active", "superseded", "contradicted", "ended", "merged_into", "deprecated", "any"] = (
        "active"
    )


class _FactParameters(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    user_id: Identifier
    tenant_id: Identifier = DEFAULT_TENANT


_USAGE = {
    _SearchParameters: "/v1/search?q=coffee&user_id=ada; optional: search_type (both, facts, "
    "episodes or turns), tenant_id, limit (1 to 100), conversation_id, from and to (times such as "
    "2026-03-01T00:00:00Z), as_of (a time: what held then), kind of facts (state, preference, event, "
    "instruction or profile; several with commas), minimum_confidence of facts (0 to 1)",
    _ListParameters: "/v1/facts?user_id=ada; optional: tenant_id, limit (1 to 500), start (the `next` of "
    "the page before), status (active, superseded, contradicted, ended, merged_into, deprecated or any)",
    _FactParameters: "/v1/facts/{fact_id}?user_id=ada; optional: tenant_id",
}

Parameters = TypeVar("Parameters", _SearchParameters, _ListParameters, _FactParameters)


def create_api(
    search: MemorySearch,
    index: FactIndex,
    access: Access | None = None,
    waited_for: Callable[[], Mapping[str, float]] = dict,
    windows: WindowRetriever | None = None,
    understanding: Understanding | None = None,
    contexts: ContextReader | None = None,
) -> Starlette:
    """Return the app; ``access``: who may ask for what (this machine, for the default tenant).

    A route answers 503 while the index is down, whatever else its worker waits for.  ``waited_for`` says what
    the worker has been waiting for and for how long (seconds), for the text of that answer.  ``windows`` looks
    up the messages around a match, ``understanding`` reads questions, ``contexts`` has what was made for a next
    turn; without one there is no such route.
    """
    access = access or Access()

    async def search_memory(request: Request) -> Response:
        wanted = _parameters(request, _SearchParameters, access)
        try:
            found = await search.search(
                Wanted(
                    query=wanted.q,
                    user_id=wanted.user_id,
                    tenant_id=wanted.tenant_id,
                    search_type=wanted.search_type,
                    limit=wanted.limit,
                    minimum_confidence=wanted.minimum_confidence,
                    conversation_id=wanted.conversation_id or "",
                    since=wanted.since,
                    until=wanted.until,
                    as_of=wanted.as_of,
                    kinds=kinds_of(wanted.kind),
                )
            )
        except InvalidQuestion as error:
            raise _bad_request(str(error), _SearchParameters) from error
        return _json(
            {
                "query": wanted.q,
                "user_id": wanted.user_id,
                "tenant_id": wanted.tenant_id,
                "search_type": wanted.search_type,
                "known": found.empty is not Empty.UNKNOWN_PERSON,
                "scope": found.scope,
                "degraded": found.degraded,
                "empty": found.empty,
                "results": list(found),
            }
        )

    async def list_facts(request: Request) -> Response:
        wanted = _parameters(request, _ListParameters, access)
        statuses = () if wanted.status == "any" else (FactStatus(wanted.status),)
        where = FactFilter(user_id=wanted.user_id, tenant_id=wanted.tenant_id, statuses=statuses)
        start = None if wanted.start is None else str(wanted.start)
        facts, following = await index.page(where, wanted.limit, start)
        known = bool(facts) or await search.knows(wanted.user_id, wanted.tenant_id)
        return _json({"facts": facts, "next": following, "known": known})

    async def get_fact(request: Request) -> Response:
        wanted = _parameters(request, _FactParameters, access)
        fact_id = request.path_params["fact_id"]
        for fact in await index.get([fact_id]):
            if (fact.tenant_id, fact.user_id) == (wanted.tenant_id, wanted.user_id):
                return _json(fact)
        raise Problem(
            HTTPStatus.NOT_FOUND,
            f"There is no fact {fact_id} about {wanted.user_id} in tenant {wanted.tenant_id}. "
            "/v1/facts?user_id=... lists the facts about a person.",
        )

    routes = {"/v1/search": search_memory, "/v1/facts": list_facts, "/v1/facts/{fact_id}": get_fact}
    more = [window_route(windows, access)] if windows is not None else []
    more += [understanding_route(understanding, access)] if understanding is not None else []
    more += [context_route(contexts, access)] if contexts is not None else []
    app = Starlette(
        routes=[*[Route(path, endpoint) for path, endpoint in routes.items()], *more],
        middleware=[Middleware(KnownHosts, access)],
        exception_handlers=HANDLERS,
    )
    app.state.waited_for = waited_for
    return app


def _parameters(request: Request, kind: type[Parameters], access: Access) -> Parameters:
    """Return the checked query parameters.  Unknown ones are refused: a typo must not widen a search."""
    repeated = [name for name in request.query_params if len(request.query_params.getlist(name)) > 1]
    if repeated:
        raise _bad_request(f"{repeated[0]} is given more than once", kind)
    try:
        wanted = msgspec.convert(dict(request.query_params), kind, strict=False)
    except msgspec.ValidationError as error:
        raise _bad_request(str(error).replace("Object ", "").replace("$.", ""), kind) from error
    access.check_tenant(wanted.tenant_id)
    return wanted


def _bad_request(
    reason: str, kind: type[_SearchParameters] | type[_ListParameters] | type[_FactParameters]
) -> Problem:
    return Problem(HTTPStatus.BAD_REQUEST, f"{reason}. Use {_USAGE[kind]}.")


def _json(value: Any) -> Response:
    return Response(encode_json(value), media_type="application/json")
