"""``chat.response-chunks.v1``, ``chat.responses.v1`` and ``chat.duplicates.v1`` (requirement 4)."""

from __future__ import annotations

from typing import Annotated

import msgspec

from models.messages import DEFAULT_TENANT, Identifier, Timestamp
from models.windows import NonNegative

#: What every JSON reader can count to; state holds the number that follows, in 64 bits.
SequenceNumber = Annotated[int, msgspec.Meta(ge=0, le=2**53 - 1)]


class ResponseChunk(msgspec.Struct, frozen=True, kw_only=True):
    """A piece of a response as a model streams it.  Key: ``response_id``.

    ``sequence`` counts from 0 without holes; ``text`` may be empty, half a word or many sentences;
    ``final`` is true on the last chunk.  All chunks of a response are of one tenant.
    """

    response_id: Identifier
    conversation_id: Identifier
    sequence: SequenceNumber
    text: str
    final: bool = False
    tenant_id: Identifier = DEFAULT_TENANT


class ContentDuplicationEvent(msgspec.Struct, frozen=True, kw_only=True):
    """A passage that was filtered out of a response, and the one it repeats (requirement 4).

    ``position_in_response`` is the 0-based character position of the passage in the incoming text.  ``kept``:
    it was not taken out, for it differs in something that may matter, or its beginning had left already.
    """

    event_id: Identifier
    session_id: Identifier
    response_id: Identifier
    timestamp: Timestamp
    duplicate_sentence: str
    similar_sentence: str
    similarity_score: float
    position_in_response: NonNegative
    kept: bool = False
    tenant_id: Identifier = DEFAULT_TENANT
