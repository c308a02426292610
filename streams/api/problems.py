"""Errors as ``application/problem+json`` (RFC 9457)."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus

import structlog
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ExceptionHandler

from models.errors import DependencyUnavailable
from streams.printing import encode_json
from streams.redaction import redacted

log = structlog.get_logger("streams.api")

_RETRY = {"retry-after": "1"}


class Problem(Exception):
    """Ends a request with ``status``; ``detail`` is a sentence that says what to do."""

    def __init__(self, status: HTTPStatus, detail: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.headers = headers


def unavailable(detail: str) -> Problem:
    """Return the problem of a service that will answer later: 503, try again in a second."""
    return Problem(HTTPStatus.SERVICE_UNAVAILABLE, detail, _RETRY)


def respond(request: Request, problem: Problem) -> Response:
    """Return the answer that tells ``problem``."""
    body = {
        "type": "about:blank",
        "title": problem.status.phrase,
        "status": problem.status.value,
        "detail": redacted(problem.detail),
        "instance": request.url.path,
    }
    return Response(encode_json(body), problem.status, problem.headers, media_type="application/problem+json")


def _on_problem(request: Request, error: Exception) -> Response:
    assert isinstance(error, Problem)
    return respond(request, error)


def _on_http_error(request: Request, error: Exception) -> Response:
    """What the router itself raises: no such path, or no such method on it."""
    assert isinstance(error, HTTPException)
    if error.status_code == HTTPStatus.NOT_FOUND:
        detail = (
            "There is nothing here; try /v1/search, /v1/facts, /v1/facts/{fact_id}, /v1/understanding or "
            "/v1/conversations/{id}/window."
        )
    else:
        detail = f"{error.detail}: {request.method} is not possible here, use GET."
    return respond(request, Problem(HTTPStatus(error.status_code), detail, error.headers))


def _on_dependency(request: Request, error: Exception) -> Response:
    assert isinstance(error, DependencyUnavailable)
    log.warning("a request failed", path=request.url.path, error=str(error))
    seconds = request.app.state.waited_for().get(error.dependency)
    since = "" if seconds is None else f"The recall service has been waiting for it for {seconds:.0f} s. "
    return respond(request, unavailable(f"{error}. {since}Try again."))


def _on_mistake(request: Request, error: Exception) -> Response:
    """Anything else is ours; the server logs the traceback, the client learns no internals."""
    detail = "This is a mistake in Switchboard; its log has the details."
    return respond(request, Problem(HTTPStatus.INTERNAL_SERVER_ERROR, detail))


HANDLERS: Mapping[type[Exception], ExceptionHandler] = {
    Problem: _on_problem,
    HTTPException: _on_http_error,
    DependencyUnavailable: _on_dependency,
    Exception: _on_mistake,
}
