"""How the weights of the ranking, and those of whether anything answers, are chosen; leave one conversation
out.

The weights of a ranking are those of a softmax over each question's candidates: what rests on its evidence
shares the likelihood.  Sets count as :data:`COUNTS` says.  Whether anything answers is told by boosted
trees on the signs of all questions of sets that have unanswerable ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import GradientBoostingClassifier

import processors.recall
from benchmarks.quality.recall.sets import Asked
from processors.recall import answering, ranking
from processors.recall.answering import Trees
from processors.recall.features import FEATURES, Feature, Seen, features
from processors.recall.signs import NAMES, signs
from streams.search.memory import Gathered

Floats = NDArray[np.float64]

#: How much all questions of a set count.
COUNTS = {"locomo": 1.0, "beam": 0.7, "carmem": 0.3, "prefeval": 0.2}
#: Whose weights are fitted; the weight of the graph is chosen, and does not tell whether anything answers.
FITTED = tuple(name for name in FEATURES if name != ranking.GRAPH)
_STEPS, _PENALTY = 150, 1e-3
_TREES, _DEPTH = 120, 3


class Case(NamedTuple):
    """A question of a conversation (``group``) of a set, and what was gathered for it."""

    set: str
    group: str
    asked: Asked
    gathered: Gathered
    seen: list[Seen]
    values: Floats  # (turns, fitted features)
    right: list[int]  # positions of turns among the evidence


class Weights(NamedTuple):
    """What is put in the place of ``FEATURES`` and the trees of the package."""

    features: Mapping[str, Feature]
    trees: Trees


def case(set_: str, group: str, asked: Asked, gathered: Gathered) -> Case:
    """Return a case; facts are ranked like turns and teach nothing, they are too few."""
    seen = features(gathered.question, gathered.candidates)
    values = np.array([[each.values[name] for name in FITTED] for each in seen])
    turns = [at for at, each in enumerate(gathered.candidates) if each.index is not None]
    right = [n for n, at in enumerate(turns) if {*gathered.candidates[at].message_ids} & {*asked.evidence}]
    taught = values[turns] if turns else np.empty((0, len(FITTED)))
    return Case(set_, group, asked, gathered, seen, taught, right)


def fit(cases: Sequence[Case]) -> Weights:
    """Choose all weights on these questions."""
    chosen = _fit_features(cases)
    found, answered, sets = [], [], []
    tell = {each.set for each in cases if not each.asked.evidence}
    for each in cases:
        if not len(each.values) or each.set not in tell:
            continue
        parts = [{name: chosen[name].part(one.values[name]) for name in FITTED} for one in each.seen]
        seen = signs(each.gathered.question, each.gathered.candidates, each.seen, parts)
        found.append([seen[name] for name in NAMES])
        answered.append(bool(each.asked.evidence))
        sets.append(each.set)
    trees = _fit_trees(np.array(found), np.array(answered), sets) if found else answering.built_in()
    return Weights(chosen, trees)


def _fit_features(cases: Sequence[Case]) -> dict[str, Feature]:
    used = [each for each in cases if each.right]
    of_set = Counter(each.set for each in used)
    weights = np.array([COUNTS[each.set] / of_set[each.set] for each in used])
    mean = np.average([each.values.mean(axis=0) for each in used], axis=0, weights=weights)
    spread = np.average([each.values.std(axis=0) for each in used], axis=0, weights=weights) + 1e-6
    rows = np.concatenate([(each.values - mean) / spread for each in used])
    lengths = np.array([len(each.values) for each in used])
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    of = np.repeat(np.arange(len(used)), lengths)
    target = sum(
        weight * ((each.values[each.right] - mean) / spread).mean(axis=0)
        for each, weight in zip(used, weights, strict=True)
    )
    found = np.full(len(FITTED), 0.2)
    first, second = np.zeros_like(found), np.zeros_like(found)
    for step in range(1, _STEPS + 1):  # Adam
        scores = rows @ found
        scores = np.exp(scores - np.maximum.reduceat(scores, starts)[of])
        scores /= np.add.reduceat(scores, starts)[of]
        slope = (rows * (scores * weights[of])[:, None]).sum(axis=0) - target
        slope = slope / weights.sum() + _PENALTY * found
        first, second = 0.9 * first + 0.1 * slope, 0.99 * second + 0.01 * slope**2
        found = found - 0.05 * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.99**step)) + 1e-8)
    fitted = _features(FITTED, found, mean, spread)
    return {name: fitted.get(name, feature) for name, feature in FEATURES.items()}


def _fit_trees(rows: Floats, answered: NDArray[np.bool_], sets: Sequence[str]) -> Trees:
    """Boost trees; each set counts alike, and in it both kinds of questions."""
    of = Counter(zip(sets, answered.tolist(), strict=True))
    weights = np.array([1.0 / of[each] for each in zip(sets, answered.tolist(), strict=True)])
    fitted = GradientBoostingClassifier(
        n_estimators=_TREES,
        max_depth=_DEPTH,
        learning_rate=0.05,
        subsample=0.6,
        min_samples_leaf=10,
        random_state=0,
    ).fit(rows, answered, sample_weight=weights * len(weights) / weights.sum())
    inner = 2**_DEPTH - 1
    sign = np.zeros((_TREES, inner), dtype=np.int16)
    split = np.full((_TREES, inner), np.inf, dtype=np.float32)
    leaf = np.zeros((_TREES, inner + 1), dtype=np.float32)
    for number, (each,) in enumerate(fitted.estimators_):
        grown, places = each.tree_, [(0, 0)]
        while places:
            node, place = places.pop()
            ends = grown.children_left[node] < 0
            if place >= inner:
                leaf[number, place - inner] = fitted.learning_rate * grown.value[node, 0, 0]
                continue
            if not ends:
                sign[number, place], split[number, place] = grown.feature[node], grown.threshold[node]
            left, right = (node, node) if ends else (grown.children_left[node], grown.children_right[node])
            places += [(left, 2 * place + 1), (right, 2 * place + 2)]
    start = fitted.decision_function(rows[:1])[0] - Trees(sign, split, leaf, 0.0).odds(
        dict(zip(NAMES, rows[0].tolist(), strict=True))
    )
    return Trees(sign, split, leaf, float(start))


def _features(names: Iterable[str], weights: Floats, mean: Floats, spread: Floats) -> dict[str, Feature]:
    rows = zip(weights.tolist(), mean.tolist(), spread.tolist(), strict=True)
    return {name: Feature(*row) for name, row in zip(names, rows, strict=True)}


@contextmanager
def in_place(weights: Weights) -> Iterator[None]:
    """Rank with other weights for a while."""
    places = ((ranking, "FEATURES", weights.features), (answering, "built_in", lambda: weights.trees))
    before = [getattr(module, name) for module, name, _ in places]
    try:
        for module, name, value in places:
            setattr(module, name, value)
        yield
    finally:
        for (module, name, _), value in zip(places, before, strict=True):
            setattr(module, name, value)


def written(weights: Weights) -> str:
    """Return the weights of the ranking as they stand in :mod:`processors.recall.features`."""
    return "\n".join(
        f'    "{name}": Feature({each.weight:.3f}, {each.mean:.3f}, {each.spread:.3f}),'
        for name, each in weights.features.items()
    )


def save(weights: Weights) -> Path:
    """Write the trees where the package has them."""
    target = Path(processors.recall.__file__).with_name(answering.WEIGHTS)
    with target.open("wb") as file:
        np.savez_compressed(file, allow_pickle=False, **weights.trees._asdict())
    answering.built_in.cache_clear()
    return target
