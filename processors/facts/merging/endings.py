"""Endings of earlier statements by a new one: "we sold the car" ends "I have a car".

A negation is a living fact: "I don't eat meat any more" holds, and what it ends does not.  Logistic regression
over pairs of statements (:mod:`.pair_features`) decides; ``endings.npz`` holds its weights, ``MODEL_CARD.md``
what it was trained on.  A fact that is ended by mistake is lost: only what is nearly certain is ended.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from models.statements import Kind
from processors.facts.merging.exchanges import is_exchanged
from processors.facts.merging.pair_features import features, rarity, with_telling
from processors.facts.merging.statement_features import CUES, ComparedStatement, is_of_another, read
from processors.text.stemming import stem_of

#: Earlier facts that a new one is compared with: the nearest.
NEAREST = 16

#: Cues of an order that takes an earlier one back.
_TAKES_BACK = tuple(
    at
    for at, (name, _) in enumerate(CUES)
    if name in ("over", "stop", "called off", "now", "again", "allowed", "from now on", "denied")
)

_PLANNED = next(at for at, (name, _) in enumerate(CUES) if name == "planned")

#: The importance of what must not be forgotten.
_LASTING = 3

#: The most facts that one statement ends: "I left the flat, the job and the town" ends three.
MOST_ENDED = 4

#: A cosine from which on two statements are about the same.  Below it: how rare a shared word must be, and
#: which share of what the earlier one says the shared words must be.
_NEAR, _RARE, _SHARE = 0.5, 4.0, 0.15
#: How much more probable an end must be of an event, a plan or an order if neither is so ("I PASSED" ends
#: "driving test on 14 May"), of what must not be forgotten ("allergic to nuts"), by an order that takes nothing
#: back, and of anything else if neither is so, or by a word that is shared in passing.
_FAR_MORE, _LASTING_MORE, _ADDED_MORE, _UNLIKELY_MORE, _NEVER = 0.1, 0.2, 0.35, 0.4, 1.0
_CHANGED_MIND = re.compile(r"\bchang\w+ (?:my|our) minds?\b", re.IGNORECASE)
#: What follows is a condition or a reason, not what the statement is about: "£600 is possible if Mondays work".
_SUBORDINATE = re.compile(r"\b(?:if|unless|because|wenn|falls|weil|porque|parce que|puisque)\b", re.IGNORECASE)

#: The probability from which on a death ends what names who died.
_DEAD_FROM = 0.2
_DIED = re.compile(
    r"(?P<name>[^\W\d_]\w+)(?: \w+){0,2}? (?:died|dead|passed away|gestorben|tot|murió|mort[eo]?|morreu)\b",
    re.IGNORECASE,
)

#: The probability and the cosine from which on an order that is done another way replaces the earlier.
_ORDER_FROM, _ORDER_NEAR = 0.1, 0.6

_WEIGHTS = Path(__file__).with_name("endings.npz")


class Verdict(StrEnum):
    """Effect of a new statement on an earlier one.  ``same``: it says it again."""

    SAME = "same"
    REPLACES = "replaces"
    ENDS = "ends"
    NONE = "none"


class Ending(NamedTuple):
    """The verdict about one of the earlier statements, and the probability that it no longer holds."""

    verdict: Verdict
    probability: float
    cosine: float


class _Weights(NamedTuple):
    """Weights of scaled features, after an intercept: whether a statement is ended, whether something holds
    instead, and whether it is said again."""

    ending: NDArray[np.float32]
    replacing: NDArray[np.float32]
    same: NDArray[np.float32]


class _Model(NamedTuple):
    """Weights of the regressions.

    ``telling``: whether a statement ends anything, by its cues and its vector.  ``pairs``: with the weights of
    vectors (``meaning``, of each three, see :func:`meant`); ``plain``: without, where vectors are of another
    length.  ``words``: how rare the commonest are; ``unknown``: how rare any other is.
    """

    mean: NDArray[np.float32]
    scale: NDArray[np.float32]
    telling: NDArray[np.float32]
    pairs: _Weights
    meaning: NDArray[np.float32]
    plain: _Weights
    threshold: float
    words: Mapping[str, float]
    unknown: float


def decide(new: ComparedStatement, others: Sequence[ComparedStatement]) -> list[Ending]:
    """Return the verdict about each of ``others``, which the person said before ``new``.

    Vectors must be of unit length and of one model.  ``others`` are the nearest facts that hold.
    """
    if not others:
        return []
    model = _model()
    pairs = features(new, others, model.words, model.unknown)
    pairs = with_telling(pairs, np.full(len(others), telling(new, model.telling), dtype=np.float32))
    rows = (pairs - model.mean) / model.scale
    ends, replaces, same = _chances(new, others, rows, model)
    likeliest = set(np.argsort(-ends)[:MOST_ENDED].tolist())
    found = []
    for at, old in enumerate(others):
        verdict = Verdict.SAME if same[at] > 0.5 and same[at] > ends[at] else Verdict.NONE
        cosine = float(new.vector @ old.vector)
        is_exchange = cosine >= _ORDER_NEAR and is_exchanged(new, old)
        is_death = _is_death(new, old, model)
        caution = _caution(new, old, model)
        usual = model.threshold + caution
        threshold = _ORDER_FROM if is_exchange else _DEAD_FROM if is_death else usual
        may_end = caution < _NEVER and at in likeliest and not is_of_another(new, old)
        if may_end and ends[at] > threshold:
            is_replaced = is_exchange or (replaces[at] > 0.5 and not is_death)
            verdict = Verdict.REPLACES if is_replaced else Verdict.ENDS
        found.append(Ending(verdict, float(ends[at]), cosine))
    return found


def _is_death(new: ComparedStatement, old: ComparedStatement, model: _Model) -> bool:
    """Return whether a statement tells the death of a person or pet that the earlier one names ("Rex died")."""
    if _DIED.search(old.text):
        return False
    names = read(new.text).names & read(old.text).names
    died = (each["name"].casefold() for each in _DIED.finditer(new.text))
    return any(name in names and model.words.get(stem_of(name), model.unknown) >= _RARE for name in died)


def _caution(new: ComparedStatement, old: ComparedStatement, model: _Model) -> float:
    """Return how much more probable an end must be than the threshold, by what the two share.

    "I've quit coffee" ends no "I work nights", and "I have changed my mind about Mondays" no plan of much else.
    """
    is_order = old.kind is Kind.INSTRUCTION
    is_lasting = old.importance == _LASTING and not is_order
    more = _LASTING_MORE if is_lasting else 0.0
    if is_order and new.kind is Kind.INSTRUCTION and not any(read(new.text).cues[at] for at in _TAKES_BACK):
        more = _ADDED_MORE
    if float(new.vector @ old.vector) >= _NEAR:
        return more
    main = _SUBORDINATE.split(old.text, maxsplit=1)[0]
    said, was = read(new.text), read(old.text)
    shared = said.words & read(main).words
    if _is_rare(shared, model):
        whole = rarity(was.words, model.words, model.unknown)
        if rarity(shared, model.words, model.unknown) >= _SHARE * whole:
            return more
    if is_lasting or _CHANGED_MIND.search(new.text):
        return _NEVER
    may_come_about = is_order or old.kind is Kind.EVENT or was.cues[_PLANNED]
    is_in_passing = _is_rare(said.words & was.words, model)
    return more + (_FAR_MORE if may_come_about and not is_in_passing else _UNLIKELY_MORE)


def _is_rare(words: frozenset[str], model: _Model) -> bool:
    return any(model.words.get(word, model.unknown) >= _RARE for word in words)


def telling(new: ComparedStatement, weights: NDArray[np.float32]) -> float:
    """Return the logit of whether a statement ends anything.

    ``weights``: an intercept, those of the cues, and those of the vector, which count if it is as long.
    """
    cues = np.array(read(new.text).cues, dtype=np.float32)
    rest = weights[1 + len(cues) :]
    said = float(rest @ new.vector) if len(rest) == len(new.vector) else 0.0
    return float(weights[0] + weights[1 : 1 + len(cues)] @ cues) + said


def _chances(
    new: ComparedStatement, others: Sequence[ComparedStatement], rows: NDArray[np.float32], model: _Model
) -> list[NDArray[np.float32]]:
    """Return for each pair the chances that the earlier ends, is then replaced, and is said again."""
    if len(new.vector) != model.meaning.shape[-1]:
        return [_chance(rows @ weights[1:] + weights[0]) for weights in model.plain]
    olds = np.stack([old.vector for old in others])
    return [
        _chance(rows @ weights[1:] + weights[0] + meant(new.vector, olds, meaning))
        for weights, meaning in zip(model.pairs, model.meaning, strict=True)
    ]


def meant(
    new: NDArray[np.float32], others: NDArray[np.float32], weights: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Return the logits that the vectors of pairs add.

    ``new``: the vector of the later statement, or one a row; ``others``: those of the earlier, shape ``(others,
    dimensions)``.  ``weights``: of the later, of the earlier, and of their product, shape ``(3, dimensions)``.
    """
    later, earlier, product = weights
    return np.asarray(new @ later + others @ earlier + (others * new) @ product, dtype=np.float32)


def _chance(score: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(score, -30, 30))), dtype=np.float32)


@lru_cache(maxsize=1)
def _model() -> _Model:
    with np.load(_WEIGHTS, allow_pickle=False) as stored:
        words = dict(zip(stored["words"].tolist(), stored["rarity"].tolist(), strict=True))
        return _Model(
            mean=stored["mean"],
            scale=stored["scale"],
            telling=stored["telling"],
            pairs=_Weights(*stored["pairs"]),
            meaning=stored["meaning"].astype(np.float32),
            plain=_Weights(*stored["plain"]),
            threshold=float(stored["threshold"]),
            words=words,
            unknown=float(stored["unknown"]),
        )
