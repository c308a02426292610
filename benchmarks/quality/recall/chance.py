"""Fits the chance that anything answers, and its floor, to questions with and without an answer.

Questions without one are those of the people's files, those written for them (``unanswerable.jsonl`` beside
the people), those of others that name what this person never named, and names, nouns and keyboard mash of our
own.  A memory may be small, so each question is also asked of a few messages.  Each with an answer is
also asked in keywords, and of a memory without what answers it: who writes questions without an answer writes
them in a way of their own, and these show what is told by that alone.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

import msgspec
import numpy as np
from scipy.optimize import minimize  # type: ignore[import-untyped]

from benchmarks.quality.recall.cases import DIGITS, Case, Floats, answered, fit, folds
from benchmarks.quality.recall.people import Person, questions
from processors.retrieval.recall.answering import FLOOR, signs
from processors.retrieval.recall.features import Feature, features
from processors.retrieval.recall.question import asked_words
from processors.retrieval.recall.weights import CHANCE

#: Of answered questions, so many may come back empty.
LOST = 0.01
#: Kinds of questions without an answer, and how much one counts in the fit.  :data:`REMOVED` is only measured:
#: no sign tells these from the others, and a fit to them lets more of the rest pass.
WRITTEN, FOREIGN, NAMED, MASH, ABSENT = "written", "foreign", "named", "mash", "absent"
#: Questions with an answer, as words alone, and asked of a memory that lacks what answers them.
KEYWORDS, REMOVED = "keywords", "removed"
#: Questions of the people's files, with an answer and without.
ANSWERED, OWN = "answered", "own"
_COUNTS = {"": 1.0, WRITTEN: 1.0, FOREIGN: 0.3, NAMED: 0.5, MASH: 1.0, ABSENT: 0.3, KEYWORDS: 0.3, REMOVED: 0.0}
_SMALL, _MOST_FOREIGN, _MASHES = (4, 24), 10, 4
#: Signs whose weights must be positive, and negative; the fit decides about the others.
_FOR, _AGAINST = {"best", "nearest"}, {"unsaid", "bare", "stranger", "many"}
_PENALTY = 3.0
_ODDS = float(np.log(FLOOR / (1 - FLOOR)))

_NAME = re.compile(r"(?<=[\w,'’] )[A-ZÀ-Þ]\w+")
_KEYS = ("qwertzuiop", "asdfghjkl", "yxcvbnm", "qwertyuiop", "zxcvbnm", "jklöä", "hjklñ", "azertyuiop")
_STRANGERS = {
    "en": ("Where does Zelda live?", "What is Torvald allergic to?", "Who is Quentin?", "What is Xenia's job?"),
    "de": ("Wo wohnt Zelda?", "Wogegen ist Torvald allergisch?", "Wer ist Quentin?", "Was arbeitet Xenia?"),
    "es": ("¿Dónde vive Zelda?", "¿A qué es alérgico Torvald?", "¿Quién es Quentin?", "¿En qué trabaja Xenia?"),
    "fr": (
        "Où habite Zelda ?",
        "À quoi Torvald est-il allergique ?",
        "Qui est Quentin ?",
        "Quel âge a Xenia ?",
    ),
    "pt": ("Onde mora a Zelda?", "A que o Torvald é alérgico?", "Quem é o Quentin?", "Onde trabalha a Xenia?"),
}
_NOUNS = {
    "en": "bicycle helicopter violin giraffe karate chandelier glacier passport",
    "de": "fahrrad hubschrauber geige giraffe karate kronleuchter gletscher reisepass",
    "es": "bicicleta helicóptero violín jirafa kárate lámpara glaciar pasaporte",
    "fr": "vélo hélicoptère violon girafe karaté lustre glacier passeport",
    "pt": "bicicleta helicóptero violino girafa caratê lustre geleira passaporte",
}


class Judged(NamedTuple):
    """A question: its signs, whether it has an answer, whether the first results have it, and its fold."""

    case: Case
    signs: Mapping[str, float]
    found: bool
    fold: int
    is_few: bool


def unanswerable(of: Sequence[Person], written: Path) -> dict[str, list[tuple[str, str]]]:
    """Return kinds and questions that nothing answers, by person."""
    rows = [json.loads(line) for line in written.read_text(encoding="utf-8").splitlines()]
    found: dict[str, list[tuple[str, str]]] = {}
    for person in of:
        name, language = person["person"], person.get("language", "en")
        chosen = random.Random(name)
        said = " ".join(
            each["text"] for session in person["sessions"] for each in session["messages"]
        ).casefold()
        foreign = [
            asked.query
            for other in of
            if other is not person and other.get("language", "en") == language
            for asked in questions(other)
            if (names := _NAME.findall(asked.query)) and not any(one.casefold() in said for one in names)
        ]
        found[name] = [
            *((WRITTEN, row["q"]) for row in rows if row["person"] == name),
            *((FOREIGN, query) for query in chosen.sample(foreign, min(_MOST_FOREIGN, len(foreign)))),
            *(
                (NAMED, query)
                for query in (*_STRANGERS[language], *_STRANGERS["de" if language == "en" else "en"][:2])
            ),
            *((MASH, _mash(chosen)) for _ in range(_MASHES)),
            *((ABSENT, noun) for noun in _NOUNS[language].split() if noun not in said),
        ]
    return found


def _mash(chosen: random.Random) -> str:
    row = chosen.choice(_KEYS)
    words = []
    for _ in range(chosen.randint(1, 3)):
        at = chosen.randrange(len(row) - 3)
        words.append(row[at : at + chosen.randint(3, 7)][:: chosen.choice((1, -1))])
    return " ".join(words)


def few(case: Case) -> Case:
    """Return a case with few of its candidates: one that answers, if there is one, is among them."""
    chosen = random.Random(case.person + case.asked.query)
    count = min(chosen.randint(*_SMALL), len(case.candidates))
    kept = chosen.sample(range(len(case.candidates)), count)
    if case.right.any():
        kept.append(int(chosen.choice(np.flatnonzero(case.right).tolist())))
    kept = sorted(set(kept))
    candidates = [case.candidates[at] for at in kept]
    return case._replace(
        candidates=candidates, seen=features(case.question, candidates), right=case.right[kept]
    )


def keywords(case: Case) -> Case:
    """Return the case of a question's content words."""
    query = " ".join(asked_words(case.asked.query))
    question = msgspec.structs.replace(case.question, query=query)
    return case._replace(question=question, seen=features(question, case.candidates), kind=KEYWORDS)


def removed(case: Case) -> Case:
    """Return the case of a memory without what answers the question: how it is asked says nothing there."""
    candidates = [each for each, right in zip(case.candidates, case.right, strict=True) if not right]
    asked = case.asked._replace(evidence=frozenset(), terms=())
    seen = features(case.question, candidates)
    right = np.zeros(len(candidates), dtype=np.bool_)
    return case._replace(asked=asked, candidates=candidates, seen=seen, right=right, kind=REMOVED)


def judged(cases_: Sequence[Case]) -> list[Judged]:
    """Return each question with the weights that were fitted without its person."""
    own = [each for each in cases_ if not each.kind]
    rows = []
    for fold, out in enumerate(folds(cases_)):
        weights = fit([each for each in own if each.person not in out])
        rows += [row for each in cases_ if each.person in out for row in _judge(each, weights, fold)]
    return rows


def judge(cases_: Sequence[Case], weights: Mapping[str, Feature]) -> list[Judged]:
    """Return each question with weights that were fitted to others."""
    return [row for each in cases_ for row in _judge(each, weights, 0)]


def _judge(case: Case, weights: Mapping[str, Feature], fold: int) -> list[Judged]:
    rows = []
    variants = [(case, False), (few(case), True)]
    if case.has_answer:
        variants += [(keywords(case), False), (removed(case), False)]
    for each, is_few in variants:
        parts = each.seen.parts(weights)
        rows.append(
            Judged(each, signs(each.candidates, each.seen, parts), answered(each, weights), fold, is_few)
        )
    return rows


class Odds(NamedTuple):
    """The logarithm of the odds that something answers: by each sign, and without any."""

    by: Mapping[str, float]
    start: float

    def of(self, row: Judged) -> float:
        """Return it for a question."""
        return self.start + sum(value * row.signs[name] for name, value in self.by.items())


def fit_odds(rows: Sequence[Judged]) -> Odds:
    """Fit the odds so that the floor loses a share :data:`LOST` of the answered questions."""
    names = [*CHANCE]
    values = np.array([[row.signs[name] for name in names] for row in rows])
    good = np.array([row.case.has_answer for row in rows])
    counts = np.array([_COUNTS[row.case.kind] for row in rows])
    mean, spread = values.mean(axis=0), values.std(axis=0) + 1e-9
    values = (values - mean) / spread

    def loss(weights: Floats) -> tuple[float, Floats]:
        odds = values @ weights[1:] + weights[0]
        cost = counts @ np.logaddexp(0, np.where(good, -odds, odds)) + _PENALTY / 2 * weights[1:] @ weights[1:]
        slope = counts * (1 / (1 + np.exp(-odds)) - good)
        return float(cost), np.concatenate([[slope.sum()], values.T @ slope + _PENALTY * weights[1:]])

    bounds = [(0.0 if name in _FOR else None, 0.0 if name in _AGAINST else None) for name in names]
    found = minimize(
        loss, np.zeros(len(names) + 1), jac=True, method="L-BFGS-B", bounds=[(None, None), *bounds]
    ).x
    by = dict(zip(names, np.round(found[1:] / spread, DIGITS).tolist(), strict=True))
    return Odds(by, round(float(found[0] - (found[1:] / spread) @ mean), DIGITS))


def shifted(odds: Odds, rows: Sequence[Judged], lost: float = LOST) -> Odds:
    """Return the odds with the start at which the floor loses so many of the answered questions."""
    least = _threshold([(row, odds.of(row)) for row in rows], lost)
    return odds._replace(start=round(odds.start + _ODDS - least + 10.0**-DIGITS, DIGITS))


def _threshold(scored: Sequence[tuple[Judged, float]], lost: float) -> float:
    """Return the score below which so many of the questions with an answer are that are answered."""
    whole = [
        (row, score) for row, score in scored if row.case.has_answer and not row.is_few and not row.case.kind
    ]
    return sorted(score for row, score in whole if row.found)[int(lost * len(whole))]


def left_out_odds(rows: Sequence[Judged]) -> list[tuple[Judged, float]]:
    """Return each question with the odds that were fitted without its person."""
    odds = {fold: fit_odds([row for row in rows if row.fold != fold]) for fold in {row.fold for row in rows}}
    return [(row, odds[row.fold].of(row)) for row in rows]


class Share(NamedTuple):
    """Of questions: which share is answered, which comes back empty, and how many there are."""

    answered: float
    empty: float
    questions: int


def told(scored: Sequence[tuple[Judged, float]], lost: float, *, is_few: bool = False) -> str:
    """Return a line that tells what a floor does that loses so many answers."""
    return line(_shares(scored, _threshold(scored, lost), is_few=is_few))


def line(of: Mapping[str, Share]) -> str:
    """Return shares as a line of text."""
    empty = ", ".join(
        f"{kind} {each.empty:.3f} of {each.questions}" for kind, each in of.items() if kind != ANSWERED
    )
    return f"answered {of[ANSWERED].answered:.3f} of {of[ANSWERED].questions}; empty: {empty}"


def shares(odds: Odds, rows: Sequence[Judged], *, is_few: bool = False) -> dict[str, Share]:
    """Return the shares of each kind; :data:`ANSWERED` are the people's questions with an answer."""
    return _shares([(row, odds.of(row)) for row in rows], _ODDS, is_few=is_few)


def _shares(scored: Sequence[tuple[Judged, float]], least: float, *, is_few: bool) -> dict[str, Share]:
    found: dict[str, list[tuple[bool, bool]]] = {}
    for row, score in scored:
        if row.is_few is is_few:
            kind = row.case.kind or (ANSWERED if row.case.has_answer else OWN)
            found.setdefault(kind, []).append((row.found and score >= least, score < least))
    return {
        kind: Share(fmean(yes for yes, _ in of), fmean(empty for _, empty in of), len(of))
        for kind, of in sorted(found.items())
    }
