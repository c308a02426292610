"""Access to the API.

As long as there is no token, whoever reaches the API reads everything.  It therefore listens on loopback only
then, to requests for loopback names only (a proxy in front may hand on those of strangers), and answers for
one tenant only, because a caller who names the tenant proves nothing.  Once there are
tokens (``switchboard token create``), each request needs one: in the header ``Authorization``, or in the cookie
that ``POST /v1/session`` sets for a browser, but never in a URL.

It answers requests for loopback names only, and for those that are set: a page in a browser on this machine
could otherwise point a name of its own at 127.0.0.1 (DNS rebinding) and read along.  What writes must come from
a page of its own, or from none.

``SWITCHBOARD_API_AUTH=off`` says that something in front authenticates: then the API may listen on another
address, and the tenant is taken as given.  The names it answers to are still named, in
``SWITCHBOARD_API_HOSTS``.

Deployments that differ in their topic prefix share a machine, and one may listen where a caller expects
another.  A caller who cares says whose memory is meant in the header ``Switchboard-Topic-Prefix`` (which may be
empty), and gets 421 from any other.
"""

from __future__ import annotations

import ipaddress
import math
import re
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from models.access import Token
from models.errors import ConfigurationError
from streams.config.namespace import PREFIX_HEADER
from streams.config.printing import printable
from streams.config.settings import Settings
from streams.server.api.caller import Caller
from streams.server.api.caller import Scope as NeededScope
from streams.server.api.limits import Limits
from streams.server.api.problems import (
    FOREIGN_ORIGIN,
    OTHER_DEPLOYMENT,
    TOKEN_NEEDED,
    TOKEN_REFUSED,
    TOO_MANY_REQUESTS,
    UNKNOWN_HOST,
    Problem,
    respond,
)
from streams.server.tokens import secret

#: Where a browser keeps its token; no script can read it, and no other site have it sent.
COOKIE = "switchboard_token"

_ANY = "*"
_READING = ("GET", "HEAD", "OPTIONS")
_CHALLENGE = {"www-authenticate": 'Bearer realm="switchboard"'}
_HOST = re.compile(r"(?:\[([0-9a-f:.]+)\]|([^\s:@/\[\]]+))(?::\d*)?")


class Tokens(Protocol):
    """The tokens that there are, as :class:`streams.server.tokens.known.KnownTokens`."""

    @property
    def any(self) -> bool:
        """True if there are tokens, so that every request needs one."""
        ...

    def find(self, text: str) -> Token | None:
        """Return the token with this text."""
        ...


@dataclass(frozen=True)
class Access:
    """Access rules.  ``hosts``: names besides the loopback ones, lower case; ``"*"`` stands for any.

    ``any_tenant``: something in front authenticates.  ``topic_prefix``: whose memory this is.  ``local``: only
    this machine reaches it, so that nobody needs a token until there are any.
    """

    hosts: frozenset[str] = frozenset()
    any_tenant: bool = False
    topic_prefix: str = ""
    tokens: Tokens | None = None
    local: bool = True
    limits: Limits = field(default_factory=Limits)

    @classmethod
    def of(cls, settings: Settings, tokens: Tokens | None = None) -> Access:
        """Return the access rules from the settings.

        Raises:
            ConfigurationError: the API would listen where strangers reach it, and nothing authenticates them.
            DependencyUnavailable: so it would unless there are tokens, and those cannot be read.
        """
        local, off = is_loopback(settings.api_host), settings.api_auth == "off"
        if not local and not off and (tokens is None or not tokens.any):
            raise ConfigurationError(
                f"SWITCHBOARD_API_HOST={settings.api_host} lets others than this machine read the memory of "
                "every person, and there is no token yet, so the API cannot tell who asks: make one "
                "(switchboard token create), leave the address at 127.0.0.1, or, if something in front "
                "of it authenticates, say so with SWITCHBOARD_API_AUTH=off"
            )
        names = (name.strip().lower() for name in settings.api_hosts.split(","))
        hosts = frozenset(name for name in names if name)
        limits = Limits(settings.api_requests_per_second)
        return cls(hosts, off, settings.topic_prefix, tokens, local, limits)

    def answers_to(self, host: str) -> bool:
        """Tell whether a request with this ``Host`` header is answered."""
        name = host_name(host)
        return _ANY in self.hosts or name in self.hosts or is_loopback(name)

    def caller(self, request: Request) -> Caller:
        """Return the caller of a request, with its rights.

        Raises:
            Problem: 401, a token is needed, or refused; 429, too many requests with it.
            DependencyUnavailable: the tokens cannot be read.
        """
        if self.any_tenant:
            return Caller(tenant_id=None)
        text = token_of(request)
        needs_none = self._needs_none() and is_loopback(host_name(request.headers.get("host", "")))
        # Clients of language models send a key wherever they ask: what is no token of ours is none here.
        if text is not None and not (needs_none and not text.startswith(secret.PREFIX)):
            return self.owner(text)
        if needs_none:
            return Caller(holds=self._needs_none)
        raise Problem(TOKEN_NEEDED, "There is no token in this request, and one is needed.", _CHALLENGE)

    def _needs_none(self) -> bool:
        return self.local and (self.tokens is None or not self.tokens.any)

    def _holds(self, text: str) -> bool:
        return self.tokens is not None and self.tokens.find(text) is not None

    def owner(self, text: str) -> Caller:
        """Return the owner of a token.  Raises as :meth:`caller`."""
        token = None if self.tokens is None else self.tokens.find(text)
        if token is None:
            raise Problem(TOKEN_REFUSED, "This token allows nothing (any more).", _CHALLENGE)
        wait = self.limits.wait(token.token_id)
        if wait:
            raise Problem(
                TOO_MANY_REQUESTS,
                f"More than {self.limits.per_second:g} requests a second with this token.",
                {"retry-after": str(math.ceil(wait))},
            )
        scopes = frozenset(map(NeededScope, token.scopes))
        holds = partial(self._holds, text)
        return Caller(scopes, token.tenant_id, token.user_id or None, token.token_id, holds)


class KnownHosts:
    """Middleware: answers 421 to a request for a name that is not ours, or for another deployment, and 403 to
    a page of somebody else's that writes.
    """

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app = app
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = Request(scope)
        problem = self._problem(request)
        answer = self._app if problem is None else respond(request, problem)
        await answer(scope, receive, send)

    def _problem(self, request: Request) -> Problem | None:
        host, ours = request.headers.get("host", ""), self._access.topic_prefix
        if not self._access.answers_to(host):
            return Problem(
                UNKNOWN_HOST,
                f"This API does not answer to the name {host!r}: ask 127.0.0.1 or localhost, or start the "
                "service with that name in SWITCHBOARD_API_HOSTS.",
            )
        origin = request.headers.get("origin")
        if origin is not None and request.method not in _READING and origin.partition("://")[2] != host:
            return Problem(
                FOREIGN_ORIGIN,
                f"A page of {printable(origin[:100])!r} may not write here: only pages of {host} may.",
            )
        meant = request.headers.get(PREFIX_HEADER, ours)
        if meant != ours:
            return Problem(
                OTHER_DEPLOYMENT,
                f"This is the memory of {_deployment(ours)}, not of {_deployment(meant)}: set "
                "SWITCHBOARD_API_PORT to where that one listens, or SWITCHBOARD_TOPIC_PREFIX to this one's.",
            )
        return None


def token_of(request: Request) -> str | None:
    """Return the token that a request brings: as a header, or as a browser's cookie."""
    scheme, _, text = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and text.strip():
        return text.strip()
    return request.cookies.get(COOKIE)


def _deployment(topic_prefix: str) -> str:
    return f"the topic prefix {topic_prefix!r}" if topic_prefix else "the deployment without a topic prefix"


def host_name(header: str) -> str:
    """Return the name in a ``Host`` header, without port and brackets, in lower case; ``""`` if it is none."""
    match = _HOST.fullmatch(header.strip().lower())
    return (match[1] or match[2] or "") if match is not None else ""


def is_loopback(name: str) -> bool:
    """Tell whether a name or address is always this machine."""
    if name == "localhost":
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False
