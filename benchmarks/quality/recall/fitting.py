"""Fits the weights of the ranking to made-up people.

``python -m benchmarks.quality.recall.fitting PEOPLE [--test OTHERS] [--write]``.  PEOPLE and OTHERS are folders
of people (``benchmarks/notebook``); only PEOPLE are fitted to.  Prints which share of their questions is
answered among the first five results, each person with weights that were fitted without them, that share
without each feature, and how many questions without an answer come back empty.  ``--write``: writes the
weights where the package has them.
"""

from __future__ import annotations

import argparse
import asyncio
import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize  # type: ignore[import-untyped]

from benchmarks.notebook.labels import people
from benchmarks.quality.recall.people import Asked, Person, questions, remembered
from models.ports import Embedder
from processors.recall import weights as shipped
from processors.recall.answering import best_sum
from processors.recall.features import FEATURES, GRAPH, Candidate, Feature, Seen, features
from processors.recall.question import cleaned, read
from processors.recall.ranking import rank_seen

Floats = NDArray[np.float64]

#: Whose weights are fitted; the weight of the graph is chosen.
FITTED = tuple(name for name in FEATURES if name != GRAPH)
RESULTS, FOLDS = 5, 9
#: Of answered questions, so many may come back empty.
_LOST = 0.02
#: Only messages of the person are evidence here, so a fit makes too much of who speaks; with this share of
#: its weight no question is lost.
_SPEAKER = 0.6
_FLOOR_ODDS = float(np.log(0.3 / 0.7))
_PENALTY, _LEAST_SPREAD, _LEAST_SLOPE, _DIGITS = 1.0, 0.001, 0.01, 4


class Case(NamedTuple):
    """A question of a person, what may answer it with its features, and which of these rest on the evidence."""

    person: str
    asked: Asked
    candidates: Sequence[Candidate]
    seen: Seen
    right: NDArray[np.bool_]

    @property
    def has_answer(self) -> bool:
        """Whether anything answers."""
        return bool(self.asked.evidence or self.asked.terms)


async def cases(of: Sequence[Person], embedder: Embedder) -> list[Case]:
    """Return the cases of all questions."""
    found = []
    for person in of:
        memory = remembered(person)
        vectors = np.asarray(await embedder.embed([each.text for each in memory]))
        for asked in questions(person):
            question = read(cleaned(asked.query))
            (vector,) = await embedder.embed([question.text])
            near = (vectors @ np.asarray(vector)).tolist()
            made = [msgspec.structs.replace(each, cosine=cos) for each, cos in zip(memory, near, strict=True)]
            right = np.array([bool(asked.evidence.intersection(each.message_ids)) for each in made])
            found.append(Case(person["person"], asked, made, features(question, made), right))
    return found


def fit(cases_: Sequence[Case], names: Sequence[str] = FITTED) -> dict[str, Feature]:
    """Return the weights of a softmax over each question's candidates; a feature that is not named counts 0."""
    columns = [[*FEATURES].index(name) for name in names]
    used = [each for each in cases_ if each.right.any()]
    rows = np.concatenate([each.seen.values[:, columns] for each in used])
    mean, spread = np.nanmean(rows, axis=0), np.maximum(np.nanstd(rows, axis=0), _LEAST_SPREAD)
    rows = np.nan_to_num((rows - mean) / spread)
    right = np.concatenate([each.right for each in used]).astype(float)
    lengths = np.array([len(each.right) for each in used])
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])

    def loss(weights: Floats) -> tuple[float, Floats]:
        sums = rows @ weights
        odds = np.exp(sums - np.repeat(np.maximum.reduceat(sums, starts), lengths))
        whole, good = np.add.reduceat(odds, starts), np.add.reduceat(odds * right, starts)
        slope = rows.T @ (odds / np.repeat(whole, lengths) - odds * right / np.repeat(good, lengths))
        return float(_PENALTY / 2 * weights @ weights - np.log(good / whole).sum()), slope + _PENALTY * weights

    found = minimize(loss, np.zeros(len(names)), jac=True, method="L-BFGS-B").x
    found = found * [_SPEAKER if name == "speaker" else 1.0 for name in names]
    table = np.round(np.stack([found, mean, spread], axis=1), _DIGITS).tolist()
    fitted = {name: Feature(*row) for name, row in zip(names, table, strict=True)}
    return {name: fitted.get(name, Feature(0.0, 0.0, 1.0)) for name in FITTED} | {GRAPH: FEATURES[GRAPH]}


def answered(case: Case, weights: Mapping[str, Feature]) -> bool:
    """Whether the first results answer."""
    ranked = rank_seen(case.candidates, case.seen, 0.0, weights)[:RESULTS]
    return case.asked.is_answered_by([case.candidates[each.position] for each in ranked])


class Measured(NamedTuple):
    """Of each case, whether it has an answer, whether the first results have it, and the best sum of parts."""

    has_answer: NDArray[np.bool_]
    found: NDArray[np.bool_]
    best: Floats


def left_out(cases_: Sequence[Case], names: Sequence[str] = FITTED) -> Measured:
    """Measure each person with weights that were fitted without them, every ninth left out at a time."""
    everybody = sorted({each.person for each in cases_})
    rows = []
    for fold in range(min(FOLDS, len(everybody))):
        out = {*everybody[fold::FOLDS]}
        weights = fit([each for each in cases_ if each.person not in out], names)
        rows += [
            (each.has_answer, answered(each, weights), best_sum(each.seen.parts(weights)))
            for each in cases_
            if each.person in out
        ]
    has, found, best = zip(*rows, strict=True)
    return Measured(np.array(has), np.array(found), np.array(best))


def chance(of: Measured) -> tuple[float, float]:
    """Return slope and start of the odds that something answers: two in a hundred answers are below the
    floor."""
    slope, start = 0.5, 0.0

    def loss(pair: Floats) -> float:
        odds = pair[0] * of.best + pair[1]
        return float(np.logaddexp(0, np.where(of.has_answer, -odds, odds)).sum())

    slope, start = minimize(loss, np.array([slope, start])).x
    good = np.sort(of.best[of.has_answer & of.found])
    threshold = good[int(_LOST * of.has_answer.sum())]
    slope = round(max(float(slope), _LEAST_SLOPE), _DIGITS)
    digits = 10.0**_DIGITS  # rounded up: rounded down, the threshold itself would be below the floor
    return slope, math.ceil((_FLOOR_ODDS - slope * threshold) * digits) / digits


def share(of: Measured) -> float:
    """Return the share of questions that the first results answer."""
    return float(of.found[of.has_answer].mean())


def floor(of: Measured, odds: tuple[float, float]) -> tuple[float, float]:
    """Return the share of questions without an answer that come back empty, and of answers lost for it."""
    below = odds[0] * of.best + odds[1] < _FLOOR_ODDS
    return float(below[~of.has_answer].mean()), float((below & of.found)[of.has_answer].mean())


def write(weights: Mapping[str, Feature], odds: tuple[float, float]) -> None:
    """Write the weights where the package has them."""
    path = Path(shipped.__file__)
    head, _, rest = path.read_text(encoding="utf-8").partition("= {\n")
    _, _, tail = rest.partition("}\n")
    rows = "".join(
        f'    "{name}": ({", ".join(f"{value:.{_DIGITS}f}" for value in weights[name])}),\n' for name in FITTED
    )
    note, _, _ = tail.partition("CHANCE:")
    path.write_text(f"{head}= {{\n{rows}}}\n{note}CHANCE: tuple[float, float] = {odds}\n", encoding="utf-8")


async def run(folder: Path, test: Path | None, embedder: Embedder, *, writes: bool) -> None:
    """Fit, print what it is worth, and write it if asked to."""
    fitted_to = await cases(people(folder), embedder)
    measured = left_out(fitted_to)
    odds = chance(measured)
    weights = fit(fitted_to)
    print(f"{len({each.person for each in fitted_to})} people, {len(fitted_to)} questions")
    print(f"left out: answered {share(measured):.3f}, empty {floor(measured, odds)[0]:.3f}", end=" ")
    print(f"for {floor(measured, odds)[1]:.3f} lost")
    for name in FITTED:
        without = left_out(fitted_to, [other for other in FITTED if other != name])
        print(f"  {name:14} weight {weights[name].weight:6.3f}; without it answered {share(without):.3f}")
    if test is not None:
        others = await cases(people(test), embedder)
        rows = [
            (each.has_answer, answered(each, weights), best_sum(each.seen.parts(weights))) for each in others
        ]
        of = Measured(*(np.array(column) for column in zip(*rows, strict=True)))
        empty, lost = floor(of, odds)
        print(f"{test}: answered {share(of):.3f}, empty {empty:.3f} for {lost:.3f} lost")
        nearest = fmean(_nearest(each) for each in others if each.has_answer)
        print(f"{test}: nearest own turns alone {nearest:.3f}")
    if writes:
        write(weights, odds)


def _nearest(case: Case) -> bool:
    own = [each for each in case.candidates if each.index is not None and each.role == "user"]
    return case.asked.is_answered_by(sorted(own, key=lambda each: -(each.cosine or 0.0))[:RESULTS])


async def _main(given: argparse.Namespace) -> None:
    from streams.adapters.onnx_embedder import OnnxEmbedder

    embedder = OnnxEmbedder(threads=2, cache_size=20_000)
    await embedder.start()
    try:
        await run(given.people, given.test, embedder, writes=given.write)
    finally:
        await embedder.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality.recall.fitting")
    parser.add_argument("people", type=Path)
    parser.add_argument("--test", type=Path)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    if not given.people.is_dir():
        sys.exit(f"{given.people} is no folder: name one with people (benchmarks/notebook/people)")
    asyncio.run(_main(given))
