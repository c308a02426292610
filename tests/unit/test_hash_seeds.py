"""What is decided does not depend on a process's hash seed: it would differ after a restart.

Sets of text are passed over in another order in each process, so whatever adds up over them must not care.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

_PRELUDE = """
import random
chance = random.Random(5)
WORDS = ("blueberries smoothie morning milk train Lisbon week sister harbour museum castle garden island "
         "temple market theatre library station river bridge").split()
def salad():
    return " ".join(chance.sample(WORDS, 8))
"""

_SUMMARIES = """
from datetime import UTC, datetime
from models.messages import Role
from models.windows import WindowMessage
from models.readings import ACTS, KINDS, Reading
from processors.summaries.extractive import Scored, summarize_messages
from processors.summaries.reading import read
import numpy as np
def scored(unit):
    numbers = np.random.default_rng(len(unit.text))
    shares = [tuple(numbers.dirichlet(np.ones(n)).tolist()) for n in (4, len(KINDS), len(ACTS))]
    return Scored(unit, Reading(*shares), numbers.standard_normal(384).astype(np.float32) / 20)
now = datetime(2026, 3, 1, tzinfo=UTC)
for _ in range(50):
    said = [
        WindowMessage(
            message_id=f"m{n}", user_id="u", role=Role.USER, content=salad(), sent_at=now, arrived_at=now,
            index=n, offset=n,
        )
        for n in range(12)
    ]
    units = read(said)
    print(summarize_messages(said, [*map(scored, units)], 80, lambda text: len(text) // 4))
"""

_SIMILARITIES = """
from processors.responses.duplicates import similarity
for _ in range(300):
    print(similarity(salad(), salad()))
"""


@pytest.mark.parametrize("script", [_SUMMARIES, _SIMILARITIES], ids=["summaries", "similarities"])
def test_every_process_decides_the_same(script: str) -> None:
    runs = [
        subprocess.run(
            [sys.executable, "-c", _PRELUDE + script],
            env={**os.environ, "PYTHONHASHSEED": str(seed), "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in (1, 2)
    ]
    assert runs[0]
    assert runs[0] == runs[1]
