"""Features of a pair of a person's statements that tell whether the later one ends the earlier.

Names, brands and topics are no features; what a pair has is a number between about -2 and 3.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from models.statements import Kind
from processors.facts.merging.statement_features import CUES, ComparedStatement, read

_WEEK = 7.0


def rarity(words: frozenset[str], weights: Mapping[str, float], unknown: float) -> float:
    """Return how rare words are, together."""
    return sum(weights.get(each, unknown) for each in words)


#: What a pair has besides the cues of both, in this order.
PAIR = (
    "cosine",
    "cosine squared",
    "far",
    "gap to the nearest",
    "rank",
    "shared",
    "most shared",
    "share of old",
    "share of new",
    "gap to most shared",
    "names",
    "numbers",
    "other numbers",
    "turned",
    "same kind",
    "same slot",
    "one conversation",
    "hours",
    "weeks",
    "old length",
    "new length",
    "old importance",
    "new importance",
    "others shared",
    "others in old",
    "others in new",
    "shared others differ",
)
#: Cues and numbers whose products are features as well: what is so of the old with what is so of the new.
CROSSED_NEW = (
    "over",
    "stop",
    "called off",
    "lost",
    "came about",
    "now",
    "again",
    "allowed",
    "from now on",
    "denied",
    "order",
)
CROSSED_WITH = (
    "cosine",
    "shared",
    "gap to the nearest",
    "gap to most shared",
    "turned",
    "old planned",
    "old order",
    "old secret",
    "old always",
    "old denied",
    "same kind",
)


def names() -> list[str]:
    """Return the names of the features, in order."""
    cues = [name for name, _ in CUES]
    kinds = [kind.value for kind in Kind]
    plain = [*PAIR, *(f"old {each}" for each in cues), *(f"new {each}" for each in cues)]
    plain += [*(f"old is {each}" for each in kinds), *(f"new is {each}" for each in kinds)]
    crossed = [f"new {new} × {other}" for new in CROSSED_NEW for other in CROSSED_WITH]
    more = [
        f"{one} × {other}"
        for one in ("old is instruction", "old is event", "old is relation")
        for other in ("cosine", "shared", "new order", "new came about", "new allowed", "same kind", "weeks")
    ]
    more += [
        "cosine × shared",
        "cosine × gap to the nearest",
        "cosine × names",
        "cosine × same kind",
        "cosine × turned",
        "shared × gap to most shared",
    ]
    return plain + crossed + more


def features(
    new: ComparedStatement, others: Sequence[ComparedStatement], weights: Mapping[str, float], unknown: float
) -> NDArray[np.float32]:
    """Return the features of a statement with each of the earlier ones, shape ``(others, features)``."""
    now = read(new.text)
    cosines = np.array([float(new.vector @ each.vector) for each in others])
    shared = [now.words & read(each.text).words for each in others]
    common = np.array([rarity(each, weights, unknown) for each in shared])
    order = np.argsort(np.argsort(-cosines))
    whole = max(rarity(now.words, weights, unknown), 1.0)
    rows = []
    for at, old in enumerate(others):
        was = read(old.text)
        rare = max((weights.get(each, unknown) for each in shared[at]), default=0.0)
        days = max(0.0, (new.said_at - old.said_at).total_seconds() / 86_400)
        numbers = now.numbers & was.numbers
        values = dict(
            zip(
                PAIR,
                (
                    cosines[at],
                    cosines[at] ** 2,
                    min(cosines[at], 0.3),
                    cosines[at] - cosines.max(),
                    1.0 / (1.0 + order[at]),
                    common[at] / 10,
                    rare / 5,
                    common[at] / max(rarity(was.words, weights, unknown), 1.0),
                    common[at] / whole,
                    (common[at] - common.max()) / 10,
                    min(len(now.names & was.names), 2),
                    min(len(numbers), 2),
                    min(len(now.numbers ^ was.numbers), 3) / 3,
                    now.cues[_DENIED] != was.cues[_DENIED],
                    old.kind is new.kind,
                    bool(old.slot) and old.slot == new.slot,
                    bool(old.conversation_id) and old.conversation_id == new.conversation_id,
                    days < 0.1,
                    math.log1p(days / _WEEK) / 3,
                    math.log1p(was.length) / 3,
                    math.log1p(now.length) / 3,
                    old.importance / 3,
                    new.importance / 3,
                    bool(now.others & was.others),
                    bool(was.others),
                    bool(now.others),
                    bool(now.others) != bool(was.others),
                ),
                strict=True,
            )
        )
        values |= {f"old {name}": has for (name, _), has in zip(CUES, was.cues, strict=True)}
        values |= {f"new {name}": has for (name, _), has in zip(CUES, now.cues, strict=True)}
        values |= {f"old is {kind.value}": old.kind is kind for kind in Kind}
        values |= {f"new is {kind.value}": new.kind is kind for kind in Kind}
        for name in _NAMES[len(values) :]:
            one, _, other = name.partition(" × ")
            values[name] = float(values[one]) * float(values[other])
        rows.append([float(values[name]) for name in _NAMES])
    return np.array(rows, dtype=np.float32).reshape(len(others), len(_NAMES))


#: Features that are multiplied with the probability that the later statement ends anything, and with its logit.
LIKELY_WITH = (
    "cosine",
    "gap to the nearest",
    "rank",
    "shared",
    "gap to most shared",
    "old planned",
    "old secret",
    "names",
    "same kind",
)
LOGIT_WITH = ("cosine", "rank")


def with_telling(rows: NDArray[np.float32], logits: NDArray[np.float32]) -> NDArray[np.float32]:
    """Add to the features of pairs whether the later statement ends anything, as the logit of it, one a row."""
    likely = np.asarray(1.0 / (1.0 + np.exp(-np.clip(logits, -30, 30))), dtype=np.float32)
    products: list[NDArray[np.float32]] = [likely * rows[:, _NAMES.index(name)] for name in LIKELY_WITH]
    products += [logits * rows[:, _NAMES.index(name)] for name in LOGIT_WITH]
    return np.asarray(np.column_stack([rows, logits, likely, *products]), dtype=np.float32)


_DENIED = [name for name, _ in CUES].index("denied")
_NAMES = names()
