"""The weights of :mod:`.features`, written by ``python -m benchmarks.quality.recall FOLDER --train``."""

from __future__ import annotations

#: Of each feature: how much one spread counts, the mean and the spread among candidates.
WEIGHTS: dict[str, tuple[float, float, float]] = {
    "meaning": (0.5370, 0.2380, 0.1070),
    "words": (0.2280, 0.1660, 0.1900),
    "around": (0.3520, 0.2280, 0.2080),
    "speaker": (1.0230, 0.4900, 0.4100),
    "question": (-0.0140, 0.1790, 0.2680),
    "length": (0.2820, 2.6060, 0.3270),
    "time": (0.1370, 0.0510, 0.0530),
    "near": (0.1930, 0.3640, 0.1020),
    "session": (0.3070, 0.3790, 0.1030),
    "session_meaning": (0.1770, 0.2380, 0.0600),
    "session_words": (0.2710, 0.4050, 0.1540),
    "instruction": (0.1080, 0.0050, 0.0350),
    "recounted_instruction": (-0.0410, 0.0030, 0.0200),
    "requested_speaker": (-0.1330, 0.1690, 0.0870),
    "requested_words": (-0.0910, 0.0400, 0.0530),
    "requested_around": (-0.0720, 0.0540, 0.0600),
}
