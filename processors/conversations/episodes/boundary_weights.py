"""The weights of :mod:`.boundaries`, written by ``python -m benchmarks.quality.boundaries --fit``."""

from __future__ import annotations

#: From which probability on there is a boundary.
THRESHOLD = 0.25

BIAS = -3.4382

WEIGHTS: dict[str, float] = {
    "turn.before": -4.4169,
    "pair.latest": -2.5487,
    "left": 0.5025,
    "right": 3.6431,
    "words": -6.0697,
    "user": 1.1653,
    "asks": 0.1405,
    "asked": -0.5299,
    "length": 0.9529,
    "length.before": -0.2195,
    "opens": 0.7491,
    "refers": -1.1932,
    "answers": -1.8149,
    "greets": 1.6165,
}
