"""The weights of the ranking, fitted to people's questions, and which share of these they answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize  # type: ignore[import-untyped]

from benchmarks.quality.recall.people import Asked, Person, questions, remembered
from models.ports import Embedder
from processors.retrieval.recall.dating import period_of
from processors.retrieval.recall.features import FEATURES, GRAPH, Candidate, Feature, Seen, features
from processors.retrieval.recall.question import Question, cleaned, read
from processors.retrieval.recall.ranking import rank_seen

Floats = NDArray[np.float64]

#: Whose weights are fitted; the weight of the graph is chosen.
FITTED = tuple(name for name in FEATURES if name != GRAPH)
RESULTS, FOLDS = 5, 9
#: Only messages of the person are evidence here, so a fit makes too much of who speaks; with this share of
#: its weight no question is lost.
_SPEAKER = 0.6
_PENALTY, _LEAST_SPREAD, DIGITS = 1.0, 0.001, 4


class Case(NamedTuple):
    """A question of a person, what may answer it with its features, and which of these rest on the evidence.

    ``kind``: where the question comes from, ``""``: from the person's file.
    """

    person: str
    asked: Asked
    question: Question
    candidates: Sequence[Candidate]
    seen: Seen
    right: NDArray[np.bool_]
    kind: str = ""

    @property
    def has_answer(self) -> bool:
        """True if the case has an answer."""
        return bool(self.asked.evidence or self.asked.terms)


async def cases(
    of: Sequence[Person], embedder: Embedder, more: Mapping[str, Sequence[tuple[str, str]]] | None = None
) -> list[Case]:
    """Return the cases of all questions; ``more``: by person, kinds and questions that nothing answers."""
    found = []
    for person in of:
        name = person["person"]
        memory = remembered(person)
        vectors = np.asarray(await embedder.embed([each.text for each in memory]))
        now = datetime.fromtimestamp(max(each.said_at for each in memory), UTC) + timedelta(days=1)
        of_others = [(kind, Asked(query, frozenset(), ())) for kind, query in (more or {}).get(name, ())]
        for kind, asked in [*(("", each) for each in questions(person)), *of_others]:
            query = cleaned(asked.query)
            question = read(query, period=period_of(query, now), person=name)
            (vector,) = await embedder.embed([question.text])
            near = (vectors @ np.asarray(vector)).tolist()
            made = [msgspec.structs.replace(each, cosine=cos) for each, cos in zip(memory, near, strict=True)]
            right = np.array([bool(asked.evidence.intersection(each.message_ids)) for each in made])
            found.append(Case(name, asked, question, made, features(question, made), right, kind))
    return found


def fit(cases_: Sequence[Case], names: Sequence[str] = FITTED) -> dict[str, Feature]:
    """Return the weights of a softmax over each question's candidates; a feature that is not named counts 0."""
    columns = [[*FEATURES].index(name) for name in names]
    used = [each for each in cases_ if each.right.any()]
    found = np.ma.masked_invalid(np.concatenate([each.seen.values[:, columns] for each in used]))
    mean, spread = found.mean(axis=0).filled(0.0), np.maximum(found.std(axis=0).filled(1.0), _LEAST_SPREAD)
    rows = ((found - mean) / spread).filled(0.0)
    right = np.concatenate([each.right for each in used]).astype(float)
    lengths = np.array([len(each.right) for each in used])
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])

    def loss(weights: Floats) -> tuple[float, Floats]:
        sums = rows @ weights
        odds = np.exp(sums - np.repeat(np.maximum.reduceat(sums, starts), lengths))
        whole, good = np.add.reduceat(odds, starts), np.add.reduceat(odds * right, starts)
        slope = rows.T @ (odds / np.repeat(whole, lengths) - odds * right / np.repeat(good, lengths))
        return float(_PENALTY / 2 * weights @ weights - np.log(good / whole).sum()), slope + _PENALTY * weights

    fitted = minimize(loss, np.zeros(len(names)), jac=True, method="L-BFGS-B").x
    fitted = fitted * [_SPEAKER if name == "speaker" else 1.0 for name in names]
    table = np.round(np.stack([fitted, mean, spread], axis=1), DIGITS).tolist()
    weights_of = {name: Feature(*row) for name, row in zip(names, table, strict=True)}
    return {name: weights_of.get(name, Feature(0.0, 0.0, 1.0)) for name in FITTED} | {GRAPH: FEATURES[GRAPH]}


def answered(case: Case, weights: Mapping[str, Feature]) -> bool:
    """Return whether the first results answer."""
    ranked = rank_seen(case.candidates, case.seen, 0.0, weights)[:RESULTS]
    return case.asked.is_answered_by([case.candidates[each.position] for each in ranked])


def folds(cases_: Sequence[Case]) -> list[set[str]]:
    """Return the people who are left out together: every ninth."""
    everybody = sorted({each.person for each in cases_})
    return [{*everybody[fold::FOLDS]} for fold in range(min(FOLDS, len(everybody)))]


def left_out(cases_: Sequence[Case], names: Sequence[str] = FITTED) -> float:
    """Return the share of questions that are answered with weights that were fitted without their person."""
    found = []
    for out in folds(cases_):
        weights = fit([each for each in cases_ if each.person not in out], names)
        found += [answered(each, weights) for each in cases_ if each.person in out and each.has_answer]
    return sum(found) / len(found)
