"""Asking for vectors: whoever writes a thing asks once for each text, and has its vector forgotten with it.

An erasure goes two ways: into the log of vectors at once, since requests before it may wait for a budget; and
behind them, since one of them may be answered after all.
"""

from __future__ import annotations

from models.errors import InvalidRecord
from models.vectors import EmbeddingRequest, EmbeddingResult, VectorKind
from streams.agents.emitting import emit, emit_tombstone
from streams.runtime.effects import Effects

REQUESTS, EMBEDDINGS = "memory.embedding-requests.v1", "memory.embeddings.v1"


def key_of(thing: EmbeddingRequest | EmbeddingResult) -> bytes:
    """Return the key of a request or result: ``fact/7f1c...``."""
    return f"{thing.kind}/{thing.id}".encode()


def read_key(key: bytes) -> tuple[VectorKind, str]:
    """Return the kind and id that the key of a request or result names.

    Raises:
        InvalidRecord: ``invalid_key``.
    """
    kind, _, wanted_id = key.decode(errors="replace").partition("/")
    if kind not in [*VectorKind] or not wanted_id:
        kinds = ", ".join(VectorKind)
        raise InvalidRecord("invalid_key", f"the key must be kind/id, the kind one of {kinds}: {key!r}")
    return VectorKind(kind), wanted_id


def ask(effects: Effects, request: EmbeddingRequest, source: str) -> None:
    """Ask for a vector; ``source`` is the CloudEvents source of who asks (``/switchboard/memory``)."""
    emit(effects, request, f"{request.kind}/{request.id}/{request.text_hash}", source=source)


def forget(effects: Effects, kind: VectorKind, erased_id: str, partition: int, source: str) -> None:
    """Have the vector of something that was erased forgotten; ``partition`` is that of its person."""
    _forget(effects, kind, erased_id, source, partition=partition)


def forget_of(effects: Effects, kind: VectorKind, erased_id: str, user_id: str, source: str) -> None:
    """Have the vector of something of a person's that was erased forgotten."""
    _forget(effects, kind, erased_id, source, route=user_id)


def _forget(
    effects: Effects,
    kind: VectorKind,
    erased_id: str,
    source: str,
    partition: int | None = None,
    route: str | None = None,
) -> None:
    for of in (EmbeddingResult, EmbeddingRequest):
        emit_tombstone(effects, of, f"{kind}/{erased_id}", source=source, route=route, partition=partition)
