"""Train the weights of the summarizer's acts: ``python -m benchmarks.notebook.train_acts``.

Trained on ``acts.jsonl``, sentences written for it, and on sentences of the people (``none``).
Each sentence is seen twice, with and without its vectors, so that the weights work by the surface alone.
Prints precision and recall of each act on sentences left out of training.  Needs scikit-learn (extra ``dev``).
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold

from benchmarks.notebook.labels import HERE, labelled, people, window_of
from benchmarks.notebook.train import embedded
from processors.extraction.features import texts
from processors.extraction.units import Unit
from processors.summaries.acts import ACTS, FEATURES, SURFACE, WEIGHTS, Act, Floats, features

_STRENGTH = 1.5
_FOLDS = 5
#: Sentences of people, most of which are neither to-dos nor decisions: some are, so they weigh less.
_WEIGHT_OF_CHATTER = 0.1

_STANDING = ("state", "profile", "relation", "preference")


class Example(NamedTuple):
    """A sentence and its act."""

    unit: Unit
    act: int
    weight: float = 1.0


def written() -> Iterator[Example]:
    """Yield the sentences of ``acts.jsonl``: text, role, act, language, and perhaps what was asked."""
    for line in (HERE / "acts.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        said = {"id": "m", "role": row["role"], "at": "2026-03-01T10:00:00+00:00", "text": row["text"]}
        (message,) = window_of({"person": "p"}, {"conversation_id": "c", "messages": [said]}).messages
        asked = row.get("asked", "")
        unit = Unit(message, 0, len(row["text"]), row["text"], 0, asked)
        yield Example(unit, ACTS.index(Act(row["act"])))


def chatter(written: frozenset[str]) -> list[Example]:
    """Return sentences of the people that tell no note, or tell what is, was or is liked.

    Those that are ``written`` as examples of an act are left out.
    """
    return [
        Example(each.unit, ACTS.index(Act.NONE), _WEIGHT_OF_CHATTER)
        for person in people(HERE / "people")
        for each in labelled(person)
        if each.keep is False or (each.keep and each.kind in _STANDING and each.importance < 3)
        if each.unit.text not in written
    ]


def _fit(examples: list[Example], x: Floats) -> LogisticRegression:
    blind = x.copy()
    blind[:, SURFACE:] = 0.0
    y = np.array([each.act for each in examples])
    weight = np.array([each.weight for each in examples])
    model = LogisticRegression(C=_STRENGTH, max_iter=2000)
    return model.fit(np.vstack([x, blind]), np.tile(y, 2), sample_weight=np.concatenate([weight, weight / 2]))


def _print(y: NDArray[np.int64], guessed: NDArray[np.int64]) -> None:
    for number, act in enumerate(ACTS):
        right = int(np.sum((guessed == number) & (y == number)))
        print(
            f"  {act.value:10} precision {right / max(1, int(np.sum(guessed == number))):.2f}"
            f" recall {right / max(1, int(np.sum(y == number))):.2f} of {int(np.sum(y == number))}"
        )


def train(cache: Path) -> None:
    """Fit, print and store."""
    own = [*written()]
    examples = [*own, *chatter(frozenset(each.unit.text for each in own))]
    vectors = embedded([text for each in examples for text in texts([each.unit])], cache)
    units = [each.unit for each in examples]
    x = features(units, np.stack([vectors[text] for text in texts(units)]))
    y = np.array([each.act for each in own])
    guessed, blind = np.zeros_like(y), np.zeros_like(y)
    rest = [*range(len(own), len(examples))]
    for inside, outside in StratifiedKFold(_FOLDS, shuffle=True, random_state=1).split(y, y):
        chosen = [*map(int, inside), *rest]
        model = _fit([examples[n] for n in chosen], x[chosen])
        guessed[outside] = model.predict(x[outside])
        bare = x[outside].copy()
        bare[:, SURFACE:] = 0.0
        blind[outside] = model.predict(bare)
    print("acts.jsonl, left out by turns")
    _print(y, guessed)
    print("by the surface alone")
    _print(y, blind)
    model = _fit(examples, x)
    rows = np.hstack([model.coef_, model.intercept_[:, np.newaxis]]).astype(np.float16)
    np.savez_compressed(WEIGHTS, rows=rows, names=np.array(FEATURES))
    print(f"written: {WEIGHTS}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cache", type=Path, default=Path("build/notebook-vectors.npz"))
    train(parser.parse_args().cache)
