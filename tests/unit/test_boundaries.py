"""Where the topic of a conversation changes: real vectors of small talk, and what there is no saying of."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from processors.conversations.episodes.boundaries import CONTEXT, features, is_boundary, probability
from processors.conversations.episodes.traits import traits_of
from streams.llm.onnx_embedder import OnnxEmbedder

GARDEN_THEN_TRAIN = [
    ("user", "My tomatoes have yellow leaves this year."),
    ("assistant", "Yellow leaves on tomatoes often mean too much water or too little nitrogen."),
    ("user", "I water the tomatoes every evening, is that too much?"),
    ("assistant", "Yes, let the soil around the tomatoes dry first."),
    ("user", "I need a train from Lyon to Marseille on Friday morning."),
    ("assistant", "There are trains from Lyon to Marseille at seven and at nine."),
    ("user", "The nine o'clock train, please, one ticket."),
]


def vector(*numbers: float) -> bytes:
    row = np.array(numbers, np.float32)
    return (row / np.linalg.norm(row)).astype("<f2").tobytes()


async def test_a_change_of_topic_is_found_where_it_is() -> None:
    embedder = OnnxEmbedder()
    try:
        rows = await embedder.embed([text for _, text in GARDEN_THEN_TRAIN])
    finally:
        await embedder.close()
    turns = [
        traits_of(str(n), role, text, row.astype("<f2").tobytes())
        for n, ((role, text), row) in enumerate(zip(GARDEN_THEN_TRAIN, rows, strict=True))
    ]
    found = [at for at in range(1, len(turns)) if is_boundary(turns[:at], turns[at], (*turns, None)[at + 1])]
    assert found == [4]


_WORDS = st.text(max_size=300)


@given(st.lists(st.tuples(_WORDS, st.booleans(), st.integers(0, 7)), min_size=1, max_size=9))
def test_any_text_has_a_probability(said: list[tuple[str, bool, int]]) -> None:
    axes = np.eye(8, dtype=np.float32)
    turns = [
        traits_of(str(n), "user" if by_user else "tool", text, vector(*axes[axis]) if text.strip() else b"")
        for n, (text, by_user, axis) in enumerate(said)
    ]
    for at in range(len(turns)):
        after = turns[at + 1] if at + 1 < len(turns) else None
        assert 0 <= probability(turns[:at], turns[at], after) < 1
        assert features(turns[:at], turns[at], after) == features(turns[:at][-CONTEXT:], turns[at], after)
