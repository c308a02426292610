"""What ``make mutants`` asks of Hypothesis is still asked when tests/conftest.py has had its say."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]

# As pytest does, the folder of conftest.py stands in the path.
PROGRAM = """
import sys
sys.path.insert(0, "tests")
import hypothesis
import tests.mutation.plugin, tests.conftest
settings = hypothesis.settings.default
print(settings.derandomize, *sorted(check.name for check in settings.suppress_health_check))
"""


def test_tests_that_run_more_than_once_in_a_process_are_no_flaw() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=ROOT, capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.split() == ["True", "differing_executors", "too_slow"]
