"""``GET /v1/context``: what should be known before a conversation's next turn."""

from __future__ import annotations

from http import HTTPStatus

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from models.errors import NotFound
from models.messages import DEFAULT_TENANT, Identifier
from streams.api import parameters
from streams.api.access import Access
from streams.api.problems import Problem
from streams.context_reading import ContextReader
from streams.printing import encode_json

_USAGE = "Use /v1/context?user_id=ada&conversation_id=c-1; optional: tenant_id"


class _Parameters(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    user_id: Identifier
    conversation_id: Identifier
    tenant_id: Identifier = DEFAULT_TENANT


def context_route(contexts: ContextReader, access: Access) -> Route:
    """Return the route; ``access`` says who may ask for what."""

    async def context(request: Request) -> Response:
        wanted = parameters.read(request, _Parameters, _USAGE)
        access.check_tenant(wanted.tenant_id)
        try:
            found = await contexts.read(wanted.tenant_id, wanted.user_id, wanted.conversation_id)
        except NotFound as error:
            raise Problem(HTTPStatus.NOT_FOUND, f"{error}.") from error
        return Response(encode_json(found), media_type="application/json")

    return Route("/v1/context", context)
