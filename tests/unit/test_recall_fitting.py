"""Fitting the weights of the ranking: what is written is what was fitted, and the same each time."""

from __future__ import annotations

import inspect
import math
from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np
import pytest

from benchmarks.quality.recall import fitting, gathering
from benchmarks.quality.recall.sets import Asked
from models.messages import Role
from processors.recall import answering, feature_weights
from processors.recall.features import FEATURES, GRAPH, Candidate
from processors.recall.question import read
from processors.recall.ranking import rank


def candidates(number: int) -> list[Candidate]:
    """Five turns, of which the one that speaks of the boat is right, and a fact."""
    said = ["I like tea", "We walked home", f"I painted boat {number} red", "It rained", "Good night"]
    turns = [
        Candidate(
            text=text,
            role=Role.USER,
            conversation_id=f"c-{number}",
            index=at,
            cosine=0.2 + 0.3 * (at == 2) + 0.01 * ((number + at) % 3),
            before=said[at - 1] if at else "",
            message_ids=(f"{number}/{at}",),
        )
        for at, text in enumerate(said)
    ]
    return [*turns, Candidate(text="Likes tea", role=Role.USER, cosine=0.3, message_ids=(f"{number}/0",))]


def kept(number: int, *, answered: bool = True) -> gathering.Kept:
    asked = Asked(
        f"q-{number}", "k", f"Which boat did I paint in spring {number}?", (f"{number}/2",) if answered else ()
    )
    found = candidates(number)
    rows = [(at, each.cosine, False) for at, each in enumerate(found)]
    alone = [msgspec.structs.replace(each, cosine=None) for each in found]
    return gathering.Kept(f"p-{number}", alone, [(asked, read(asked.query), rows)])


def cases(numbers: Sequence[int]) -> list[fitting.Case]:
    return [
        case for number in numbers for case in gathering.cases("locomo", kept(number, answered=number % 3 > 0))
    ]


def test_what_is_kept_between_runs_is_what_was_found() -> None:
    again = msgspec.msgpack.decode(msgspec.msgpack.encode([kept(1)]), type=list[gathering.Kept])
    [case] = gathering.cases("locomo", again[0])
    assert list(case.candidates) == candidates(1)
    assert (list(case.turns), list(case.right)) == ([0, 1, 2, 3, 4], [2])


def test_what_a_fit_ranks_is_what_ships() -> None:
    [case] = cases([1])
    ours = fitting.ranked(case, fitting.shipped())
    assert ours == rank(case.question, case.candidates, floor=0.0)


def test_the_same_questions_give_the_same_weights() -> None:
    one, other = (fitting.fit(cases(range(1, 31))) for _ in range(2))
    assert one.features == other.features
    assert all(map(np.array_equal, one.trees, other.trees))
    assert one.features[GRAPH] == FEATURES[GRAPH]
    assert one.features["meaning"].weight > 0.3, "the right ones are the nearest"
    assert all(math.isfinite(value) for each in one.features.values() for value in each)


def test_the_module_of_weights_is_as_a_fit_writes_it() -> None:
    assert fitting.written(fitting.shipped()) == inspect.getsource(feature_weights)


def test_a_fit_writes_both_files_and_says_which_are_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, trees = tmp_path / "feature_weights.py", tmp_path / answering.WEIGHTS
    module.write_text(inspect.getsource(feature_weights))
    trees.write_bytes(b"")
    monkeypatch.setattr(feature_weights, "__file__", str(module))
    monkeypatch.setattr(fitting, "_TREES_FILE", trees)
    shipped = fitting.shipped()
    assert fitting.save(shipped) == {module: False, trees: True}
    written = trees.read_bytes()
    assert fitting.save(shipped) == {module: False, trees: False}
    assert trees.read_bytes() == written
    with np.load(trees) as stored:
        assert np.array_equal(stored["leaf"], shipped.trees.leaf)
