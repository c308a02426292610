"""The weights of :mod:`.features`, written by ``python -m benchmarks.quality.recall FOLDER --train``."""

from __future__ import annotations

#: Of each feature: how much one spread counts, the mean and the spread among candidates.
WEIGHTS: dict[str, tuple[float, float, float]] = {
    "meaning": (0.4998, 0.2382, 0.1059),
    "words": (0.3740, 0.1624, 0.1911),
    "around": (0.1864, 0.2246, 0.2103),
    "speaker": (0.8811, 0.4910, 0.4111),
    "question": (-0.0513, 0.1790, 0.2680),
    "length": (0.2873, 2.6067, 0.3266),
    "longer": (-0.1653, 0.6513, 0.4442),
    "time": (0.1433, 0.0509, 0.0530),
    "dated": (0.0741, 0.0076, 0.0150),
    "near": (0.1934, 0.3637, 0.1115),
    "session": (0.3130, 0.3786, 0.1029),
    "session_meaning": (0.1761, 0.2382, 0.0591),
    "session_words": (0.2572, 0.3969, 0.1548),
    "instruction": (0.1030, 0.0046, 0.0351),
    "recounted_instruction": (-0.0283, 0.0027, 0.0198),
    "answers": (0.0724, 0.0025, 0.0155),
    "broad_instruction": (-0.0103, 0.0011, 0.0081),
    "broad_later": (-0.0207, 0.3106, 0.1020),
    "requested_speaker": (-0.1183, 0.1691, 0.0872),
    "requested_words": (-0.1289, 0.0393, 0.0537),
    "requested_around": (-0.0212, 0.0540, 0.0607),
}
