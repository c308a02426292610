"""``GET /v1/conversations/{id}/window``: the messages around a match."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from models.errors import NotFound
from models.messages import DEFAULT_TENANT, Identifier
from processors.recall.window import DEFAULT_TURNS, InvalidWindow
from streams.api import parameters
from streams.api.access import Access
from streams.api.problems import Problem
from streams.printing import encode_json
from streams.windows import WindowRetriever

_PATH = "/v1/conversations/{conversation_id:path}/window"
_USAGE = (
    "Use /v1/conversations/{id}/window?user_id=ada&first=10&last=11; optional: turns (to each side), tenant_id"
)

_Number = Annotated[int, msgspec.Meta(ge=-(2**53), le=2**53)]


class _Parameters(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    user_id: Identifier
    first: _Number
    last: _Number
    turns: _Number = DEFAULT_TURNS
    tenant_id: Identifier = DEFAULT_TENANT


def window_route(windows: WindowRetriever, access: Access) -> Route:
    """Return the route; ``access`` says who may ask for what."""

    async def window(request: Request) -> Response:
        wanted = parameters.read(request, _Parameters, _USAGE)
        access.check_tenant(wanted.tenant_id)
        try:
            found = await windows.window(
                wanted.tenant_id,
                wanted.user_id,
                request.path_params["conversation_id"],
                wanted.first,
                wanted.last,
                wanted.turns,
            )
        except InvalidWindow as error:
            raise Problem(HTTPStatus.BAD_REQUEST, f"{error}. {_USAGE}.") from error
        except NotFound as error:
            raise Problem(HTTPStatus.NOT_FOUND, f"{error}.") from error
        return Response(encode_json(found), media_type="application/json")

    return Route(_PATH, window)
