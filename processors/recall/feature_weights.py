"""The weights of :mod:`.features`, written by ``python -m benchmarks.quality.recall FOLDER --train``."""

from __future__ import annotations

#: Of each feature: how much one spread counts, the mean and the spread among candidates.
WEIGHTS: dict[str, tuple[float, float, float]] = {
    "meaning": (0.5202, 0.2389, 0.1063),
    "words": (0.3465, 0.1629, 0.1909),
    "around": (0.2219, 0.2251, 0.2096),
    "speaker": (1.0162, 0.4910, 0.4111),
    "question": (-0.0032, 0.1790, 0.2679),
    "length": (0.2729, 2.6067, 0.3266),
    "time": (0.1406, 0.0509, 0.0530),
    "near": (0.1867, 0.3647, 0.1119),
    "session": (0.2999, 0.3795, 0.1032),
    "session_meaning": (0.1808, 0.2389, 0.0595),
    "session_words": (0.2712, 0.3983, 0.1552),
    "instruction": (0.1143, 0.0046, 0.0351),
    "recounted_instruction": (-0.0302, 0.0027, 0.0198),
    "answers": (0.0713, 0.0025, 0.0155),
    "broad_instruction": (-0.0105, 0.0011, 0.0081),
    "broad_later": (-0.0214, 0.3106, 0.1020),
    "requested_speaker": (-0.1336, 0.1691, 0.0872),
    "requested_words": (-0.1273, 0.0397, 0.0539),
    "requested_around": (-0.0313, 0.0544, 0.0606),
}
