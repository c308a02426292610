"""How the weights of the ranking, and those of whether anything answers, are chosen; leave one conversation
out.

The weights of a ranking are those of a softmax over each question's candidates: what rests on its evidence
shares the likelihood.  Both sets count alike but for :data:`BEAM_COUNTS`.  Whether anything answers is a
logistic regression on the signs of all questions, the answerable and the others with the same weight in total.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.quality.recall.sets import Asked
from processors.recall import answering, ranking
from processors.recall.answering import SIGNS, signs
from processors.recall.features import FEATURES, Feature, Seen, features
from streams.search.memory import Gathered

Floats = NDArray[np.float64]

#: How much all questions of BEAM count, of those of LoCoMo.
BEAM_COUNTS = 0.7
_STEPS, _PENALTY = 150, 1e-3


class Case(NamedTuple):
    """A question of a conversation (``group``) of a set, and what was gathered for it."""

    set: str
    group: str
    asked: Asked
    gathered: Gathered
    seen: list[Seen]
    values: Floats  # (turns, features)
    right: list[int]  # positions of turns among the evidence


class Weights(NamedTuple):
    """What is put in the place of ``FEATURES``, ``SIGNS`` and ``BIAS``."""

    features: Mapping[str, Feature]
    signs: Mapping[str, Feature]
    bias: float


def case(set_: str, group: str, asked: Asked, gathered: Gathered) -> Case:
    """Return a case; facts are ranked like turns and teach nothing, they are too few."""
    seen = features(gathered.question, gathered.candidates)
    values = np.array([[each.values[name] for name in FEATURES] for each in seen])
    turns = [at for at, each in enumerate(gathered.candidates) if each.index is not None]
    right = [n for n, at in enumerate(turns) if {*gathered.candidates[at].message_ids} & {*asked.evidence}]
    taught = values[turns] if turns else np.empty((0, len(FEATURES)))
    return Case(set_, group, asked, gathered, seen, taught, right)


def fit(cases: Sequence[Case]) -> Weights:
    """Choose all weights on these questions."""
    chosen = _fit_features(cases)
    found, answered = [], []
    for each in cases:
        if not len(each.values):
            continue
        parts = [{name: chosen[name].part(value) for name, value in one.values.items()} for one in each.seen]
        seen = signs(each.gathered.question, each.gathered.candidates, each.seen, parts)
        found.append([seen[name] for name in SIGNS])
        answered.append(bool(each.asked.evidence))
    logit, mean, spread, bias = _fit_logistic(np.array(found), np.array(answered))
    return Weights(chosen, _features(SIGNS, logit, mean, spread), bias)


def _fit_features(cases: Sequence[Case]) -> dict[str, Feature]:
    used = [each for each in cases if each.right]
    beam = sum(each.set == "beam" for each in used)
    of_beam = BEAM_COUNTS * (len(used) - beam) / beam if beam and beam < len(used) else 1.0
    weights = np.array([of_beam if each.set == "beam" else 1.0 for each in used])
    mean = np.mean([each.values.mean(axis=0) for each in used], axis=0)
    spread = np.mean([each.values.std(axis=0) for each in used], axis=0) + 1e-6
    rows = np.concatenate([(each.values - mean) / spread for each in used])
    lengths = np.array([len(each.values) for each in used])
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    of = np.repeat(np.arange(len(used)), lengths)
    target = sum(
        weight * ((each.values[each.right] - mean) / spread).mean(axis=0)
        for each, weight in zip(used, weights, strict=True)
    )
    found = np.full(len(FEATURES), 0.2)
    first, second = np.zeros_like(found), np.zeros_like(found)
    for step in range(1, _STEPS + 1):  # Adam
        scores = rows @ found
        scores = np.exp(scores - np.maximum.reduceat(scores, starts)[of])
        scores /= np.add.reduceat(scores, starts)[of]
        slope = (rows * (scores * weights[of])[:, None]).sum(axis=0) - target
        slope = slope / weights.sum() + _PENALTY * found
        first, second = 0.9 * first + 0.1 * slope, 0.99 * second + 0.01 * slope**2
        found = found - 0.05 * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.99**step)) + 1e-8)
    return _features(FEATURES, found, mean, spread)


def _fit_logistic(rows: Floats, answered: NDArray[np.bool_]) -> tuple[Floats, Floats, Floats, float]:
    mean, spread = rows.mean(axis=0), rows.std(axis=0) + 1e-9
    standard = np.c_[(rows - mean) / spread, np.ones(len(rows))]
    share = answered.mean()
    weights = np.where(answered, 0.5 / share, 0.5 / (1 - share))
    found = np.zeros(standard.shape[1])
    for _ in range(30):  # Newton
        chance = 1 / (1 + np.exp(-standard @ found))
        slope = standard.T @ (weights * (chance - answered)) + found
        bend = (standard * (weights * chance * (1 - chance))[:, None]).T @ standard + np.eye(len(found))
        found -= np.linalg.solve(bend, slope)
    return found[:-1], mean, spread, float(found[-1])


def _features(
    names: Mapping[str, Feature], weights: Floats, mean: Floats, spread: Floats
) -> dict[str, Feature]:
    rows = zip(weights.tolist(), mean.tolist(), spread.tolist(), strict=True)
    return {name: Feature(*row) for name, row in zip(names, rows, strict=True)}


@contextmanager
def in_place(weights: Weights) -> Iterator[None]:
    """Rank with other weights for a while."""
    places = ((ranking, "FEATURES"), (answering, "SIGNS"), (answering, "BIAS"))
    before = [getattr(module, name) for module, name in places]
    try:
        for (module, name), value in zip(places, weights, strict=True):
            setattr(module, name, value)
        yield
    finally:
        for (module, name), value in zip(places, before, strict=True):
            setattr(module, name, value)


def written(weights: Weights) -> str:
    """Return the weights as they stand in :mod:`processors.recall`."""
    lines = []
    for title, found in (("FEATURES", weights.features), ("SIGNS", weights.signs)):
        lines.append(f"{title}:")
        lines += [
            f'    "{name}": Feature({each.weight:.3f}, {each.mean:.3f}, {each.spread:.3f}),'
            for name, each in found.items()
        ]
    return "\n".join([*lines, f"BIAS = {weights.bias:.3f}"])
