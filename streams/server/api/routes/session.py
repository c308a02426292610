"""Signing a browser in: an event stream cannot send a header, so its token goes into a cookie."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from starlette.responses import Response

from streams.config.printing import encode_json
from streams.server.api.access import COOKIE
from streams.server.api.caller import Caller
from streams.server.api.operations import JSON, Call, Scope, operation


class SignIn(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The token, as ``switchboard token create`` printed it."""

    token: Annotated[str, msgspec.Meta(min_length=1, max_length=200)]


class Session(msgspec.Struct, frozen=True, kw_only=True):
    """The caller and its rights.

    ``auth``: how that is known: by a ``token``; not at all, for this machine alone is answered (``local``); or
    by something in front (``off``).  ``tenant_id`` ``None``: any; ``user_id`` ``None``: everybody.
    ``responder``: who answers in chats; ``builtin`` quotes what is remembered, without a language model.
    """

    auth: Literal["token", "local", "off"]
    tenant_id: str | None
    user_id: str | None
    scopes: list[str]
    token_id: str = ""
    responder: str = "builtin"


def _session(caller: Caller, responder: str) -> Session:
    auth: Literal["token", "local", "off"] = (
        "token" if caller.token else "off" if caller.tenant_id is None else "local"
    )
    scopes = sorted(scope.value for scope in caller.scopes if scope not in (Scope.NONE, Scope.SELF))
    return Session(
        auth=auth,
        tenant_id=caller.tenant_id,
        user_id=caller.user_id,
        scopes=scopes,
        token_id=caller.token,
        responder=responder,
    )


@operation("GET", "/v1/session", scope=Scope.SELF)
async def get_session(call: Call) -> Session:
    """The caller and its rights."""
    return _session(call.caller, call.parts.responder)


@operation("POST", "/v1/session", scope=Scope.NONE, answer=Session, example_body={"token": "sb_…"})
async def sign_in(call: Call, body: SignIn) -> Response:
    """Have the browser keep a token, in a cookie that no script can read."""
    session = _session(call.access.owner(body.token), call.parts.responder)
    answer = Response(encode_json(session), media_type=JSON)
    # Behind a proxy that ends TLS the page alone says that it came over it.
    schemes = call.request.url.scheme, call.request.headers.get("origin", "").partition("://")[0]
    answer.set_cookie(COOKIE, body.token, path="/", httponly=True, samesite="strict", secure="https" in schemes)
    return answer


@operation("DELETE", "/v1/session", scope=Scope.NONE, status=204)
async def sign_out(call: Call) -> Response:
    """Have the browser forget its token."""
    answer = Response(status_code=204)
    answer.delete_cookie(COOKIE, path="/", httponly=True, samesite="strict")
    return answer
