"""The weights of :mod:`.features` and :mod:`.answering`.

Written by ``python -m benchmarks.quality.recall.fitting PEOPLE --write``; MODEL_CARD.md tells of them.
"""

from __future__ import annotations

#: Of each feature: how much one spread counts, the mean and the spread among candidates.
WEIGHTS: dict[str, tuple[float, float, float]] = {
    "meaning": (1.4955, 0.1597, 0.1571),
    "around": (0.4085, 0.0895, 0.2094),
    "speaker": (1.7585, 0.6132, 0.4870),
    "question": (-0.6670, 0.1307, 0.2657),
    "length": (0.8506, 1.9368, 0.6130),
    "importance": (0.5368, 0.5309, 1.0415),
    "near": (0.9181, 0.2435, 0.1558),
    "session_words": (0.5046, 0.2850, 0.2915),
    "lacks": (-1.0681, 0.1702, 0.3758),
}

#: Slope and start of the logarithm of the odds that something answers, by the best sum of parts.
CHANCE: tuple[float, float] = (0.1507, -1.4288)
