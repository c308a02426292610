"""Operations of the API: each operation is declared once, where its handler stands.

::

    class FactParameters(Parameters, kw_only=True):
        fact_id: str
        user_id: Identifier
        tenant_id: Identifier = DEFAULT_TENANT

    @operation("GET", "/v1/facts/{fact_id}", scope=Scope.READ, example="user_id=ada", problems=[UNKNOWN_FACT])
    async def get_fact(call: Call, wanted: FactParameters) -> Fact:
        '''One fact about a person, whatever its status.'''

From this come the route, the checking of what is sent (:mod:`streams.server.api.dispatch`),
``schemas/openapi.yaml`` (:mod:`streams.server.api.openapi`) and the console's page of the API.  Then name it in
:mod:`streams.server.api.catalog`.

* ``wanted``: the parameters of path and query; ``body``: what is sent as JSON.  Either may be left out.  A
  caller's ``tenant_id`` and ``user_id`` in them are checked against what its token allows, and filled in.
* The annotation of the result is the answer's schema.  A handler may return a ``Response`` itself (a stream);
  ``answer=`` then says what is in it.
* What a handler stands on is in ``call.parts``; ``call.part("messages")`` is 503 where there is no such part.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, Literal, TypeAlias, get_type_hints

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from streams.server.api.access import Access
from streams.server.api.caller import Caller, Scope
from streams.server.api.parts import Parts
from streams.server.api.problems import Kind

__all__ = ["EVENTS", "JSON", "Call", "Operation", "Parameters", "Scope", "operation"]

JSON, EVENTS = "application/json", "text/event-stream"

Method: TypeAlias = Literal["GET", "POST", "PUT", "DELETE"]
Handler: TypeAlias = Callable[..., Awaitable[Any]]


class Parameters(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Parameters of path and query.  Unknown ones are refused: a typo must not widen a question."""


@dataclass(frozen=True)
class Call:
    """One request on its way: who asks, what answers, and when to end.

    ``stopping`` is set when the server stops: an answer that has no end of its own ends then.
    """

    request: Request
    caller: Caller
    parts: Parts
    access: Access
    stopping: asyncio.Event

    def part(self, name: str) -> Any:
        """Return a part that is there in some processes only.

        Raises:
            Problem: 503; it is not there, and what to do.
        """
        return self.parts.part(name)

    async def is_unread(
        self,
        tenant_id: str,
        user_id: str,
        is_known: Callable[[], Awaitable[bool]] | None = None,
        until: datetime | None = None,
    ) -> bool:
        """Tell of a person of whom nothing is known whether something of theirs is only not read yet.

        ``is_known``: as it was found that nothing is known, unless that was by searching.  ``until``: only what
        had arrived by then counts.
        """
        unread = self.parts.unread
        if unread is None:
            return False
        return await unread.waits(
            tenant_id, user_id, is_known or partial(self.part("search").knows, user_id, tenant_id), until
        )


@dataclass(frozen=True)
class Operation:
    """An operation.  ``example``: its query (``GET``) or the fields of its body, and of the path."""

    name: str
    method: Method
    path: str
    scope: Scope
    handler: Handler
    summary: str
    description: str
    parameters: type[msgspec.Struct] | None
    body: type[Any] | None
    answer: Any
    status: int
    media_type: str
    streams: bool
    most_bytes: int | None
    problems: Sequence[Kind]
    example: Mapping[str, Any]
    example_body: Any
    links: Mapping[str, Mapping[str, str]]


def operation(
    method: Method,
    path: str,
    *,
    scope: Scope,
    example: Mapping[str, Any] | None = None,
    example_body: Any = None,
    problems: Sequence[Kind] = (),
    status: int = 200,
    media_type: str = JSON,
    streams: bool = False,
    most_bytes: int | None = None,
    answer: Any = None,
    links: Mapping[str, Mapping[str, str]] | None = None,
) -> Callable[[Handler], Operation]:
    """Declare the handler of an operation; see the module.

    ``example``: parameters of a call that makes sense.  ``problems``: those that every operation has are added.
    ``streams``: server-sent events are another form of the answer.  ``most_bytes``: of a body.
    ``links``: by the name of an operation, which of its parameters are where in the answer (a JSON Pointer).
    """

    def declare(handler: Handler) -> Operation:
        hints = get_type_hints(handler, include_extras=True)
        told = inspect.cleandoc(handler.__doc__ or "")
        summary, _, description = told.partition("\n\n")
        returned = hints.get("return")
        is_response = isinstance(returned, type) and issubclass(returned, Response)
        return Operation(
            name=handler.__name__,
            method=method,
            path=path,
            scope=scope,
            handler=handler,
            summary=" ".join(summary.split()),
            description=description.strip(),
            parameters=hints.get("wanted"),
            body=hints.get("body"),
            answer=answer if is_response or answer is not None else returned,
            status=status,
            media_type=media_type,
            streams=streams,
            most_bytes=most_bytes,
            problems=tuple(problems),
            example=example or {},
            example_body=example_body,
            links=links or {},
        )

    return declare
