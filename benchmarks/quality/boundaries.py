"""How well it is found where the topic of a conversation changes.

``python -m benchmarks.quality.boundaries [FOLDER] [--fit] [--json FILE] [--limit N]``.

The weights are fitted (``--fit``) to pieces of the project's own chats, joined: ``chats.jsonl`` of the
Notebook.  They are judged on pieces of ``chats_unseen.jsonl`` and, as guards, on the public sets that FOLDER
has (``tiage-validation``, ``dialseg711-dev``, ``superseg-validation``): nothing is fitted to these.
Turns are read one by one, as the service reads them.  Printed for each set and contender:

*F1* of the boundaries, over all turns but the first; *Pk* and *WD* (WindowDiff), the shares of windows of
half a mean segment whose ends are judged wrongly, per dialogue, less is better; and the *score* (2 F1 + (1 -
Pk) + (1 - WD)) / 4, by which such methods are compared (SuperDialseg, EMNLP 2023).

Contenders: boundaries evenly spaced at the set's mean length; TextTiling (words, whole dialogue); a valley of
the cosine (vectors, online); and the built-in weights.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.notebook.labels import HERE
from benchmarks.quality.segmented import Dialogue, Floats, Labels, around, joined, measured, prepared, read
from processors.conversations.episodes import boundaries, boundary_weights
from processors.conversations.episodes.boundaries import FEATURES
from streams.llm.onnx_embedder import OnnxEmbedder

#: Public sets that are judged, and nothing else.
PUBLIC = ("tiage-validation", "dialseg711-dev", "superseg-validation")
#: How the pieces of chats are drawn.
SEED = 20_261_128
RIDGE, STEPS = 1.0, 8
WEIGHTS_FILE = Path(boundary_weights.__file__)


class Model(NamedTuple):
    """Weights of the features, without scaling, and the bias."""

    weights: Floats
    bias: float


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


def fit(dialogues: Sequence[Dialogue]) -> Model:
    """Return a logistic regression with a ridge penalty (iteratively reweighted least squares)."""
    rows = np.concatenate([each.rows for each in dialogues])
    labels = np.concatenate([each.labels[1:] for each in dialogues]).astype(float)
    mean, spread = rows.mean(0), rows.std(0) + 1e-9
    scaled = np.c_[(rows - mean) / spread, np.ones(len(rows))]
    penalty = np.eye(scaled.shape[1]) * RIDGE
    penalty[-1, -1] = 0
    beta = np.zeros(scaled.shape[1])
    for _ in range(STEPS):
        chance = 1 / (1 + np.exp(-scaled @ beta))
        slope = scaled.T @ (labels - chance) - penalty @ beta
        curve = (scaled * (chance * (1 - chance))[:, None]).T @ scaled + penalty
        beta += np.linalg.solve(curve, slope)
    weights = beta[:-1] / spread
    return Model(weights, float(beta[-1] - weights @ mean))


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
    figures: dict[str, dict[str, dict[str, float]]] = {}
    for name, dialogues in sets.items():
        begun = time.perf_counter()
        ours = built_in(dialogues)
        each_turn = (time.perf_counter() - begun) / sum(len(labels) for labels in ours)
        found = {
            "evenly spaced": evenly(dialogues),
            "TextTiling": text_tiling(dialogues),
            "cosine valley": cosine_valley(dialogues),
            "built-in weights": ours,
        }
        figures[name] = {who: measured(dialogues, labels) for who, labels in found.items() if labels}
        figures[name]["built-in weights"]["seconds per turn"] = each_turn
    return figures


def render(figures: dict[str, dict[str, dict[str, float]]]) -> str:
    """Return the table."""
    lines = [f"{'set':<22}{'contender':<20}{'F1':>7}{'Pk':>7}{'WD':>7}{'score':>7}"]
    for name, contenders in figures.items():
        for who, figure in contenders.items():
            numbers = "".join(f"{figure[key]:>7.3f}" for key in ("f1", "pk", "wd", "score"))
            lines.append(f"{name:<22}{who:<20}{numbers}")
    return "\n".join(lines)


async def load(folder: Path | None, limit: int, *, is_fit: bool) -> dict[str, list[Dialogue]]:
    """Return the sets: our own chats, joined, to fit; or those to judge by."""
    own = "chats" if is_fit else "chats_unseen"
    turns = {own: joined(HERE / f"{own}.jsonl", SEED)}
    for name in PUBLIC if folder is not None and not is_fit else ():
        assert folder is not None
        if (folder / f"{name}.jsonl").exists():
            turns[name] = read(folder / f"{name}.jsonl", limit)
    embedder = OnnxEmbedder()
    try:
        return {name: await prepared(dialogues, embedder) for name, dialogues in turns.items()}
    finally:
        await embedder.close()


def main() -> int:
    """Measure, and fit if that is asked for; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality.boundaries", description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", help="where the public sets lie")
    parser.add_argument("--fit", action="store_true", help="write the weights first")
    parser.add_argument("--limit", type=int, default=0, help="dialogues of each public set (default: all)")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    arguments = parser.parse_args()
    begun = time.perf_counter()
    sets = asyncio.run(load(arguments.folder, arguments.limit, is_fit=arguments.fit))
    if arguments.fit:
        write_weights(fit(sets["chats"]))
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
