"""Endpoints of language models, as the settings name them."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple
from urllib.parse import urlsplit

from pydantic import SecretStr

Api = Literal["gemini", "openai"]
Structured = Literal["strict", "schema", "json", "prompt"]

GEMINI_URL = "https://generativelanguage.googleapis.com"
OPENAI_URL = "https://api.openai.com/v1"

#: URL of each API unless a setting names another.
DEFAULT_URLS: Mapping[Api, str] = {"gemini": GEMINI_URL, "openai": OPENAI_URL}

#: Ends of the names of hosts that are no public ones.
_PRIVATE_ENDS = (".local", ".localhost", ".internal", ".lan", ".home.arpa", ".svc")


class Endpoint(NamedTuple):
    """An endpoint and the model that is asked there.

    ``variables`` are the settings that name URL, model and key, in this order; ``dimensions`` is the length of
    a vector, 0 for a model that reads and writes; ``extra`` goes into every request.
    """

    api: Api
    url: str
    model: str
    key: SecretStr
    variables: tuple[str, str, str]
    timeout: float
    connections: int
    structured: Structured = "strict"
    extra: Mapping[str, Any] = {}
    dimensions: int = 0

    @property
    def host(self) -> str:
        """Name or address of the host."""
        return urlsplit(self.url).hostname or ""

    @property
    def is_private(self) -> bool:
        """True if the host is this machine or in a private network."""
        return is_private(self.host)


def is_private(host: str) -> bool:
    """Say whether a host is this machine or in a private network, by its name alone."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return "." not in host or host.endswith(_PRIVATE_ENDS)
    return address.is_private or address.is_loopback or address.is_link_local


def origin(url: str) -> tuple[str, str, int | None]:
    """Return scheme, host and port of a URL."""
    parts = urlsplit(url)
    return parts.scheme, parts.hostname or "", parts.port or {"http": 80, "https": 443}.get(parts.scheme)
