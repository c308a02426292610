"""From which nearness on vectors of a model propose that two facts are one.

Every model spreads its cosines differently.  Pairs of which it is known whether they say the same are embedded;
the threshold is the lowest at which, of the pairs that the guards let through, hardly any is wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

#: Of what is proposed and passes the guards, so much must say the same.
PRECISION = 0.95

#: No threshold is proposed below this: guards were measured above it.
LOWEST = 0.5

#: Two statements, and whether they say the same of a person.
PAIRS: Sequence[tuple[str, str, bool]] = (
    ("likes hiking", "loves hiking", True),
    ("enjoys reading novels", "likes to read novels", True),
    ("plays the guitar", "plays guitar", True),
    ("works as a nurse", "is a nurse", True),
    ("has a cat", "owns a cat", True),
    ("drinks coffee every morning", "has coffee every morning", True),
    ("is allergic to peanuts", "has a peanut allergy", True),
    ("likes films", "likes movies", True),
    ("wants to visit Japan", "wants to travel to Japan", True),
    ("goes running before work", "runs before work", True),
    ("is learning Spanish", "studies Spanish", True),
    ("volunteers at an animal shelter", "volunteers at the animal shelter on weekends", True),
    ("prefers tea to coffee", "likes tea more than coffee", True),
    ("grew up on a farm", "was raised on a farm", True),
    ("is a vegetarian", "does not eat meat", True),
    ("rides a bike to work", "cycles to work", True),
    ("likes hiking", "likes swimming", False),
    ("plays the guitar", "plays the piano", False),
    ("has a cat", "has a dog", False),
    ("works as a nurse", "works as a teacher", False),
    ("is a backend developer", "is a frontend developer", False),
    ("is allergic to peanuts", "is allergic to shellfish", False),
    ("likes films", "likes books", False),
    ("wants to visit Japan", "wants to visit Peru", False),
    ("is learning Spanish", "is learning German", False),
    ("goes running before work", "goes swimming after work", False),
    ("grew up on a farm", "works on a farm", False),
    ("likes green tea", "likes herbal tea", False),
    ("bought a house", "sold a house", False),
    ("is training for a marathon", "has run a marathon", False),
    ("likes cooking Italian food", "likes cooking Indian food", False),
    ("collects stamps", "collects coins", False),
)


class Threshold(NamedTuple):
    """A threshold, and of the pairs at or above it that no guard keeps apart: how many, and how many are right.

    ``recall``: of the pairs that say the same, the share that is proposed.
    """

    near_from: float
    proposed: int
    right: int
    recall: float


def threshold(measured: Sequence[tuple[float, bool]], precision: float = PRECISION) -> Threshold | None:
    """Return the lowest threshold at which what is proposed is right; ``None`` if none is.

    ``measured``: the cosine of each pair that no guard keeps apart, and whether its two say the same.
    """
    same = sum(is_same for _, is_same in measured)
    best: Threshold | None = None
    for near_from in sorted({round(cosine, 2) for cosine, _ in measured if cosine >= LOWEST}, reverse=True):
        proposed = [is_same for cosine, is_same in measured if cosine >= near_from]
        right = sum(proposed)
        if proposed and right >= precision * len(proposed):
            best = Threshold(near_from, len(proposed), right, right / same if same else 0.0)
    return best
