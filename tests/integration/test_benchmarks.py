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
from benchmarks.quality import costs
from benchmarks.quality.week import Talk
from benchmarks.table import TARGETS

ROOT = Path(__file__).parents[2]


def numbers(figures: Any) -> list[float]:
    """All numbers in nested figures."""
    if isinstance(figures, dict):
        return [number for each in figures.values() for number in numbers(each)]
    return [float(figures)] if isinstance(figures, int | float) else []


@pytest.mark.kafka
@pytest.mark.timeout(660)
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


@pytest.mark.timeout(300)
def test_ingest_is_measured_alone_and_beside_consolidation() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.pipeline.consolidation", "20"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-12000:]
    figures = json.loads(done.stdout)
    assert figures["people"] == 20 and figures["ingest_beside"] > 0
    assert figures["ingest_kept"] == pytest.approx(figures["ingest_beside"] / figures["ingest_alone"])
    assert figures["ingest_kept_of_a_core"] > 0


async def test_costs_are_measured_of_people_who_say_nothing_twice() -> None:
    messages = [text for _ in range(3) for text in Talk(7).texts(200)]
    assert len({*messages}) == 200, "the same talk for the same seed"
    talk = Talk(7)
    weeks = [text for _ in range(30) for text in talk.texts(1400)]
    assert len({*weeks}) == 30 * 1400, "a week of thirty people"
    rows = await costs.measure(people=2, per_day=10, chats=1, seed=1)
    # Windows of ten with three of the one before; a chat of one of the two, 35 things said.
    assert {purpose: row.calls for purpose, row in rows.items()} == {
        "extraction": 20, "graph": 20, "summary": rows["summary"].calls, "merging": 14, "embedding": 8,
        "understanding": 35, "answer": 35,
    }  # fmt: skip
    assert all(row.input_tokens for row in rows.values())
    spent = costs.costs(rows, "gemini-2.5-flash-lite", people=2, chats=1)
    assert all(0 < spent[each] < 0.1 for each in spent)
