"""``memory.embedding-requests.v1`` and ``memory.embeddings.v1``: what is to have a vector, and the vector
itself.

Whoever writes a thing asks for its vector, once for each text of it.  The answer is part of the log: a view of
vectors is filled from it, and nothing is embedded twice.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import msgspec

from models.messages import DEFAULT_TENANT, Identifier, Timestamp


class VectorKind(StrEnum):
    """Kinds of things with vectors: each has its own index, except sentences, which are only compared."""

    FACT = "fact"
    TURN = "turn"
    EPISODE = "episode"
    SENTENCE = "sentence"


class TurnPlace(msgspec.Struct, frozen=True, kw_only=True):
    """Where a turn stands: its conversation, when that began, and its index."""

    conversation_id: Identifier
    began_at: Timestamp
    index: Annotated[int, msgspec.Meta(ge=0)]


class Saying(msgspec.Struct, frozen=True, kw_only=True):
    """Where and when a person said something of themselves; ``denies``: in words that deny something."""

    conversation_id: Identifier
    sent_at: Timestamp
    arrived_at: Timestamp
    denies: bool = False


class SpokenSentence(msgspec.Struct, frozen=True, kw_only=True):
    """A sentence in which a person tells something of themselves, and where it stands: its turn, its message
    at ``offset`` of ``topic``/``partition``.
    """

    turn_id: Identifier
    message_id: Identifier
    conversation_id: Identifier
    text: Annotated[str, msgspec.Meta(min_length=1)]
    sent_at: Timestamp
    arrived_at: Timestamp
    topic: str
    partition: Annotated[int, msgspec.Meta(ge=0)]
    offset: Annotated[int, msgspec.Meta(ge=0)]


class EmbeddingRequest(msgspec.Struct, frozen=True, kw_only=True):
    """This text needs a vector.  Key: ``kind/id``; without a value, the thing was erased.

    ``id`` is the thing's own (a uuid), ``text_hash`` that of ``text`` (:func:`models.ids.text_hash`).
    ``place``: where a turn stands: its vector may also go where its conversation is.  ``saying``: only of a
    turn in which the person says something of themselves: it may bear out what is known of them.
    ``sentence``: of a sentence, which one.
    """

    kind: VectorKind
    id: Identifier
    user_id: Identifier
    text: Annotated[str, msgspec.Meta(min_length=1)]
    text_hash: str
    tenant_id: Identifier = DEFAULT_TENANT
    place: TurnPlace | None = None
    saying: Saying | None = None
    sentence: SpokenSentence | None = None


class EmbeddingResult(msgspec.Struct, frozen=True, kw_only=True):
    """A vector.  Key: ``kind/id``, compacted; without a value, the thing was erased.

    ``vector``: ``dimensions`` numbers, little-endian IEEE 754 half precision (2 bytes each), of unit length; in
    JSON as base64.  ``model``: what made it; vectors of two models cannot be compared.  ``saying`` and
    ``sentence``: as it was asked for.
    """

    kind: VectorKind
    id: Identifier
    user_id: Identifier
    text_hash: str
    model: str
    dimensions: Annotated[int, msgspec.Meta(ge=1)]
    vector: bytes
    tenant_id: Identifier = DEFAULT_TENANT
    saying: Saying | None = None
    sentence: SpokenSentence | None = None


class TurnVector(msgspec.Struct, frozen=True, kw_only=True):
    """``memory.turn-vectors.v1``: the vector of a turn, where its conversation is.

    Key: ``turn_id``; partition: that of ``conversation_id``.  ``index`` counts from ``began_at``, as that of
    the turn does.  ``vector`` as in :class:`EmbeddingResult`; empty if none came for a day: nobody waits.
    """

    turn_id: Identifier
    conversation_id: Identifier
    began_at: Timestamp
    index: Annotated[int, msgspec.Meta(ge=0)]
    model: str
    dimensions: Annotated[int, msgspec.Meta(ge=0)]
    vector: bytes
    tenant_id: Identifier = DEFAULT_TENANT
