"""How likely two sentences say the same in other words, from words alone.

Six observations and a logistic curve.  What speaks for a paraphrase: shared words, shared characters.  What
speaks against it: one long stretch that only one of the two has (that is new information), a number or a
negation that only one has.  Of two pairs that share as much, the one that shares it in long unbroken phrases is
the less likely paraphrase: someone who says a thing anew rearranges it.

The rounded weights are a logistic regression's on news sentences (Microsoft Research Paraphrase Corpus), where
``benchmarks/quality/duplicates.py`` measures the accuracy by cross-validation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from functools import lru_cache
from math import exp, sqrt

from rapidfuzz.distance import Indel

from processors.responses.words import Words

#: In the order of :func:`observations`.
_WEIGHTS = (8.0, 6.5, -3.0, -1.25, -0.3, -1.2)
_BIAS = -5.5

_APART = 4  # words that a pair of words may lie apart and still count as one phrase


def paraphrase_probability(a: Words, b: Words) -> float:
    """Return 0 to 1, the same in both directions."""
    evidence = _BIAS + sum(weight * seen for weight, seen in zip(_WEIGHTS, observations(a, b), strict=True))
    return 1.0 / (1.0 + exp(-evidence))


def observations(a: Words, b: Words) -> tuple[float, ...]:
    """Return the shares (0 to 1) of words, characters and phrases that both have; the root of the longest
    stretch of words that only one has; the numbers that only one has, at most 2; 1 if only one denies.
    """
    return (
        _shared(_counted(a.stems), _counted(b.stems)),
        _shared(_characters(a.stems), _characters(b.stems)),
        _shared(_phrases(a.stems), _phrases(b.stems)),
        sqrt(_longest_stretch(a.stems, b.stems)),
        min(2, max(_missing(a.numbers, b.numbers), _missing(b.numbers, a.numbers))),
        float(bool(a.negations) != bool(b.negations)),
    )


@lru_cache(maxsize=1024)
def _counted(stems: tuple[str, ...]) -> Counter[Hashable]:
    return Counter(stems)


@lru_cache(maxsize=1024)
def _characters(stems: tuple[str, ...]) -> Counter[Hashable]:
    return Counter(" ".join(stems))


@lru_cache(maxsize=1024)
def _phrases(stems: tuple[str, ...]) -> Counter[Hashable]:
    pairs = {(stem, other) for at, stem in enumerate(stems) for other in stems[at + 1 : at + 1 + _APART]}
    return Counter(pairs)


def _shared(a: Counter[Hashable], b: Counter[Hashable]) -> float:
    total = a.total() + b.total()
    return 2 * (a & b).total() / total if total else 0.0


def _longest_stretch(a: Sequence[str], b: Sequence[str]) -> int:
    # Of several equally short alignments one is chosen by position: sorted, so that the order of the arguments
    # does not matter.
    first, second = sorted((tuple(a), tuple(b)))
    edits = (edit for edit in Indel.opcodes(first, second) if edit.tag != "equal")
    return max(
        (max(edit.src_end - edit.src_start, edit.dest_end - edit.dest_start) for edit in edits), default=0
    )


def _missing(numbers: Sequence[str], others: Sequence[str]) -> int:
    return (Counter(numbers) - Counter(others)).total()
