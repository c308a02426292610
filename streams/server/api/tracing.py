"""Trace of a request: the one of its ``traceparent`` (W3C Trace Context), else one of its own.

Each operation is a span.  Nobody collects them, and they cost nothing, unless an OpenTelemetry SDK is set up
(:mod:`streams.telemetry.traces`).  They say nothing of what was given: an error is named by its type.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager

from opentelemetry import propagate, trace
from starlette.requests import Request

HEADER = "traceparent"

_tracer = trace.get_tracer("switchboard")

#: What later versions add is handed on, too; it is put on every record, so there is a bound.
_FORM = re.compile(r"[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:-[!-~]{0,200})?")


def collect(provider: trace.TracerProvider) -> None:
    """Have spans made by ``provider`` from now on."""
    global _tracer
    _tracer = provider.get_tracer("switchboard")


@contextmanager
def span(name: str, request: Request) -> Iterator[trace.Span]:
    """Enter the span of an operation for as long as it runs; a child of the caller's, if it says which."""
    parent = propagate.extract({HEADER: traceparent_of(request)})
    with _tracer.start_as_current_span(
        name,
        context=parent,
        kind=trace.SpanKind.SERVER,
        record_exception=False,
        set_status_on_exception=False,
    ) as made:
        try:
            yield made
        except Exception as error:
            made.set_attribute("error.type", type(error).__name__)
            if getattr(error, "status", 500) >= 500:
                made.set_status(trace.StatusCode.ERROR)
            raise


def traceparent_of(request: Request) -> str:
    """Return the ``traceparent`` of records caused by a request: the request's own, if it has one."""
    given = request.headers.get(HEADER, "")
    if _FORM.fullmatch(given):
        return given
    known = getattr(request.state, "traceparent", None)
    if known is None:
        known = request.state.traceparent = f"00-{trace_id_of(request)}-{secrets.token_hex(8)}-01"
    return str(known)


def trace_id_of(request: Request) -> str:
    """Return the id (32 hexadecimal digits) of the trace that a request belongs to; the same each time."""
    known = getattr(request.state, "trace_id", None)
    if known is None:
        match = _FORM.fullmatch(request.headers.get(HEADER, ""))
        known = request.state.trace_id = match[1] if match is not None else secrets.token_hex(16)
    return str(known)
