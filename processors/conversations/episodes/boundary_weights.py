"""The weights of :mod:`.boundaries`, written by ``python -m benchmarks.quality.boundaries FOLDER --fit``."""

from __future__ import annotations

#: From which probability on there is a boundary.
THRESHOLD = 0.35

BIAS = -2.9156

WEIGHTS: dict[str, float] = {
    "turn.before": -3.2930,
    "pair.latest": -3.8483,
    "left": 0.8731,
    "right": 1.9940,
    "words": -0.8193,
    "user": 0.7870,
    "asks": 0.9537,
    "asked": -0.9411,
    "length": 0.4670,
    "length.before": 0.5074,
    "opens": 0.3539,
    "refers": -0.4444,
    "answers": -0.5731,
    "greets": 0.5338,
}
