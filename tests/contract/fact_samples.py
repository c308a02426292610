"""Facts and vectors for the tests of the fact index."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import numpy as np
from numpy.typing import NDArray
from samples import evidence, fact

from models.facts import Fact
from models.index import FactFilter, VectorSpace

DIMENSIONS = 8

SPACE = VectorSpace("words-1", DIMENSIONS)

ADA = FactFilter(user_id="ada")


def make_fact(statement: str = "Ada likes blueberries", **changes: object) -> Fact:
    """Return a fact with what a store could lose: fractions of a second, a zone, a large offset."""
    heard = datetime(2026, 3, 1, 12, 30, 16, tzinfo=UTC)
    learned = datetime(2026, 3, 1, 14, 30, 16, tzinfo=timezone(timedelta(hours=2)))
    said = evidence(
        "I like blueberries", at=heard, message_ids=("m-3", "m-4"), partition=3, offsets=(41, 2**40)
    )
    began = datetime(2026, 3, 1, 12, 30, 15, 123456, tzinfo=UTC)
    known = {"confidence": 0.7, "provenance": (said,), "valid_from": began}
    return fact(statement, at=learned, **(known | changes))


def unit(*numbers: float) -> NDArray[np.float32]:
    vector = np.zeros(DIMENSIONS, dtype=np.float32)
    vector[: len(numbers)] = numbers
    return vector / np.linalg.norm(vector)
