"""Serves the console's files, and its one page at every address that a view has."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from streams.api.problems import METHOD_NOT_ALLOWED, NO_SUCH_PATH, Problem

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)

_HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
    # A newer server has newer files; with the tag, asking whether there are costs one round and no bytes.
    "cache-control": "no-cache",
}

#: Not what this machine's registry makes of them: a module of the wrong type is not run.
_TYPES = {"html": "text/html", "js": "text/javascript", "css": "text/css", "svg": "image/svg+xml"}

_INDEX = "index.html"
_PREFIX = "/static/"

#: First parts of the addresses that views have.
VIEWS = frozenset({"", "chat", "conversations", "people", "facts", "search", "dead-letters", "api"})


class Console:
    """An ASGI app; mount it where no operation has the path."""

    def __init__(self) -> None:
        self._files = _read(files("streams.console") / "static")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See the ASGI specification."""
        if scope["type"] == "http":
            await self._answer(Request(scope))(scope, receive, send)

    def _answer(self, request: Request) -> Response:
        path = request.url.path
        if request.method not in ("GET", "HEAD"):
            why = f"{request.method} is not possible here, use GET."
            raise Problem(METHOD_NOT_ALLOWED, why, {"allow": "GET, HEAD"})
        name = _INDEX if path.split("/")[1] in VIEWS else path.removeprefix(_PREFIX)
        if name not in self._files:
            why = "There is nothing here. The console is at /, the operations of the API at /v1/openapi.json."
            raise Problem(NO_SUCH_PATH, why)
        content, kind, tag = self._files[name]
        headers = {**_HEADERS, "etag": tag}
        if tag in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        return Response(content, media_type=kind, headers=headers)


def _read(folder: Traversable, under: str = "") -> Mapping[str, tuple[bytes, str, str]]:
    """Return the files below ``folder`` by their path: content, media type, tag."""
    found: dict[str, tuple[bytes, str, str]] = {}
    for each in folder.iterdir():
        name = under + each.name
        if each.is_dir():
            found |= _read(each, name + "/")
        else:
            content = each.read_bytes()
            kind = _TYPES.get(each.name.rpartition(".")[2], "text/plain")
            found[name] = content, kind, f'"{hashlib.sha256(content).hexdigest()[:16]}"'
    return found
