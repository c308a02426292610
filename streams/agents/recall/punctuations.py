"""Punctuations in ``memory.turns.v1``: between which of its turns a conversation was silent, or over.

As in ``chat.messages.v1``, the log says itself where episodes end, so that a replay ends them there, too.
Each has the header that says so, and a key of its own; whoever reads turns passes over them.
"""

from __future__ import annotations

from datetime import datetime

import msgspec

from models import ids
from models.messages import PUNCTUATION_HEADER, Punctuation, PunctuationKind
from streams.clients.catalog import TURNS
from streams.clients.records import SourceRecord, header
from streams.runtime.effects import Effects

__all__ = ["TURNS", "is_punctuation", "punctuate"]

_encode = msgspec.json.Encoder().encode


def is_punctuation(record: SourceRecord) -> bool:
    """Say whether a record of ``memory.turns.v1`` is no turn but stands between two."""
    return bool(record.headers) and header(record.headers, PUNCTUATION_HEADER) is not None


def punctuate(
    effects: Effects, kind: PunctuationKind, tenant_id: str, conversation_id: str, life: datetime, index: int
) -> None:
    """Write one before the turn ``index`` of the life of the conversation that began at ``life``.

    The same one again has the same key.
    """
    began = round(life.timestamp() * 1000)
    key = ids.punctuation_id(tenant_id, conversation_id, kind, began, index)
    value = Punctuation(punctuation=kind, conversation_id=conversation_id, tenant_id=tenant_id)
    headers = [(PUNCTUATION_HEADER, kind.encode())]
    effects.emit(TURNS, key.encode(), _encode(value), headers, route=conversation_id.encode())
