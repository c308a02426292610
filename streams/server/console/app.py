"""Serves the console's files, and its one page at every address that a view has."""

from __future__ import annotations

import gzip
import hashlib
import posixpath
import re
from collections.abc import Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import NamedTuple
from urllib.parse import quote, unquote

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from streams.server.api.problems import METHOD_NOT_ALLOWED, NO_SUCH_PATH, Problem

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

_INDEX, _SHELL = "index.html", "app.js"
_PREFIX = "/static/"

#: A line of the shell's routes: the addresses of a page, and its module.
_ROUTE = re.compile(r"\[/(\^\S+\$)/, \(\) => import\(\"\./(\S+)\"\)\]")

#: What a module cannot run without.
_IMPORTED = re.compile(r"^(?:import|export)\b[^;]*?from \"(\.[^\"]+)\";", re.MULTILINE)

#: The address of a conversation, and what its page asks for first: while its modules are on their way.
_CONVERSATION = re.compile(r"/conversations/([^/]+)")
_FIRST = "/v1/conversations/{}/log?limit=5000"

#: What JavaScript's encodeURIComponent leaves as it is, besides letters and digits.
_PLAIN = "-_.!~*'()"

#: First parts of the addresses that views have.
VIEWS = frozenset({"", "chat", "conversations", "people", "facts", "search", "dead-letters", "replays", "api"})


class File(NamedTuple):
    """``tag``: of the content, whichever way it is packed."""

    content: bytes
    packed: bytes
    kind: str
    tag: str


class Console:
    """An ASGI app; mount it where no operation has the path."""

    def __init__(self) -> None:
        self._files = {name: _file(name, content) for name, content in _read()}
        self._pages = [
            (re.compile(pattern.replace("\\/", "/")), _file(_INDEX, self._page(module)))
            for pattern, module in _ROUTE.findall(self._text(_SHELL))
        ]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See the ASGI specification."""
        if scope["type"] == "http":
            await self._answer(Request(scope))(scope, receive, send)

    def _answer(self, request: Request) -> Response:
        path = request.url.path
        found = self._view(path) if path.split("/")[1] in VIEWS else self._files.get(path.removeprefix(_PREFIX))
        if found is None:
            why = "There is nothing here. The console is at /, the operations of the API at /v1/openapi.json."
            raise Problem(NO_SUCH_PATH, why)
        if request.method not in ("GET", "HEAD"):
            why = f"{request.method} is not possible here, use GET."
            raise Problem(METHOD_NOT_ALLOWED, why, {"allow": "GET, HEAD"})
        headers = {**_HEADERS, "etag": found.tag, "vary": "accept-encoding"}
        if first := _asked_first(request.scope.get("raw_path") or b""):
            headers["link"] = f"<{first}>; rel=preload; as=fetch; crossorigin"
        if found.tag in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        if "gzip" in request.headers.get("accept-encoding", ""):
            headers["content-encoding"] = "gzip"
            return Response(found.packed, media_type=found.kind, headers=headers)
        return Response(found.content, media_type=found.kind, headers=headers)

    def _view(self, path: str) -> File:
        return next((page for pattern, page in self._pages if pattern.match(path)), self._files[_INDEX])

    def _page(self, module: str) -> bytes:
        """Return the page with which a browser fetches all that a view needs at once, not one by one."""
        index = self._text(_INDEX)
        links = "".join(
            f'    <link rel="modulepreload" href="{_PREFIX}{name}" />\n'
            for name in dict.fromkeys([*self._needed(_SHELL), *self._needed(module)])
            if name != _SHELL
        )
        return index.replace("  </head>", f"{links}  </head>", 1).encode()

    def _needed(self, module: str, known: frozenset[str] = frozenset()) -> Iterator[str]:
        """Yield a module, and those that it imports."""
        yield module
        for imported in _IMPORTED.findall(self._text(module)):
            name = posixpath.normpath(posixpath.join(posixpath.dirname(module), imported))
            if name not in known:
                yield from self._needed(name, known | {module})

    def _text(self, name: str) -> str:
        return self._files[name].content.decode()


def _asked_first(path: bytes) -> str | None:
    """Return the API path that a page asks for first; ``None`` for other pages."""
    found = _CONVERSATION.fullmatch(path.decode("ascii", "replace"))
    if found is None or quote(unquote(found[1]), safe=_PLAIN) != found[1]:
        return None
    return _FIRST.format(found[1])


def _file(name: str, content: bytes) -> File:
    kind = _TYPES.get(name.rpartition(".")[2], "text/plain")
    return File(content, gzip.compress(content, mtime=0), kind, f'"{hashlib.sha256(content).hexdigest()[:16]}"')


def _read() -> Iterator[tuple[str, bytes]]:
    """Yield the console's files by their path."""
    folders: list[tuple[str, Traversable]] = [("", files("streams.server.console") / "static")]
    while folders:
        under, folder = folders.pop()
        for each in folder.iterdir():
            if each.is_dir():
                folders.append((f"{under}{each.name}/", each))
            else:
                yield under + each.name, each.read_bytes()
