"""Errors as ``application/problem+json`` (RFC 9457).

Each kind of problem has a ``type`` of its own, which stays as it is: programs branch on it, people read
``detail``, which says what is wrong and what to do.  ``trace_id`` finds the request in the log; what was
refused is logged at the level ``debug``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

import structlog
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ExceptionHandler

from models.errors import ConfigurationError, DependencyUnavailable, NotFound
from streams.config.printing import encode_json
from streams.config.redaction import redacted
from streams.server.api.tracing import trace_id_of

log = structlog.get_logger("streams.server.api")

MEDIA_TYPE = "application/problem+json"

_RETRY = {"retry-after": "1"}


@dataclass(frozen=True)
class Kind:
    """A kind of problem: its name, its status, and what whoever meets it should do."""

    name: str
    status: HTTPStatus
    advice: str

    @property
    def type(self) -> str:
        """The stable identifier that answers carry."""
        return f"urn:switchboard:problem:{self.name}"


INVALID_REQUEST = Kind(
    "invalid-request",
    HTTPStatus.BAD_REQUEST,
    "Correct what `detail` names; sent again unchanged it fails again.",
)
TOKEN_NEEDED = Kind(
    "token-needed",
    HTTPStatus.UNAUTHORIZED,
    "Send `Authorization: Bearer sb_…`; `switchboard token create` makes one.",
)
TOKEN_REFUSED = Kind(
    "token-refused", HTTPStatus.UNAUTHORIZED, "The token is unknown, expired or revoked: ask for another one."
)
NOT_ALLOWED = Kind("not-allowed", HTTPStatus.FORBIDDEN, "Use a token that allows this.")
FOREIGN_ORIGIN = Kind(
    "foreign-origin", HTTPStatus.FORBIDDEN, "Write from the console itself, or without a browser."
)
NO_SUCH_PATH = Kind("no-such-path", HTTPStatus.NOT_FOUND, "`GET /v1/openapi.json` lists what there is.")
UNKNOWN_FACT = Kind(
    "unknown-fact", HTTPStatus.NOT_FOUND, "`GET /v1/facts?user_id=…` lists the facts about a person."
)
UNKNOWN_CONVERSATION = Kind(
    "unknown-conversation",
    HTTPStatus.NOT_FOUND,
    "Check the names; a conversation is known as soon as its first message was read.",
)
NOT_READ_YET = Kind(
    "not-read-yet",
    HTTPStatus.NOT_FOUND,
    "Ask again in a moment; `GET /v1/progress` says how far a message has come.",
)
UNKNOWN_LETTER = Kind(
    "unknown-letter",
    HTTPStatus.NOT_FOUND,
    "`GET /v1/dead-letters` lists what there is; what was retried or dropped is not there any more.",
)
UNKNOWN_POSITION = Kind(
    "unknown-position", HTTPStatus.NOT_FOUND, "Give the `position` that `POST /v1/messages` answered."
)
UNKNOWN_PERSON = Kind(
    "unknown-person", HTTPStatus.NOT_FOUND, "Check the name; a person is known as soon as a message was read."
)
UNKNOWN_ERASURE = Kind(
    "unknown-erasure",
    HTTPStatus.NOT_FOUND,
    "Give the `erasure_id` of an erasure, where the same key (`SWITCHBOARD_ERASURE_KEY_FILE`) is read.",
)
UNKNOWN_REPLAY = Kind("unknown-replay", HTTPStatus.NOT_FOUND, "`GET /v1/replays` lists those on the broker.")
UNKNOWN_TURN = Kind(
    "unknown-turn", HTTPStatus.NOT_FOUND, "Check the names; a turn is known while its conversation is."
)
TURN_RUNNING = Kind(
    "turn-running", HTTPStatus.CONFLICT, "Wait for its end, or stop it: `POST /v1/turns/{id}/stop`."
)
METHOD_NOT_ALLOWED = Kind(
    "method-not-allowed", HTTPStatus.METHOD_NOT_ALLOWED, "Use a method that `Allow` names."
)
NOT_ACCEPTABLE = Kind(
    "not-acceptable", HTTPStatus.NOT_ACCEPTABLE, "Leave `Accept` out, or accept what `detail` names."
)
REQUEST_TIMEOUT = Kind("request-timeout", HTTPStatus.REQUEST_TIMEOUT, "Send the whole request at once.")
CONFLICT = Kind("conflict", HTTPStatus.CONFLICT, "Look at what is there by now, then decide.")
TOO_LARGE = Kind("too-large", HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "Send less at once.")
NOT_JSON = Kind(
    "not-json", HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "Send `Content-Type: application/json`, in UTF-8."
)
UNKNOWN_HOST = Kind(
    "unknown-host", HTTPStatus.MISDIRECTED_REQUEST, "Ask under a name that this API answers to."
)
OTHER_DEPLOYMENT = Kind(
    "other-deployment", HTTPStatus.MISDIRECTED_REQUEST, "Ask where that deployment listens."
)
TOO_MANY_REQUESTS = Kind(
    "too-many-requests", HTTPStatus.TOO_MANY_REQUESTS, "Wait as long as `Retry-After` says."
)
HEADERS_TOO_LARGE = Kind(
    "headers-too-large", HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "Send fewer, shorter headers."
)
MALFORMED = Kind("malformed-http", HTTPStatus.BAD_REQUEST, "Send HTTP/1.1.")
INTERNAL_ERROR = Kind("internal-error", HTTPStatus.INTERNAL_SERVER_ERROR, "Report it with `trace_id`.")
UNAVAILABLE = Kind(
    "dependency-unavailable", HTTPStatus.SERVICE_UNAVAILABLE, "Try again; `part` says what is down."
)
TOO_MANY_TURNS = Kind(
    "too-many-turns",
    HTTPStatus.SERVICE_UNAVAILABLE,
    "Say it again after `Retry-After`: nothing of it is written. Another `serve` shares the load, "
    "`SWITCHBOARD_CHAT_TURNS_AT_ONCE` says how many turns one drives.",
)
TOO_MANY_CONNECTIONS = Kind(
    "too-many-connections", HTTPStatus.SERVICE_UNAVAILABLE, "Try again; keep fewer open."
)

#: What any operation may answer, whatever it does.
GENERAL = (
    INVALID_REQUEST,
    TOKEN_NEEDED,
    TOKEN_REFUSED,
    NOT_ALLOWED,
    NOT_ACCEPTABLE,
    UNKNOWN_HOST,
    OTHER_DEPLOYMENT,
    TOO_MANY_REQUESTS,
    INTERNAL_ERROR,
    UNAVAILABLE,
)

#: What any operation that takes a body may answer besides.
OF_BODIES = (FOREIGN_ORIGIN, TOO_LARGE, NOT_JSON)

#: What is answered where there is no operation yet: to a path, to a connection.
OF_THE_SERVER = (
    NO_SUCH_PATH,
    METHOD_NOT_ALLOWED,
    REQUEST_TIMEOUT,
    MALFORMED,
    HEADERS_TOO_LARGE,
    TOO_MANY_CONNECTIONS,
)

#: All there are.
KINDS: tuple[Kind, ...] = tuple(each for each in vars().values() if isinstance(each, Kind))


class Problem(Exception):
    """Ends a request; ``detail`` is a sentence that says what is wrong and what to do.

    ``more``: members of the answer besides the standard ones.
    """

    def __init__(
        self, kind: Kind, detail: str, headers: Mapping[str, str] | None = None, **more: str | int
    ) -> None:
        super().__init__(detail)
        self.kind = kind
        self.detail = detail
        self.headers = headers
        self.more = more

    @property
    def status(self) -> HTTPStatus:
        """The status of the answer."""
        return self.kind.status


def unavailable(part: str, detail: str) -> Problem:
    """Return the problem of a part that will answer later: 503, try again in a second."""
    return Problem(UNAVAILABLE, detail, _RETRY, part=part)


def body_of(problem: Problem, instance: str, trace_id: str) -> dict[str, Any]:
    """Return the body of the problem."""
    kind = problem.kind
    return {
        "type": kind.type,
        "title": kind.status.phrase,
        "status": kind.status.value,
        "detail": redacted(problem.detail),
        "advice": kind.advice,
        "instance": instance,
        "trace_id": trace_id,
        **problem.more,
    }


#: Where clients of OpenAI's API ask: errors say there besides what those read.
_OPENAI_PATHS = ("/v1/chat/completions", "/v1/models")

_OPENAI_TYPES = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}


def openai_error(problem: Problem) -> dict[str, Any]:
    """Return a problem as clients of OpenAI's API read it."""
    status = problem.status.value
    usual = "server_error" if status >= HTTPStatus.INTERNAL_SERVER_ERROR else "invalid_request_error"
    return {
        "message": redacted(problem.detail),
        "type": _OPENAI_TYPES.get(status, usual),
        "param": problem.more.get("param"),
        "code": problem.kind.name,
    }


def log_of(problem: Problem, trace_id: str, **where: str) -> None:
    """Log what was answered, without what was given: ``detail`` may repeat it."""
    log.debug("a problem was answered", kind=problem.kind.name, trace_id=trace_id, **where)


def respond(request: Request, problem: Problem) -> Response:
    """Return the answer that tells ``problem``."""
    path, trace_id = redacted(request.url.path), trace_id_of(request)
    log_of(problem, trace_id, method=request.method, path=path)
    body = body_of(problem, path, trace_id)
    if request.url.path in _OPENAI_PATHS:
        body["error"] = openai_error(problem)
    return Response(encode_json(body), problem.status, problem.headers, media_type=MEDIA_TYPE)


def _on_problem(request: Request, error: Exception) -> Response:
    assert isinstance(error, Problem)
    return respond(request, error)


def _on_http_error(request: Request, error: Exception) -> Response:
    """Answer the router's own errors: no such path, or no such method on a page."""
    assert isinstance(error, HTTPException)
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        detail = f"{request.method} is not possible here, use GET."
        return respond(request, Problem(METHOD_NOT_ALLOWED, detail, error.headers or {"allow": "GET, HEAD"}))
    return respond(
        request,
        Problem(
            NO_SUCH_PATH, "There is nothing here; try /v1/search or /v1/facts, /v1/openapi.json lists the rest."
        ),
    )


def _on_dependency(request: Request, error: Exception) -> Response:
    assert isinstance(error, DependencyUnavailable)
    log.warning("a request failed", path=request.url.path, error=str(error), trace_id=trace_id_of(request))
    seconds = request.app.state.waited_for().get(error.dependency)
    since = "" if seconds is None else f"The recall service has been waiting for it for {seconds:.0f} s. "
    return respond(request, unavailable(error.dependency, f"{error}. {since}Try again."))


def _on_deployment(request: Request, error: Exception) -> Response:
    """A right, a password or a topic is missing: whoever runs the deployment can mend it, not the caller."""
    log.error("a request failed", path=request.url.path, error=str(error), trace_id=trace_id_of(request))
    return respond(request, unavailable("deployment", f"{error}. Tell whoever runs this Switchboard."))


def _on_mistake(request: Request, error: Exception) -> Response:
    """Anything else is ours; the server logs the traceback, the client learns no internals."""
    log.error("a mistake of ours", path=request.url.path, error=repr(error), trace_id=trace_id_of(request))
    detail = "This is a mistake in Switchboard; its log has the details."
    return respond(request, Problem(INTERNAL_ERROR, detail))


HANDLERS: Mapping[type[Exception], ExceptionHandler] = {
    Problem: _on_problem,
    HTTPException: _on_http_error,
    DependencyUnavailable: _on_dependency,
    ConfigurationError: _on_deployment,
    NotFound: _on_deployment,
    Exception: _on_mistake,
}
