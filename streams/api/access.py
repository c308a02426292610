"""Who may ask, until a request can prove who sent it.

The API has no tokens yet, so whoever reaches it reads everything.  It therefore listens on loopback only, and
answers requests for loopback names only: a page in a browser on this machine could otherwise point a name of
its own at 127.0.0.1 (DNS rebinding) and read along.  It also answers for one tenant only, because a caller who
names the tenant proves nothing.

``SWITCHBOARD_API_AUTH=off`` says that something in front authenticates: then the API may listen on another
address, and the tenant is taken as given.  The names it answers to are still named, in
``SWITCHBOARD_API_HOSTS``.

Deployments that differ in their topic prefix share a machine, and one may listen where a caller expects
another.  A caller who cares says whose memory is meant in the header ``Switchboard-Topic-Prefix`` (which may be
empty), and gets 421 from any other.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from models.errors import ConfigurationError
from models.messages import DEFAULT_TENANT
from streams.api.caller import Caller
from streams.api.problems import OTHER_DEPLOYMENT, UNKNOWN_HOST, Problem, respond
from streams.namespace import PREFIX_HEADER
from streams.settings import Settings

_ANY = "*"
_HOST = re.compile(r"(?:\[([0-9a-f:.]+)\]|([^\s:@/\[\]]+))(?::\d*)?")


@dataclass(frozen=True)
class Access:
    """What is answered.  ``hosts``: names besides the loopback ones, lower case; ``"*"`` stands for any.

    ``topic_prefix``: whose memory this is.
    """

    hosts: frozenset[str] = frozenset()
    any_tenant: bool = False
    topic_prefix: str = ""

    @classmethod
    def of(cls, settings: Settings) -> Access:
        """Return what the settings say.

        Raises:
            ConfigurationError: the API would listen where strangers reach it, and nothing authenticates them.
        """
        if settings.api_auth == "on" and not is_loopback(settings.api_host):
            raise ConfigurationError(
                f"SWITCHBOARD_API_HOST={settings.api_host} lets others than this machine read the memory of "
                "every person, and the API cannot tell who asks: leave it at 127.0.0.1, or, if something "
                "in front of it authenticates, say so with SWITCHBOARD_API_AUTH=off"
            )
        names = (name.strip().lower() for name in settings.api_hosts.split(","))
        hosts = frozenset(name for name in names if name)
        return cls(hosts, settings.api_auth == "off", settings.topic_prefix)

    def answers_to(self, host: str) -> bool:
        """Tell whether a request with this ``Host`` header is answered."""
        name = host_name(host)
        return _ANY in self.hosts or name in self.hosts or is_loopback(name)

    async def caller(self, request: Request) -> Caller:
        """Return who asks, and what they may."""
        return Caller(tenant_id=None if self.any_tenant else DEFAULT_TENANT)


class KnownHosts:
    """Middleware: answers 421 to a request for a name that is not ours, or for another deployment."""

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
        meant = request.headers.get(PREFIX_HEADER, ours)
        if meant != ours:
            return Problem(
                OTHER_DEPLOYMENT,
                f"This is the memory of {_deployment(ours)}, not of {_deployment(meant)}: set "
                "SWITCHBOARD_API_PORT to where that one listens, or SWITCHBOARD_TOPIC_PREFIX to this one's.",
            )
        return None


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
