"""The weights of :mod:`.features`, written by ``python -m benchmarks.quality.recall FOLDER --train``."""

from __future__ import annotations

#: Of each feature: how much one spread counts, the mean and the spread among candidates.
WEIGHTS: dict[str, tuple[float, float, float]] = {
    "meaning": (0.5331, 0.2389, 0.1063),
    "words": (0.2276, 0.1629, 0.1909),
    "around": (0.3519, 0.2251, 0.2095),
    "speaker": (1.0208, 0.4910, 0.4111),
    "question": (-0.0165, 0.1790, 0.2679),
    "length": (0.2825, 2.6067, 0.3266),
    "time": (0.1357, 0.0509, 0.0530),
    "near": (0.2098, 0.3647, 0.1119),
    "session": (0.3107, 0.3795, 0.1033),
    "session_meaning": (0.1649, 0.2389, 0.0595),
    "session_words": (0.2819, 0.3983, 0.1552),
    "instruction": (0.1079, 0.0046, 0.0351),
    "recounted_instruction": (-0.0411, 0.0027, 0.0198),
    "requested_speaker": (-0.1323, 0.1691, 0.0872),
    "requested_words": (-0.0921, 0.0396, 0.0539),
    "requested_around": (-0.0720, 0.0543, 0.0606),
}
