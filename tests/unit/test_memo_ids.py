"""The key of the memo: whatever an answer depends on makes it another question."""

from __future__ import annotations

import pytest

from models.memo import memo_id

PARTS = ("extraction-1", "a-model", "temperature=0", "default", "mara", "what?")


def test_the_same_question_has_the_same_key() -> None:
    assert memo_id(*PARTS) == memo_id(*PARTS)
    assert len(memo_id(*PARTS)) == 32


@pytest.mark.parametrize(
    "number", range(len(PARTS)), ids=("prompt", "model", "parameters", "tenant", "user", "asked")
)
def test_whatever_it_depends_on_makes_another(number: int) -> None:
    other = [*PARTS]
    other[number] += "x"
    assert memo_id(*other) != memo_id(*PARTS)
