"""Waiting for a condition, in tests of other processes."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

#: For a machine that does other things, too.
PATIENCE = 150.0


def eventually(condition: Callable[[], Any], what: str, seconds: float = PATIENCE) -> Any:
    """Return what ``condition`` returns as soon as it is true; fail with ``what`` after ``seconds``."""
    deadline = time.monotonic() + seconds
    while not (result := condition()):
        assert time.monotonic() < deadline, f"not within {seconds:g} s: {what}"
        time.sleep(0.1)
    return result


def is_alive(pid: int) -> bool:
    """Tell whether the process runs: one that has ended but was not yet collected by its parent does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
