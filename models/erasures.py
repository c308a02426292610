"""``memory.erasures.v1``: who was erased, so that nothing brings them back."""

from __future__ import annotations

from typing import Annotated

import msgspec

from models.messages import Timestamp


class ErasedPerson(msgspec.Struct, frozen=True, kw_only=True):
    """A person who was erased.  Key: ``person_id``, compacted, kept for ever.

    ``person_id``: HMAC-SHA-256 of the tenant and the person, in hexadecimal, with a key that is derived from
    the one that signs certificates: nobody without it can tell who it is.  ``key_id``: which key that was.
    ``until``: a message that was sent by then and arrives later is not taken.
    """

    person_id: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]
    key_id: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{16}$")]
    until: Timestamp
