"""``memory.turn-vectors.v1``: vectors of turns where their conversations are, to find where topics change.

On ``memory.embeddings.v1`` they lie where their person is.
"""

from __future__ import annotations

from datetime import UTC, datetime

from models.vectors import EmbeddingResult, TurnPlace, TurnVector
from processors.conversations.episodes.state import KeptTurn
from processors.retrieval.embedding.vectors import unpack
from processors.text.validation import decode
from streams.agents.emitting import emit, emit_tombstone
from streams.clients.records import SourceRecord
from streams.runtime.effects import Effects

TURN_VECTORS = "memory.turn-vectors.v1"


def send_on(effects: Effects, result: EmbeddingResult, place: TurnPlace) -> None:
    """Send the vector of a turn to where its conversation is."""
    _emit(
        effects,
        TurnVector(
            turn_id=result.id,
            conversation_id=place.conversation_id,
            began_at=place.began_at,
            index=place.index,
            model=result.model,
            dimensions=result.dimensions,
            vector=result.vector,
            tenant_id=result.tenant_id,
        ),
    )


def give_up(effects: Effects, conversation_id: str, turn: KeptTurn) -> None:
    """Say that no vector came for a turn."""
    _emit(
        effects,
        TurnVector(
            turn_id=turn.turn_id,
            conversation_id=conversation_id,
            began_at=datetime.fromtimestamp(turn.began_at, UTC),
            index=turn.index,
            model="",
            dimensions=0,
            vector=b"",
            tenant_id=turn.tenant_id,
        ),
    )


def forget(effects: Effects, conversation_id: str, turn_id: str) -> None:
    """Have the vector of an erased turn forgotten."""
    emit_tombstone(effects, TurnVector, turn_id, route=conversation_id)


def read(record: SourceRecord) -> TurnVector | None:
    """Return the decoded record; ``None`` if it is erased.

    Raises:
        InvalidRecord: as :func:`decode` and :func:`unpack`.
    """
    if record.value is None:
        return None
    vector = decode(TurnVector, record.value)
    if vector.vector:
        unpack(vector)
    return vector


def _emit(effects: Effects, vector: TurnVector) -> None:
    emit(effects, vector, f"{vector.turn_id}/{vector.model}", subject=None)
