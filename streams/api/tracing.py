"""Which trace a request belongs to: the one of its ``traceparent`` (W3C Trace Context), else one of its own."""

from __future__ import annotations

import re
import secrets

from starlette.requests import Request

HEADER = "traceparent"

_FORM = re.compile(r"[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:-.*)?")


def trace_id_of(request: Request) -> str:
    """Return the id (32 hexadecimal digits) of the trace that a request belongs to; the same each time."""
    known = getattr(request.state, "trace_id", None)
    if known is None:
        match = _FORM.fullmatch(request.headers.get(HEADER, ""))
        known = request.state.trace_id = match[1] if match is not None else secrets.token_hex(16)
    return str(known)
