"""Words of errors that every provider uses."""

from __future__ import annotations

from collections.abc import Sequence

from streams.config.redaction import without_credentials
from streams.config.settings.endpoints import Endpoint


def first_line(message: object) -> str:
    """Return the first line of what an error says, which some proxies say in another form than as a text."""
    return str(message or "no reason given").strip().partition("\n")[0][:300]


def shown_url(url: str) -> str:
    """Return a URL as it may be printed."""
    return without_credentials(url)


def wrong_vectors(endpoint: Endpoint, texts: int, found: Sequence[Sequence[float]]) -> str:
    """Say what is wrong with the vectors of so many texts."""
    lengths = sorted({len(each) for each in found})
    return (
        f"{endpoint.model} answered {len(found)} vectors of {lengths} numbers for {texts} texts, wanted "
        f"{endpoint.dimensions} numbers each: set SWITCHBOARD_EMBEDDING_DIMENSIONS to what it makes, or "
        f"{endpoint.variables[1]} to an embedding model"
    )
