"""Chunks that are cut inside a character: JavaScript cuts an emoji into two halves, one in each chunk.

JSON may hold a half as an escape (``"\\ud83d"``); no UTF-8 can be written of it.  So it is taken out of the
text and kept as a number beside it, until the chunk with the other half comes.
"""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec

from models.responses import ResponseChunk

#: What stands for a half whose other half never comes.
REPLACEMENT = "\ufffd"

_FIRST = re.compile("[\ud800-\udbff]")
_SECOND = re.compile("[\udc00-\udfff]")
_HALF = re.compile("[\ud800-\udfff]")


class ReceivedChunk(ResponseChunk, frozen=True, kw_only=True):
    """A chunk, and the halves of characters that its text begins and ends with; 0: it does with none."""

    second_half: int = 0
    first_half: int = 0


def with_halves(value: bytes) -> ReceivedChunk | None:
    """Return the chunk that strict decoders refuse for halves of characters in its text; ``None``: it is none.

    Halves that no other chunk can complete are replaced.
    """
    try:
        decoded: Any = json.loads(value)
        text = decoded["text"]
        second = ord(text[0]) if _SECOND.match(text) else 0
        first = ord(text[-1]) if _FIRST.match(text, len(text) - 1) else 0
        whole = _HALF.sub(REPLACEMENT, text[bool(second) : len(text) - bool(first)])
        halves = {"second_half": second, "first_half": first}
        chunk = msgspec.convert({**decoded, "text": whole, **halves}, ReceivedChunk)
    except (ValueError, TypeError, KeyError, IndexError, RecursionError, msgspec.MsgspecError):
        return None
    ids = chunk.response_id + chunk.conversation_id + chunk.tenant_id
    return None if _HALF.search(ids) else chunk


def joined(first: int, second: int) -> str:
    """Return the character of two halves, or what stands for those that are there."""
    if first and second:
        return (chr(first) + chr(second)).encode("utf-16", "surrogatepass").decode("utf-16")
    return REPLACEMENT if first or second else ""
