"""How the weights of the ranking, and those of whether anything answers, are chosen; leave one conversation
out.

The weights of a ranking are those of a softmax over each question's candidates: what rests on its evidence
shares the likelihood.  Sets count as :data:`COUNTS` says.  Whether anything answers is told by boosted
trees on the signs of all questions of sets that have unanswerable ones.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import GradientBoostingClassifier

import processors.recall
from benchmarks.quality.recall.sets import Asked
from processors.recall import answering, feature_weights
from processors.recall.answering import Trees
from processors.recall.features import FEATURES, GRAPH, Candidate, Feature, Seen, features
from processors.recall.question import Question
from processors.recall.ranking import Ranked, rank_seen
from processors.recall.signs import NAMES, signs

Floats = NDArray[np.float64]

#: How much all questions of a set count.
COUNTS = {"locomo": 1.0, "beam": 0.7, "carmem": 0.3, "prefeval": 0.2}
#: Whose weights are fitted; the weight of the graph is chosen.
FITTED = tuple(name for name in FEATURES if name != GRAPH)
#: How many parts of each set's conversations are left out, one after the other.
FOLDS = 10
_STEPS, _PENALTY = 150, 1e-3
_TREES, _DEPTH = 120, 3
_DIGITS = 4  # of what is written
_TREES_FILE = Path(processors.recall.__file__).with_name(answering.WEIGHTS)
_LEAST_SPREAD = 0.001


class Case(NamedTuple):
    """A question of a conversation (``group``) of a set, and what was found and is seen for it.

    ``turns``: the positions of turns among the candidates; ``right``: which of these hold evidence.
    """

    set: str
    group: str
    asked: Asked
    question: Question
    candidates: Sequence[Candidate]
    seen: Seen
    turns: Sequence[int]
    right: Sequence[int]


class Weights(NamedTuple):
    """What ranks: the weights of the features, and the trees that tell whether anything answers."""

    features: Mapping[str, Feature]
    trees: Trees


def shipped() -> Weights:
    """Return the weights of the package."""
    return Weights(FEATURES, answering.built_in())


def case(set_: str, group: str, asked: Asked, question: Question, candidates: Sequence[Candidate]) -> Case:
    """Return a case; facts are ranked like turns and teach nothing, they are too few."""
    turns = [at for at, each in enumerate(candidates) if each.index is not None]
    right = [n for n, at in enumerate(turns) if {*candidates[at].message_ids} & {*asked.evidence}]
    return Case(set_, group, asked, question, candidates, features(question, candidates), turns, right)


def ranked(each: Case, weights: Weights) -> list[Ranked]:
    """Rank a case with these weights, whatever the chance that anything answers."""
    if not each.candidates:
        return []
    return rank_seen(each.question, each.candidates, each.seen, 0.0, weights.features, weights.trees)


def left_out(cases: Sequence[Case]) -> Iterator[tuple[Case, list[Ranked]]]:
    """Rank each case with weights that were chosen without its conversation.

    Every tenth conversation of each set is left out at a time.
    """
    folds: dict[str, dict[str, int]] = defaultdict(dict)
    for each in cases:
        folds[each.set].setdefault(each.group, len(folds[each.set]) % FOLDS)
    for fold in range(FOLDS):
        out = [each for each in cases if folds[each.set][each.group] == fold]
        rest = [each for each in cases if folds[each.set][each.group] != fold]
        if out and rest:
            weights = fit(rest)
            yield from ((each, ranked(each, weights)) for each in out)


def fit(cases: Sequence[Case]) -> Weights:
    """Choose all weights on these questions; the same for the same questions in the same order."""
    chosen = _fit_features(cases)
    found, answered, sets = [], [], []
    tell = {each.set for each in cases if not each.asked.evidence}
    for each in cases:
        if not each.turns or each.set not in tell:
            continue
        seen = signs(each.question, each.candidates, each.seen, each.seen.parts(chosen))
        found.append([seen[name] for name in NAMES])
        answered.append(bool(each.asked.evidence))
        sets.append(each.set)
    trees = _fit_trees(np.array(found), np.array(answered), sets) if found else answering.built_in()
    return Weights(chosen, trees)


def _fit_features(cases: Sequence[Case]) -> dict[str, Feature]:
    columns = [name != GRAPH for name in FEATURES]
    used = [each for each in cases if each.right]
    values = [each.seen.values[each.turns][:, columns] for each in used]
    of_set = Counter(each.set for each in used)
    weights = np.array([COUNTS[each.set] / of_set[each.set] for each in used])
    mean = _average([each.mean(axis=0) for each in values], weights)
    spread = np.maximum(_average([each.std(axis=0) for each in values], weights), _LEAST_SPREAD)
    # what is not known adds nothing, here as in the ranking
    standard = [np.nan_to_num((each - mean) / spread) for each in values]
    rows = np.concatenate(standard)
    lengths = np.array([len(each) for each in values])
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    of = np.repeat(np.arange(len(used)), lengths)
    target = sum(
        weight * own[each.right].mean(axis=0) for each, own, weight in zip(used, standard, weights, strict=True)
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
    # as they are written: the trees are fitted to what ships
    table = np.round(np.stack([found, mean, spread], axis=1), _DIGITS).tolist()
    fitted = {name: Feature(*row) for name, row in zip(FITTED, table, strict=True)}
    return {name: fitted.get(name, feature) for name, feature in FEATURES.items()}


def _average(of_cases: Sequence[Floats], weights: Floats) -> Floats:
    """Return the weighted mean over cases of each feature, where it is known."""
    stacked = np.stack(of_cases)
    known = ~np.isnan(stacked)
    found: Floats = (np.where(known, stacked, 0.0) * weights[:, None]).sum(axis=0)
    found /= np.maximum((known * weights[:, None]).sum(axis=0), 1e-12)
    return found


def _fit_trees(rows: Floats, answered: NDArray[np.bool_], sets: Sequence[str]) -> Trees:
    """Boost trees; each set counts by its questions, and in it both kinds alike."""
    of, all_of = Counter(zip(sets, answered.tolist(), strict=True)), Counter(sets)
    weights = np.array([all_of[each[0]] / of[each] for each in zip(sets, answered.tolist(), strict=True)])
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


def written(weights: Weights) -> str:
    """Return the module that holds the weights of the ranking."""
    name = Path(feature_weights.__file__)
    head, _, _ = name.read_text(encoding="utf-8").partition("{\n")
    rows = "".join(
        f'    "{name}": ({", ".join(f"{value:.{_DIGITS}f}" for value in weights.features[name])}),\n'
        for name in FITTED
    )
    return f"{head}{{\n{rows}}}\n"


def save(weights: Weights) -> dict[Path, bool]:
    """Write the weights where the package has them; return the files, and whether each has changed."""
    module = Path(feature_weights.__file__)
    before = {path: path.read_bytes() for path in (module, _TREES_FILE)}
    module.write_text(written(weights), encoding="utf-8")
    with _TREES_FILE.open("wb") as file:
        np.savez_compressed(file, allow_pickle=False, **weights.trees._asdict())
    answering.built_in.cache_clear()
    return {path: path.read_bytes() != old for path, old in before.items()}
