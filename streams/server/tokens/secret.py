"""Format of a token: ``sb_`` and 32 random bytes in base64url; what is kept of it is their SHA-256."""

from __future__ import annotations

import base64
import binascii
import hashlib
import secrets
from typing import NamedTuple

PREFIX = "sb_"

_BYTES = 32


class Made(NamedTuple):
    """A new token: its text, shown once; the hash of its bytes; and a short name that tells nothing."""

    text: str
    sha256: str
    token_id: str


def make() -> Made:
    """Return a new token."""
    raw = secrets.token_bytes(_BYTES)
    text = PREFIX + base64.urlsafe_b64encode(raw).decode().rstrip("=")
    return Made(text, hashlib.sha256(raw).hexdigest(), secrets.token_hex(6))


def hash_of(text: str) -> str | None:
    """Return the hash of a token's bytes; ``None``: it is no token."""
    if not text.startswith(PREFIX) or len(text) > 100:
        return None
    try:
        raw = base64.b64decode(text.removeprefix(PREFIX) + "=", altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        return None
    return hashlib.sha256(raw).hexdigest() if len(raw) == _BYTES else None
