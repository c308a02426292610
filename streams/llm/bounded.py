"""Responses of bounded length."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from streams.llm.port import MOST_BYTES


class TooLongError(Exception):
    """A response has more than :data:`streams.llm.port.MOST_BYTES` bytes."""


async def bounded(chunks: Any) -> AsyncIterator[bytes]:
    """Yield a response's bytes, up to the bound.

    Raises:
        TooLongError: there are more.
    """
    seen = 0
    async for chunk in chunks:
        seen += len(chunk)
        if seen > MOST_BYTES:
            raise TooLongError
        yield chunk
