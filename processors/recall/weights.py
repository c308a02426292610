"""The weights of :mod:`.features` and :mod:`.answering`.

Written by ``python -m benchmarks.quality.recall.fitting PEOPLE --write``; MODEL_CARD.md tells of them.
"""

from __future__ import annotations

#: Of each feature: how much one spread counts, the mean and the spread among candidates.
WEIGHTS: dict[str, tuple[float, float, float]] = {
    "meaning": (1.4831, 0.1597, 0.1572),
    "around": (0.4081, 0.0896, 0.2096),
    "speaker": (1.0473, 0.6132, 0.4870),
    "question": (-0.6719, 0.1307, 0.2657),
    "length": (0.8579, 1.9381, 0.6133),
    "importance": (0.5318, 0.5309, 1.0415),
    "near": (0.9011, 0.2435, 0.1558),
    "session_words": (0.4998, 0.2850, 0.2915),
    "lacks": (-1.0188, 0.1701, 0.3758),
}

#: Slope and start of the logarithm of the odds that something answers, by the best sum of parts.
CHANCE: tuple[float, float] = (0.1574, -1.3653)
