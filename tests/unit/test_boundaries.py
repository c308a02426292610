"""Where the topic of a conversation changes: real vectors of small talk, and what there is no saying of."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from processors.conversations.episodes.boundaries import CONTEXT, FEATURES, features, is_boundary, probability
from processors.conversations.episodes.traits import Traits, traits_of
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


def plain(text: str, *numbers: float, role: str = "user") -> Traits:
    return traits_of("t", role, text, vector(*numbers) if numbers else b"")


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


def test_what_was_said_around_a_turn_is_compared() -> None:
    before = [
        plain("Nothing of that kind.", 1, 1, 0),
        plain("Is the garden open?", 1, 0, 0),
        plain("The garden opens at nine.", 0, 1, 0, role="assistant"),
    ]
    turn, after = plain("By the way, gardens need rain.", 0, 3, 4), plain("Rain falls.", 0, 0, 1)
    found = features(before, turn, after)
    assert found is not None
    values = dict(zip(FEATURES, found, strict=True))
    assert values["turn.before"] == pytest.approx(0.6, abs=1e-3)
    assert values["left"] == pytest.approx(0.0, abs=1e-3)
    assert values["right"] == pytest.approx(0.8, abs=1e-3)
    # (0, .3, .9) and (.5, .5, 0)
    assert values["pair.latest"] == pytest.approx(0.15 / (0.9**0.5 * 0.5**0.5), abs=1e-3)
    assert values["words"] == pytest.approx(1 / 5), "garden, of way, garden, need, rain and falls"
    assert (values["user"], values["opens"], values["asked"]) == (1.0, 1.0, 0.0)
    assert probability(before, turn, after) != probability(before, turn, None)
    alone = features(before[:1], turn, None)
    assert alone is not None
    assert (
        alone[FEATURES.index("left")] == alone[FEATURES.index("right")] == alone[FEATURES.index("turn.before")]
    )


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
