"""Ledger of a graph's erasures, under ``<id>/gone``.

A worker that was taken for dead may write an entity or a relation as it was before an erasure behind the record
that erases it.  Compaction keeps the last record of a key, so the stage reads what is on its own topics, and
writes what is so by now behind such a copy.
"""

from __future__ import annotations

import msgspec

from models.errors import InvalidRecord
from models.messages import DEFAULT_TENANT
from processors.text.validation import decode
from streams.clients.records import SourceRecord
from streams.runtime.codec import Codec
from streams.runtime.work import Work

SUFFIX = b"/gone"


class Gone(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Graph version at which an erasure changed or removed an entity or relation."""

    version: int


GONE: Codec[Gone] = Codec("erased of graphs", Gone)


class EntityHeader(msgspec.Struct, frozen=True):
    """Header of an entity or relation on its topic."""

    user_id: str
    version: int
    entity_id: str = ""
    relation_id: str = ""
    tenant_id: str = DEFAULT_TENANT

    @property
    def name(self) -> str:
        """Its id."""
        return self.entity_id or self.relation_id


def read_header(record: SourceRecord) -> EntityHeader | None:
    """Return the header; ``None`` for an erasure, and for a record that the index dead-letters."""
    try:
        return None if record.value is None else decode(EntityHeader, record.value)
    except InvalidRecord:
        return None


def note_gone(name: str, version: int, work: Work) -> None:
    """Remember that an erasure changed something.

    Before the graph is stored: a crash in between would find nothing left to erase.
    """
    work.put(name.encode() + SUFFIX, Gone(version), GONE)


def is_late(written: EntityHeader, work: Work) -> bool:
    """Say whether something is as it was before an erasure."""
    gone = work.get(written.name.encode() + SUFFIX, GONE)
    return gone is not None and written.version < gone.version
