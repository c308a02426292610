"""``access.tokens.v1``: who may ask what of the HTTP API."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from models.messages import DEFAULT_TENANT, Identifier, Timestamp

#: What a token may allow.
TokenScope = Literal["read", "write", "chat", "operate"]


class Token(msgspec.Struct, frozen=True, kw_only=True):
    """A token.  Key: ``token_id``, compacted; without a value: it was revoked.

    ``sha256`` is the hash of its 32 random bytes, which are kept nowhere.  ``user_id`` ``""``: it is for every
    person of the tenant.
    """

    token_id: Identifier
    sha256: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]
    scopes: tuple[TokenScope, ...]
    created_at: Timestamp
    tenant_id: Identifier = DEFAULT_TENANT
    user_id: Annotated[str, msgspec.Meta(max_length=256)] = ""
    expires_at: Timestamp | None = None
    name: Annotated[str, msgspec.Meta(max_length=256)] = ""
