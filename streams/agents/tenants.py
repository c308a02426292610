"""Tenant of a record, for stages that serve tenants in turn."""

from __future__ import annotations

import msgspec

from models.messages import DEFAULT_TENANT
from streams.clients.records import SourceRecord


class _Named(msgspec.Struct):
    tenant_id: str = DEFAULT_TENANT


_decode = msgspec.json.Decoder(_Named).decode


def tenant_of(record: SourceRecord) -> str:
    """Return the tenant that a record's value names at its top; ``""`` if it cannot be read."""
    try:
        return _decode(record.value or b"").tenant_id
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return ""
