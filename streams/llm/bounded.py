"""Responses of bounded length, and their lines."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any

from streams.llm.port import MOST_BYTES

#: Begins of the lines of server-sent events that hold no data.
FRAMES = (b":", b"event:", b"id:", b"retry:")


class TooLongError(Exception):
    """A response has more than :data:`streams.llm.port.MOST_BYTES` bytes."""


async def bounded(chunks: Any) -> AsyncGenerator[bytes]:
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


async def lines(chunks: AsyncIterator[bytes]) -> AsyncGenerator[bytes]:
    """Yield the lines of a response; only line feeds end them, and not what Unicode calls a line's end."""
    held: list[bytes] = []
    async for chunk in chunks:
        first, *others = chunk.split(b"\n")
        held.append(first)
        for each in others:
            yield b"".join(held).removesuffix(b"\r")
            held = [each]
    if last := b"".join(held):
        yield last
