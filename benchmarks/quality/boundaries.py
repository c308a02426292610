"""How well it is found where the topic of a conversation changes.

``python -m benchmarks.quality.boundaries FOLDER [--fit] [--json FILE] [--limit N]``.

Dialogues whose boundaries people marked (``tiage-train.jsonl``, ``tiage-validation.jsonl``,
``dialseg711-dev.jsonl``, ``superseg-validation.jsonl``) are read turn by turn, as the service reads them.
Printed for each set and contender:

*F1* of the boundaries, over all turns but the first; *Pk* and *WD* (WindowDiff), the shares of windows of
half a mean segment whose ends are judged wrongly, per dialogue, less is better; and the *score* (2 F1 + (1 -
Pk) + (1 - WD)) / 4, by which such methods are compared (SuperDialseg, EMNLP 2023).

Contenders: boundaries evenly spaced at the set's mean length; TextTiling (words, whole dialogue); a valley of
the cosine (vectors, online); the built-in weights, which have seen these very dialogues; the same model
fitted five times on four fifths of all sets and asked about the fifth (*cross-validated*); and fitted on the
other sets only (*unseen set*).  The last two are what to believe.  ``--fit`` writes the weights of all
dialogues into ``processors/conversations/episodes/boundary_weights.py``.  Exits 2 without the files.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.quality.segmented import Dialogue, Floats, Labels, around, measured, prepared, read
from processors.conversations.episodes import boundaries, boundary_weights
from processors.conversations.episodes.boundaries import FEATURES
from streams.llm.onnx_embedder import OnnxEmbedder

#: Sets that are fitted and judged, by the family that is left out together.
FILES = {
    "tiage-train": "tiage",
    "tiage-validation": "tiage",
    "dialseg711-dev": "dialseg711",
    "superseg-validation": "superseg",
}
#: How much a set matters to the fit, whatever its size; what is aimed at.
SHARES = {"tiage-train": 1.5, "tiage-validation": 0.5, "dialseg711-dev": 1.0, "superseg-validation": 0.5}
AIMS = {"tiage": 0.50, "dialseg711": 0.62}
FOLDS, RIDGE, STEPS = 5, 1.0, 8
WEIGHTS_FILE = Path(boundary_weights.__file__)


class Model(NamedTuple):
    """Weights of the features, without scaling, and the bias."""

    weights: Floats
    bias: float

    def probabilities(self, rows: Floats) -> Floats:
        """Return the probability of a boundary for each row."""
        odds = np.clip(rows @ self.weights + self.bias, -60, 60)
        return np.asarray(1 / (1 + np.exp(-odds)))


# -- contenders -----------------------------------------------------------------------------------------------


def evenly(dialogues: Sequence[Dialogue]) -> list[Labels]:
    """Boundaries at the mean distance of the set."""
    segments = sum(int(each.labels.sum()) + 1 for each in dialogues)
    length = max(1, round(sum(len(each.labels) for each in dialogues) / segments))
    return [np.array([int(n > 0 and n % length == 0) for n in range(len(each.labels))]) for each in dialogues]


def text_tiling(dialogues: Sequence[Dialogue], block: int = 3) -> list[Labels]:
    """Hearst's: where words of the turns before and after differ most, by depth below the peaks around."""
    return [_tiled([frozenset(each.stems) for each in dialogue.traits], block) for dialogue in dialogues]


def _tiled(stems: list[frozenset[str]], block: int) -> Labels:
    gaps = []
    for at in range(1, len(stems)):
        left = frozenset[str]().union(*stems[max(0, at - block) : at])
        right = frozenset[str]().union(*stems[at : at + block])
        gaps.append(len(left & right) / max(1.0, (len(left) * len(right)) ** 0.5))
    depth = np.array([max(gaps[: n + 1]) + max(gaps[n:]) - 2 * gap for n, gap in enumerate(gaps)])
    labels = np.zeros(len(stems), int)
    if len(depth):
        labels[1:] = (depth > depth.mean() + depth.std() / 2).astype(int)
    return labels


def cosine_valley(dialogues: Sequence[Dialogue]) -> list[Labels]:
    """Where two turns are less like the two before than half a deviation below the conversation so far."""
    column = FEATURES.index("pair.latest")
    found = []
    for dialogue in dialogues:
        cosines, labels = dialogue.rows[:, column], np.zeros(len(dialogue.labels), int)
        for n in range(2, len(cosines)):
            so_far = cosines[:n]
            labels[n + 1] = cosines[n] < so_far.mean() - so_far.std() / 2
        found.append(labels)
    return found


def built_in(dialogues: Sequence[Dialogue]) -> list[Labels]:
    """As the service decides."""
    found = []
    for dialogue in dialogues:
        turns = range(1, len(dialogue.labels))
        found.append(_spaced([boundaries.is_boundary(*around(dialogue.traits, at)) for at in turns]))
    return found


def _spaced(boundary: Sequence[bool]) -> Labels:
    """Return the labels of turns before which (the second one first) there may be a boundary."""
    labels, last = [0], 0
    for at, found in enumerate(boundary, 1):
        labels.append(int(found and at - last >= boundaries.SHORTEST))
        last = at if labels[-1] else last
    return np.array(labels)


def fitted(rows: Floats, labels: Floats, shares: Floats) -> Model:
    """Return a logistic regression with a ridge penalty (iteratively reweighted least squares)."""
    mean, spread = rows.mean(0), rows.std(0) + 1e-9
    scaled = np.c_[(rows - mean) / spread, np.ones(len(rows))]
    penalty = np.eye(scaled.shape[1]) * RIDGE
    penalty[-1, -1] = 0
    beta = np.zeros(scaled.shape[1])
    for _ in range(STEPS):
        chance = 1 / (1 + np.exp(-scaled @ beta))
        slope = scaled.T @ (shares * (labels - chance)) - penalty @ beta
        curve = (scaled * (shares * chance * (1 - chance))[:, None]).T @ scaled + penalty
        beta += np.linalg.solve(curve, slope)
    weights = beta[:-1] / spread
    return Model(weights, float(beta[-1] - weights @ mean))


def fit(sets: dict[str, list[Dialogue]], keep: Callable[[str, int], bool]) -> Model:
    """Return the model of those dialogues (by set and number) that ``keep`` keeps."""
    rows, labels, shares = [], [], []
    for name, dialogues in sets.items():
        kept = [each for n, each in enumerate(dialogues) if keep(name, n)]
        if not kept:
            continue
        rows.append(np.concatenate([each.rows for each in kept]))
        labels.append(np.concatenate([each.labels[1:] for each in kept]).astype(float))
        shares.append(np.full(len(labels[-1]), SHARES[name] * 10_000 / len(labels[-1])))
    return fitted(np.concatenate(rows), np.concatenate(labels), np.concatenate(shares))


def decided(model: Model, dialogue: Dialogue) -> Labels:
    """Return where a model finds boundaries."""
    return _spaced(
        [bool(chance >= boundary_weights.THRESHOLD) for chance in model.probabilities(dialogue.rows)]
    )


def cross_validated(sets: dict[str, list[Dialogue]]) -> dict[str, list[Labels]]:
    """Each dialogue as judged by a model that was fitted without it."""

    def without(fold: int) -> Model:
        return fit(sets, lambda _, number: number % FOLDS != fold)

    models = [without(fold) for fold in range(FOLDS)]
    return {
        name: [decided(models[n % FOLDS], each) for n, each in enumerate(dialogues)]
        for name, dialogues in sets.items()
    }


def unseen(sets: dict[str, list[Dialogue]]) -> dict[str, list[Labels]]:
    """Each set as judged by a model that was fitted on the others."""

    def without(family: str) -> Model:
        return fit(sets, lambda other, _: FILES[other] != family)

    families = {FILES[name] for name in sets}
    if len(families) == 1:
        return {}
    models = {family: without(family) for family in families}
    return {name: [decided(models[FILES[name]], each) for each in some] for name, some in sets.items()}


# -- the whole ------------------------------------------------------------------------------------------------


def write_weights(model: Model) -> None:
    """Write the weights as a table in code."""
    head, _, _ = WEIGHTS_FILE.read_text(encoding="utf-8").partition("BIAS = ")
    table = "".join(
        f'    "{name}": {weight:.4f},\n' for name, weight in zip(FEATURES, model.weights, strict=True)
    )
    WEIGHTS_FILE.write_text(
        f"{head}BIAS = {model.bias:.4f}\n\nWEIGHTS: dict[str, float] = {{\n{table}}}\n", encoding="utf-8"
    )


def judge(sets: dict[str, list[Dialogue]]) -> dict[str, dict[str, dict[str, float]]]:
    """Return the measures by set and contender."""
    validated, others = cross_validated(sets), unseen(sets)
    figures: dict[str, dict[str, dict[str, float]]] = {}
    for name, dialogues in sets.items():
        begun = time.perf_counter()
        ours = built_in(dialogues)
        each_turn = (time.perf_counter() - begun) / sum(len(labels) for labels in ours)
        found = {
            "evenly spaced": evenly(dialogues),
            "TextTiling": text_tiling(dialogues),
            "cosine valley": cosine_valley(dialogues),
            "unseen set": others.get(name, []),
            "cross-validated": validated[name],
            "built-in weights": ours,
        }
        figures[name] = {who: measured(dialogues, labels) for who, labels in found.items() if labels}
        figures[name]["built-in weights"]["seconds per turn"] = each_turn
    return figures


def render(figures: dict[str, dict[str, dict[str, float]]]) -> str:
    """Return the table."""
    lines = [f"{'set':<22}{'contender':<20}{'F1':>7}{'Pk':>7}{'WD':>7}{'score':>7}  aim"]
    for name, contenders in figures.items():
        aim = AIMS.get(FILES[name])
        for who, figure in contenders.items():
            said = ""
            if aim is not None:
                said = f"  {aim:.2f} {'reached' if figure['score'] >= aim else 'NOT reached'}"
            numbers = "".join(f"{figure[key]:>7.3f}" for key in ("f1", "pk", "wd", "score"))
            lines.append(f"{name:<22}{who:<20}{numbers}{said}")
    return "\n".join(lines)


async def load(folder: Path, limit: int) -> dict[str, list[Dialogue]]:
    """Return the sets that the folder has."""
    embedder = OnnxEmbedder()
    try:
        return {
            name: await prepared(read(folder / f"{name}.jsonl", limit), embedder)
            for name in FILES
            if (folder / f"{name}.jsonl").exists()
        }
    finally:
        await embedder.close()


def main() -> int:
    """Measure, and fit if that is asked for; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality.boundaries", description=__doc__)
    parser.add_argument("folder", type=Path, help="where the sets lie")
    parser.add_argument("--fit", action="store_true", help="write the weights first")
    parser.add_argument("--limit", type=int, default=0, help="dialogues of each set (default: all)")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    arguments = parser.parse_args()
    begun = time.perf_counter()
    sets = asyncio.run(load(arguments.folder, arguments.limit))
    if not sets:
        names = ", ".join(f"{name}.jsonl" for name in FILES)
        print(f"{arguments.folder} has none of {names}: give the folder that has them", file=sys.stderr)
        return 2
    if arguments.fit:
        write_weights(fit(sets, lambda _name, _number: True))
        print(f"wrote {WEIGHTS_FILE}: run again without --fit to judge it")
        return 0
    figures: dict[str, Any] = judge(sets)
    print(render(figures))
    seconds = time.perf_counter() - begun
    decision = max(each["built-in weights"]["seconds per turn"] for each in figures.values())
    print(f"{seconds:.0f} s in all; a decision takes {decision * 1e6:.0f} µs")
    if arguments.json:
        arguments.json.write_text(json.dumps({"sets": figures, "seconds": seconds}, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
