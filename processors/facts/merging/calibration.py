"""Similarity thresholds of a model: for two facts to be proposed as one, and for a turn to support a fact.

Every model spreads its cosines differently.  Pairs of which it is known whether they say the same are embedded;
the threshold is the lowest at which, of the pairs that the guards let through, hardly any is wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

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

#: A statement, and what its person says on another occasion that bears it out.
SAYINGS: Sequence[tuple[str, str]] = (
    ("likes hiking", "Just back from the hills, I could go hiking every single weekend."),
    ("plays the guitar", "I finally learned that song on my guitar, it sounds right at last."),
    ("is learning Spanish", "My Spanish class was hard today, I keep mixing up the past tenses."),
    ("works as a nurse", "The night shift on my ward was awful, three nurses were ill."),
    ("is a vegetarian", "I found a vegetarian lasagne recipe without any meat that I love."),
    ("has a cat", "My cat knocked the plant off the shelf again this morning."),
    ("likes fantasy novels", "I stayed up all night with another fantasy novel, dragons and all."),
    ("is training for a marathon", "I ran thirty kilometres on Sunday, my marathon training goes well."),
    ("wants to visit Japan", "I keep looking at flights to Japan, maybe we go to Kyoto in spring."),
    ("likes gardening", "I spent the whole afternoon gardening, the tomatoes are coming up."),
    ("volunteers at an animal shelter", "I walked four dogs at the shelter where I volunteer."),
    ("favourite cuisine is Italian", "I cooked Italian again, nothing makes me as happy as fresh pasta."),
    ("likes swimming", "We swam across the lake and back, I was freezing and happy."),
    ("has a daughter", "My daughter lost her first tooth at school today."),
    ("lives in Hamburg", "The harbour in Hamburg was full of fog when I walked home."),
    ("collects stamps", "I bought a sheet of old stamps at the flea market for my collection."),
)

#: How many standard deviations above what unrelated statements and turns have: a fact is compared with hundreds
#: of turns, and many talk of the same things without bearing it out.  With the built-in model this is .60: all
#: of the 18 turns of LoCoMo that are taken then were right, and one turn of other people is as near.
_ABOVE_CHANCE = 6.5


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


def above_chance(cosines: NDArray[np.float32]) -> Threshold | None:
    """Return from where on a turn bears a fact out; ``None`` if nothing does.

    ``cosines`` of each statement (row) of :data:`SAYINGS` with each turn (column): beside the diagonal they
    have nothing to do with each other.
    """
    bears_out = np.eye(len(cosines), dtype=bool)
    unrelated = cosines[~bears_out]
    near_from = round(float(unrelated.mean() + _ABOVE_CHANCE * unrelated.std()), 2)
    near = cosines >= near_from
    right = int((near & bears_out).sum())
    return Threshold(near_from, int(near.sum()), right, right / len(cosines)) if right else None
