"""How well it is told which questions must be clarified (CLAMBER), and the training of what tells it.

``python -m benchmarks.quality.understanding FOLDER [--train] [--json FILE]``; in FOLDER: ``clamber-dev.jsonl``.
Figures are cross-validated.  ``--train`` (``make train``) fits all of it and writes the package's weights.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import processors.understanding
from benchmarks.quality import everyday
from models.understanding import Reason
from processors.understanding.clarity import HEADS, WHETHER, built_in
from processors.understanding.features import PLACES, WORD_PLACES, measures, places, word_places

Array = NDArray[np.float64]

_FOLDS, _SEEDS = 10, 3
#: Chosen by cross-validation: how freely weights may grow, and how much a measure and all the words together
#: count beside a run of words.
_FREEDOM, _MEASURE, _WORDS = 0.1, 0.3, 3.0

_REASONS = {
    "co-reference": Reason.REFERENCE,
    "polysemy": Reason.MEANINGS,
    "NK": Reason.UNKNOWN_NAME,
    "ICL": Reason.WHAT,
    "what": Reason.WHAT,
    "when": Reason.WHEN,
    "where": Reason.WHERE,
    "whom": Reason.WHO,
}


def main() -> int:
    """Measure, and with ``--train`` write the weights."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality.understanding", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--train", action="store_true", help="fit all rows and write the weights")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    arguments = parser.parse_args()
    began = time.perf_counter()
    path = arguments.folder / "clamber-dev.jsonl"
    if not path.is_file():
        print(f"{arguments.folder} holds no {path.name}", file=sys.stderr)
        return 2
    rows = _rows(path)
    data = Data([*rows, *everyday.rows()])
    figures: dict[str, Any] = {"questions": len(rows), **_cross_validated(data)}
    if arguments.train:
        target = Path(processors.understanding.__file__).with_name("weights.npz")
        with target.open("wb") as file:
            np.savez_compressed(file, allow_pickle=False, **data.fitted())
        built_in.cache_clear()
        figures["bytes"] = target.stat().st_size
    figures["seconds"] = round(time.perf_counter() - began, 1)
    print(json.dumps(figures, indent=2))
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=2))
    return 0


def _rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(json.loads(line)) for line in path.read_text().splitlines() if line.strip()]


class Data:
    """Questions as numbers, a row each: ``frame`` (PLACES columns) of 0 and 1, ``words`` (WORD_PLACES columns)
    of length 1, ``form`` (a column per measure)."""

    def __init__(self, rows: Sequence[dict[str, Any]]) -> None:
        texts = [row["question"] for row in rows]
        self.open = np.array([bool(row["require_clarification"]) for row in rows])
        self.everyday = np.array([row.get("everyday", False) for row in rows])
        self.kinds = [("everyday " if row.get("everyday") else "") + row["subclass"] for row in rows]
        self.reasons = [_REASONS.get(row["subclass"]) for row in rows]
        self.frame = np.zeros((len(rows), PLACES), dtype=np.float32)
        for n, text in enumerate(texts):
            self.frame[n, places(text)] = 1
        self.words = np.zeros((len(rows), WORD_PLACES), dtype=np.float32)
        for n, text in enumerate(texts):
            if found := word_places(text):
                self.words[n, found] = 1 / math.sqrt(len(found))
        raw = np.array([measures(text) for text in texts], dtype=np.float32)
        self.mean, self.deviation = raw.mean(axis=0), raw.std(axis=0) + np.float32(1e-6)
        self.form = (raw - self.mean) / self.deviation
        # In float64: the normal equations below are nearly singular.
        form, words = _MEASURE**2 * (self.form @ self.form.T), _WORDS**2 * (self.words @ self.words.T)
        self.kernel = (self.frame @ self.frame.T + form + words).astype(np.float64)

    def fitted(self) -> dict[str, Any]:
        """Return the arrays of a :class:`Clarity`; the heads of the reasons learn from open questions only."""
        frame, words, form, bias = [], [], [], []
        is_open = np.flatnonzero(self.open)
        for head in HEADS:
            of = np.arange(len(self.open)) if head == WHETHER else is_open
            wanted = self.open if head == WHETHER else np.array([reason == head for reason in self.reasons])
            dual, constant = fit(self.kernel[np.ix_(of, of)], wanted[of])
            frame.append(dual @ self.frame[of])
            words.append(_WORDS**2 * (dual @ self.words[of]))
            form.append(_MEASURE**2 * (dual @ self.form[of]))
            bias.append(constant)
        arrays = {"frame": frame, "words": words, "measures": form, "bias": bias}
        half = {name: np.array(array, dtype=np.float16) for name, array in arrays.items()}
        return {**half, "mean": self.mean, "deviation": self.deviation}


def fit(kernel: Array, wanted: NDArray[np.bool_]) -> tuple[Array, float]:
    """Fit a logistic regression, L2-regularized, in its dual form by Newton's method (Jaakkola, Haussler 1999).

    Returns the dual weights, one per row, and the constant.
    """
    count = len(wanted)
    dual, constant, target = np.zeros(count), 0.0, wanted.astype(np.float64)
    for _ in range(30):
        score = kernel @ dual + constant
        probability = 1 / (1 + np.exp(-score))
        weight = np.maximum(probability * (1 - probability), 1e-6)
        system = np.ones((count + 1, count + 1))
        system[:count, :count] = kernel + np.diag(1 / (_FREEDOM * weight))
        system[count, count] = 0
        solved = np.linalg.solve(system, np.append(score + (target - probability) / weight, 0))
        moved = float(np.abs(solved[:count] - dual).max())
        dual, constant = solved[:count], float(solved[count])
        if moved < 1e-5:
            break
    return dual, constant


def _cross_validated(data: Data) -> dict[str, Any]:
    scores, by_kind = [], {kind: [0, 0] for kind in sorted(set(data.kinds))}
    for seed in range(_SEEDS):
        order = np.random.default_rng(seed).permutation(len(data.open))
        said = np.zeros(len(data.open), dtype=bool)
        for part in range(_FOLDS):
            out = order[part::_FOLDS]
            rest = np.setdiff1d(order, out)
            dual, constant = fit(data.kernel[np.ix_(rest, rest)], data.open[rest])
            said[out] = data.kernel[np.ix_(out, rest)] @ dual + constant > 0
        others = ~data.everyday
        scores.append(macro_f1(data.open[others], said[others]))
        for kind, right in zip(data.kinds, data.open == said, strict=True):
            by_kind[kind][0] += int(right)
            by_kind[kind][1] += 1
    return {
        "macro_f1": round(float(np.mean(scores)), 4),
        "macro_f1_by_seed": [round(score, 4) for score in scores],
        "macro_f1_always_open": round(_always_open(data), 4),
        "right_by_kind": {kind: round(right / count, 3) for kind, (right, count) in by_kind.items()},
    }


def _always_open(data: Data) -> float:
    others = data.open[~data.everyday]
    return macro_f1(others, np.ones_like(others))


def macro_f1(wanted: NDArray[np.bool_], said: NDArray[np.bool_]) -> float:
    """Return the mean of the F1 of "open" and of "clear", 0 to 1."""
    each = []
    for value in (True, False):
        both = int(((wanted == value) & (said == value)).sum())
        each.append(2 * both / max(1, int((wanted == value).sum() + (said == value).sum())))
    return sum(each) / 2


if __name__ == "__main__":
    sys.exit(main())
