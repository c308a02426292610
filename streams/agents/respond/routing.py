"""respond/routing: the stage before the filter when its memory spans a conversation (requirement 4).

Chunks come in keyed by response; this sends all those of a conversation, as they are, to one partition.
"""

from __future__ import annotations

import re

from models.errors import InvalidRecord
from processors.responses.halves import ReceivedChunk, with_halves
from processors.text.validation import decode
from streams.clients.records import RecordBatch, SourceRecord
from streams.config.settings import Settings
from streams.runtime.effects import Effects
from streams.runtime.stage import Stage, StateReader

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")

CHUNKS = "chat.response-chunks.v1"
ROUTED = "respond.routed-chunks.v1"


class ChunkRouting:
    """The step: chunks re-keyed by conversation."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def stage(self) -> Stage:
        """Return the stage."""
        return Stage(
            name="routing", sources=(CHUNKS,), step=self.step, batch_records=self._settings.batch_records
        )

    def step(self, batch: RecordBatch, state: StateReader) -> Effects:
        """Send every chunk, as it is, to its conversation's partition."""
        effects = Effects()
        for record in batch.records:
            try:
                chunk = decode_chunk(record, keyed=True)
            except InvalidRecord as error:
                effects.dead_letter(record, error)
            else:
                effects.forward(ROUTED, chunk.conversation_id.encode(), record.value, record.headers)
        return effects


def decode_chunk(record: SourceRecord, *, keyed: bool) -> ReceivedChunk:
    """Return the record's chunk.  ``keyed``: its key, if it has one, must be that of its response.

    Raises:
        InvalidRecord: it is none, or lies under another key, or an id holds control characters.
    """
    try:
        chunk = decode(ReceivedChunk, record.value)
    except InvalidRecord:
        found = with_halves(record.value or b"")
        if found is None:
            raise
        chunk = found
    # JSON has them only as escapes (DEL apart), so most chunks need no second look.
    if record.value is not None and (b"\\" in record.value or b"\x7f" in record.value):
        for field in ("response_id", "conversation_id", "tenant_id"):
            if _CONTROL.search(getattr(chunk, field)):
                raise InvalidRecord("control_characters", f"{field} holds control characters: remove them")
    if keyed and record.key not in (None, chunk.response_id.encode()):
        raise InvalidRecord(
            "key_mismatch", "the record's key differs from response_id in its value: they must be equal"
        )
    return chunk
