"""Fitting the weights of the ranking to people: what they teach, and that it is the same each time."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.quality.recall import chance
from benchmarks.quality.recall.cases import cases, fit, left_out
from models.index import Vectors
from processors.recall.features import FEATURES, GRAPH


class Letters:
    """Texts that share letters are alike."""

    model, dimensions = "letters", 26

    async def embed(self, texts: Any) -> Vectors:
        rows = np.array([[text.casefold().count(chr(97 + n)) + 0.01 for n in range(26)] for text in texts])
        made: Vectors = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
        return made


def person(number: int) -> dict[str, Any]:
    said = [
        ("user", "Good morning to you"),
        ("assistant", "Hello! What is your boat called?"),
        ("user", f"Zephyr{number}."),
        ("assistant", "Nice."),
        ("user", "I used to sell quartz. Rain again today"),
        ("assistant", "Oh."),
    ]
    messages = [
        {"id": f"m-{at}", "role": role, "text": text, "at": f"2026-03-01T10:0{at}:00Z"}
        for at, (role, text) in enumerate(said)
    ]
    notes: list[dict[str, Any]] = [
        {"id": "n1", "evidence": ["m-2"], "terms": [["zephyr"]], "importance": 3, "ends": None},
        {"id": "n2", "evidence": ["m-4"], "terms": [["quartz"]], "importance": 2, "ends": {"by": "m-4"}},
    ]
    return {
        "person": f"p-{number}",
        "sessions": [{"conversation_id": "c", "messages": messages}],
        "notes": notes,
        "questions": [
            {"q": f"Which zephyr{number} is my boat?", "notes": ["n1"], "evidence": ["m-2"]},
            {"q": "What is my dentist called?", "notes": [], "evidence": []},
        ],
    }


async def test_the_same_people_give_the_same_weights(tmp_path: Path) -> None:
    people = [person(number) for number in range(9)]
    written = tmp_path / "unanswerable.jsonl"
    written.write_text('{"person": "p-1", "q": "What is my boat worth?"}\n', encoding="utf-8")
    asked = await cases(people, Letters(), chance.unanswerable(people, written))
    own = [each for each in asked if not each.kind]
    one, other = fit(own), fit(own)
    assert one == other and one[GRAPH] == FEATURES[GRAPH]
    assert all(math.isfinite(value) for each in one.values() for value in each)
    assert left_out(own) == 1.0
    rows = chance.judged(asked)
    odds = chance.shifted(chance.fit_odds(rows), rows)
    found = chance.shares(odds, rows)
    assert found[chance.ANSWERED].answered >= 1.0 - chance.LOST
    assert (found[chance.ANSWERED].questions, found[chance.OWN].questions, found[chance.WRITTEN].questions) == (
        9,
        9,
        1,
    )
