"""``GET /v1/understanding``: what a question means, before it is answered."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from models.errors import NotFound
from models.messages import DEFAULT_TENANT, Identifier
from processors.recall.question import LONGEST_QUESTION, InvalidQuestion
from streams.api import parameters
from streams.api.access import Access
from streams.api.problems import Problem
from streams.printing import encode_json
from streams.understanding import Understanding

_USAGE = "Use /v1/understanding?q=what+does+she+eat&user_id=ada; optional: conversation_id, tenant_id"


class _Parameters(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    q: Annotated[str, msgspec.Meta(max_length=LONGEST_QUESTION)]
    user_id: Identifier
    conversation_id: Identifier | None = None
    tenant_id: Identifier = DEFAULT_TENANT


def understanding_route(understanding: Understanding, access: Access) -> Route:
    """Return the route; ``access`` says who may ask for what."""

    async def read(request: Request) -> Response:
        wanted = parameters.read(request, _Parameters, _USAGE)
        access.check_tenant(wanted.tenant_id)
        try:
            found = await understanding.read(
                wanted.q, wanted.user_id, wanted.tenant_id, wanted.conversation_id or ""
            )
        except InvalidQuestion as error:
            raise Problem(HTTPStatus.BAD_REQUEST, f"{error}. {_USAGE}.") from error
        except NotFound as error:
            raise Problem(HTTPStatus.NOT_FOUND, f"{error}.") from error
        return Response(encode_json(found), media_type="application/json")

    return Route("/v1/understanding", read)
