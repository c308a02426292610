"""From a request to an operation's handler, and back: what is sent is checked here, once for all operations."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any
from urllib.parse import unquote, unquote_to_bytes

import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Match, Route
from starlette.types import Scope as AsgiScope

from processors.text.surrogates import without_halves
from streams.clients.cloudevents import caused_by
from streams.config.printing import encode_json, printable
from streams.server.api.access import Access
from streams.server.api.caller import Caller, Scope
from streams.server.api.measuring import OPERATION, REPLACED
from streams.server.api.operations import EVENTS, JSON, Call, Operation
from streams.server.api.parts import Parts
from streams.server.api.problems import (
    INVALID_REQUEST,
    METHOD_NOT_ALLOWED,
    NOT_ACCEPTABLE,
    NOT_JSON,
    TOO_LARGE,
    Problem,
)
from streams.server.api.tracing import span, traceparent_of
from streams.server.api.usage import usage

#: Longest body (bytes).
MOST_BYTES = 1 << 20


class OperationRoute(Route):
    """The operations of one path.

    It is matched as it was sent: an id may hold whatever it likes, ``/`` as ``%2F``.
    """

    def __init__(self, path: str, endpoint: Callable[[Request], Awaitable[Response]]) -> None:
        super().__init__(path, endpoint, name=path)
        self.methods = None  # all of them: the endpoint says itself which there are

    def matches(self, scope: AsgiScope) -> tuple[Match, AsgiScope]:
        """See :class:`starlette.routing.Route`."""
        if scope["type"] != "http":
            return Match.NONE, {}
        raw = scope.get("raw_path") or scope["path"].encode()
        match, child = super().matches({**scope, "path": raw.decode("latin-1"), "root_path": ""})
        if "path_params" in child:
            child["path_params"] = {name: _decoded(name, value) for name, value in child["path_params"].items()}
        return match, child


def routes(
    operations: Sequence[Operation], parts: Parts, access: Access, stopping: asyncio.Event
) -> list[OperationRoute]:
    """Return a route for each path."""
    by_path: dict[str, dict[str, Operation]] = {}
    for each in operations:
        by_path.setdefault(each.path, {})[each.method] = each
    return [
        OperationRoute(path, _endpoint(by_method, parts, access, stopping))
        for path, by_method in by_path.items()
    ]


def _endpoint(
    by_method: Mapping[str, Operation], parts: Parts, access: Access, stopping: asyncio.Event
) -> Callable[[Request], Awaitable[Response]]:
    allowed = sorted({*by_method, *(["HEAD"] if "GET" in by_method else [])})

    async def endpoint(request: Request) -> Response:
        found = by_method.get("GET" if request.method == "HEAD" else request.method)
        if found is None:
            raise Problem(
                METHOD_NOT_ALLOWED,
                f"{printable(request.method[:20])} is not possible here, use {' or '.join(allowed)}.",
                {"allow": ", ".join(allowed)},
            )
        request.scope[OPERATION] = found.name
        with span(found.name, request):
            return await answer(found, request, parts, access, stopping)

    return endpoint


async def answer(
    found: Operation, request: Request, parts: Parts, access: Access, stopping: asyncio.Event
) -> Response:
    """Check what is sent, and return what the operation answers.

    Raises:
        Problem: something is wrong with the request, or with what it asks for.
    """
    caller = Caller(frozenset(), None) if found.scope is Scope.NONE else access.caller(request)
    caller.check_scope(found.scope)
    if found.scope not in (Scope.NONE, Scope.SELF):
        caller.check_person(_fields(found))
    check_accept(request, found.media_type, *((EVENTS,) if found.streams else ()))
    given: dict[str, Any] = {}
    if found.parameters is not None:
        given["wanted"] = _parameters(found, found.parameters, request, caller.narrow)
    elif request.query_params:
        raise Problem(INVALID_REQUEST, f"There are no parameters here. {usage(found)}.")
    if found.body is None and request.method not in ("GET", "HEAD") and request.headers.get("content-type"):
        check_json(request, usage(found))
    if found.body is not None:
        given["body"] = await _body(found, found.body, request, caller.narrow)
    with caused_by(traceparent_of(request)):
        result = await found.handler(Call(request, caller, parts, access, stopping), **given)
    if isinstance(result, Response):
        return result
    headers = {"cache-control": "no-store"}
    return Response(encode_json(result), found.status, headers, media_type=found.media_type)


def check_accept(request: Request, media_type: str, *others: str) -> None:
    """Raise a :class:`Problem` (406) unless the caller takes it; a problem is told to everybody."""
    accepted = [
        each.partition(";")[0].strip().lower()
        for header in request.headers.getlist("accept")
        for each in header.split(",")
        if not each.replace(" ", "").lower().endswith(";q=0")
    ]
    taken = {"*/*"}.union(*({each, each.partition("/")[0] + "/*"} for each in (media_type, *others)))
    if any(accepted) and not taken.intersection(accepted):
        raise Problem(NOT_ACCEPTABLE, f"This answers {media_type}, which `Accept` does not name.")


def _fields(found: Operation) -> set[str]:
    """Return the names of everything that may be given."""
    kinds = [kind for kind in (found.parameters, found.body) if inspect.isclass(kind)]
    structs = [kind for kind in kinds if issubclass(kind, msgspec.Struct)]
    return {name for kind in structs for name in kind.__struct_encode_fields__}


_Narrow = Callable[[dict[str, Any], Sequence[str]], dict[str, Any]]


def _parameters(
    found: Operation, kind: type[msgspec.Struct], request: Request, narrow: _Narrow
) -> msgspec.Struct:
    given = request.query_params
    if repeated := [name for name in given if len(given.getlist(name)) > 1]:
        raise Problem(
            INVALID_REQUEST, f"{printable(repeated[0][:80])} is given more than once. {usage(found)}."
        )
    if both := [name for name in given if name in request.path_params]:
        raise Problem(INVALID_REQUEST, f"{both[0]} stands in the path already. {usage(found)}.")
    asked = narrow({**given, **request.path_params}, kind.__struct_encode_fields__)
    try:
        return msgspec.convert(asked, kind, strict=False)
    except (msgspec.ValidationError, ValueError) as error:
        raise Problem(INVALID_REQUEST, f"{_said(error)}. {usage(found)}.") from error


async def _body(found: Operation, kind: type[Any], request: Request, narrow: _Narrow) -> Any:
    check_json(request, usage(found))
    try:
        given, is_mended = _json(
            await read_body(request, found.most_bytes or MOST_BYTES), mend=getattr(kind, "mends_halves", False)
        )
        if is_mended:
            request.scope[REPLACED] = 0
        if isinstance(given, dict) and inspect.isclass(kind) and issubclass(kind, msgspec.Struct):
            given = narrow(given, kind.__struct_encode_fields__)
        return msgspec.convert(given, kind)
    except RecursionError:
        raise Problem(INVALID_REQUEST, f"The body is nested too deeply. {usage(found)}.") from None
    except (msgspec.MsgspecError, ValueError) as error:
        raise Problem(INVALID_REQUEST, f"{_said(error)}. {usage(found)}.") from error


def _json(body: bytes, *, mend: bool) -> tuple[Any, bool]:
    """Decode a body, and say whether U+FFFD stands for halves of characters (JavaScript cuts emojis in two).

    ``mend``: that is done here; else such a body is refused.
    """
    try:
        return msgspec.json.decode(body), False
    except msgspec.DecodeError:
        if not mend or (whole := without_halves(body, b"\\ufffd")) == body:
            raise
        return msgspec.json.decode(whole), True


def check_json(request: Request, told: str) -> None:
    """Raise a :class:`Problem` (415) unless the body is said to be JSON; ``told``: how to do it."""
    media_type, _, parameters = request.headers.get("content-type", "").partition(";")
    charset = parameters.strip().lower().removeprefix("charset=").strip('"')
    if media_type.strip().lower() != JSON or charset not in ("", "utf-8", "utf8"):
        raise Problem(NOT_JSON, f"The body is not said to be {JSON} in UTF-8. {told}.")


async def read_body(request: Request, most: int = MOST_BYTES) -> bytes:
    """Return the body.

    Raises:
        Problem: 413; it is longer than ``most`` bytes, of which no more is read.
    """
    pieces, size = [], 0
    announced = request.headers.get("content-length", "")
    try:
        if not (announced.isdigit() and int(announced[:20]) > most):
            async for piece in request.stream():
                size += len(piece)
                if size > most:
                    break
                pieces.append(piece)
            else:
                return b"".join(pieces)
    except ClientDisconnect:
        raise Problem(INVALID_REQUEST, "The request ended before its body did.") from None
    raise Problem(TOO_LARGE, f"A body may have {most:,} bytes: send several requests.", {"connection": "close"})


def _said(error: Exception) -> str:
    return printable(str(error).replace("Object ", "").replace("$.", "")[:500])


def _decoded(name: str, value: str) -> str:
    try:
        return unquote_to_bytes(value).decode()
    except UnicodeDecodeError:
        raise Problem(
            INVALID_REQUEST, f"{name} in the path is not UTF-8: {printable(unquote(value)[:80])}"
        ) from None
