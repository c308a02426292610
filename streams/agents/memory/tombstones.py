"""Tombstones of ``memory.facts.v1``: a record without a value erases its fact.

Anybody may write one; it erases what had arrived by then.  The index reads them, and so does the facts stage:
what it remembers must go, too, and it has the vector forgotten.  The stage writes a tombstone itself where one
that it learned of too late does not come last; its headers say what that one erased.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import NamedTuple

from models.errors import InvalidRecord
from models.facts import Erasure
from streams.clients.erasures import UNTIL_HEADER
from streams.clients.records import Headers, SourceRecord
from streams.stores.qdrant_payload import is_point_id

_UNTIL = UNTIL_HEADER
_VERSION = "erased_version"


class Tombstone(NamedTuple):
    """Tombstone of a thing, with the arrival time or versions that it erases."""

    fact_id: str
    erasure: Erasure


def read(record: SourceRecord) -> Tombstone | None:
    """Return the tombstone in a record; ``None`` for a record with a value, or without a key.

    Raises:
        InvalidRecord: ``invalid_fact_id``, ``invalid_erasure``: no fact is called so, or headers are not ours.
    """
    if record.value is not None or record.key is None:
        return None
    fact_id = checked_id(record.key.decode(errors="replace"))
    written = dict(record.headers)
    until, version = written.get(_UNTIL), written.get(_VERSION)
    if until is None:
        arrived = datetime.fromtimestamp(record.timestamp / 1000, UTC)
        return Tombstone(fact_id, Erasure(until=arrived))
    try:
        at = datetime.fromisoformat(until.decode()).astimezone(UTC)
        return Tombstone(fact_id, Erasure(until=at, version=int(version or b"0")))
    except (ValueError, OverflowError) as error:
        raise InvalidRecord(
            "invalid_erasure", f"{_UNTIL} must be a time (RFC 3339) and {_VERSION} a number: {error}"
        ) from error


def checked_id(fact_id: str) -> str:
    """Return ``fact_id`` if a point may be called so; else one bad id would refuse the whole batch."""
    if not is_point_id(fact_id):
        raise InvalidRecord("invalid_fact_id", f"fact_id is not a uuid in lower case: {fact_id!r}")
    return fact_id


def headers(erasure: Erasure) -> Headers:
    """Return the headers of a tombstone record."""
    return [(_UNTIL, erasure.until.isoformat().encode()), (_VERSION, str(erasure.version).encode())]
