"""The weights of :mod:`.features` and :mod:`.answering`.

Written by ``python -m benchmarks.quality.recall.fitting PEOPLE --write``; MODEL_CARD.md tells of them.
"""

from __future__ import annotations

#: Of each feature: how much one spread counts, the mean and the spread among candidates.
WEIGHTS: dict[str, tuple[float, float, float]] = {
    "meaning": (1.4787, 0.1597, 0.1572),
    "around": (0.3594, 0.0535, 0.1831),
    "speaker": (1.0080, 0.6132, 0.4870),
    "question": (-0.6616, 0.1307, 0.2657),
    "length": (0.9119, 1.9394, 0.6129),
    "importance": (0.5839, 0.5309, 1.0415),
    "near": (0.9229, 0.2435, 0.1558),
    "session_words": (0.4287, 0.2496, 0.3237),
    "lacks": (-1.0266, 0.1728, 0.3781),
    "period": (2.2551, 0.3347, 0.4427),
}

#: Of each sign that something answers: the logarithm of the odds by it.
CHANCE: dict[str, float] = {
    "best": 0.1539,
    "nearest": 3.0218,
    "many": -0.6289,
    "unsaid": -2.1498,
    "bare": -2.3581,
    "stranger": -2.5775,
    "time": 1.8225,
    "number": -2.3236,
    "name": -2.4597,
    "place": 0.8706,
    "past": 2.0366,
}

#: The logarithm of the odds without any.
START: float = 3.2961
