"""``make bench`` in its short form: it runs, and measures everything that its table names."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks.pipeline.suite import LONG_ONLY
from benchmarks.table import TARGETS

ROOT = Path(__file__).parents[2]


def numbers(figures: Any) -> list[float]:
    """All numbers in nested figures."""
    if isinstance(figures, dict):
        return [number for each in figures.values() for number in numbers(each)]
    return [float(figures)] if isinstance(figures, int | float) else []


@pytest.mark.kafka
@pytest.mark.timeout(660)
@pytest.mark.long
def test_the_short_form_measures_everything(tmp_path: Path) -> None:
    figures_at = tmp_path / "figures.json"
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", "--short", "--json", figures_at],
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-12000:]
    named = [what for part, _, what, *_ in TARGETS if part not in LONG_ONLY]
    assert [what for what in named if what not in done.stdout] == []
    figures = json.loads(figures_at.read_text())
    assert all(math.isfinite(number) and number >= 0 for number in numbers(figures)), figures
