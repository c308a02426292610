"""The weights of :mod:`.features` and :mod:`.answering`.

Written by ``python -m benchmarks.quality.recall.fitting PEOPLE --write``; MODEL_CARD.md tells of them.
"""

from __future__ import annotations

#: Of each feature: how much one spread counts, the mean and the spread among candidates.
WEIGHTS: dict[str, tuple[float, float, float]] = {
    "meaning": (1.4478, 0.1597, 0.1572),
    "around": (0.4578, 0.0535, 0.1831),
    "speaker": (1.0294, 0.6132, 0.4870),
    "question": (-0.6535, 0.1307, 0.2657),
    "length": (0.9346, 1.9394, 0.6129),
    "importance": (0.5489, 0.5309, 1.0415),
    "near": (0.9696, 0.2435, 0.1558),
    "lacks": (-1.0497, 0.1728, 0.3781),
    "period": (2.2212, 0.3347, 0.4427),
}

#: Of each sign that something answers: the logarithm of the odds by it.
CHANCE: dict[str, float] = {
    "best": 0.1594,
    "nearest": 2.9212,
    "many": -0.6335,
    "unsaid": -2.2199,
    "bare": -2.3455,
    "stranger": -2.5936,
    "time": 1.8312,
    "number": -2.3076,
    "name": -2.4476,
    "place": 0.8842,
    "past": 2.0217,
}

#: The logarithm of the odds without any.
START: float = 3.2859
