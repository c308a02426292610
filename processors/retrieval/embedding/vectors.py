"""Vectors in half precision: 768 bytes instead of 1,536 for 384 dimensions, and a cosine within .0005."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from models.errors import InvalidRecord
from models.vectors import EmbeddingResult, TurnVector

_HALF = np.dtype("<f2")


def pack(vector: NDArray[np.float32]) -> bytes:
    """Return the numbers of ``vector`` in half precision, little-endian."""
    return vector.astype(_HALF).tobytes()


def unpacked(vector: bytes) -> NDArray[np.float32]:
    """Return the numbers of a vector that was checked before."""
    return np.frombuffer(vector, _HALF).astype(np.float32)


def unpack(result: EmbeddingResult | TurnVector) -> NDArray[np.float32]:
    """Return the vector of a result, shape ``(dimensions,)``.

    Raises:
        InvalidRecord: ``invalid_vector``: not as many numbers as it says, not all finite, or all of them 0.
    """
    expected = result.dimensions * _HALF.itemsize
    if len(result.vector) != expected:
        raise InvalidRecord(
            "invalid_vector",
            f"vector has {len(result.vector)} bytes; {result.dimensions} dimensions have {expected}",
        )
    vector = unpacked(result.vector)
    if not np.isfinite(vector).all() or not vector.any():
        raise InvalidRecord("invalid_vector", "vector must hold finite numbers, not all of them 0")
    return vector
