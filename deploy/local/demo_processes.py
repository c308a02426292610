"""Register of the processes that the demo started, so that ``make down`` ends exactly those.

A process id alone may have passed to a stranger, so it is written with the time at which its process began.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import NamedTuple

import msgspec

PROCESSES_FILE = "processes.json"


class Started(NamedTuple):
    """A process: what it is, its id, and when it began (in the words of the system it runs on)."""

    name: str
    pid: int
    began: str

    @property
    def runs(self) -> bool:
        """True if this very process still runs."""
        return bool(self.began) and began(self.pid) == self.began


def began(pid: int) -> str:
    """Return when a process began, ``""`` if there is none (or only its exit status is left)."""
    try:
        # after the name, which may hold anything: the state, and the start time as the 20th field
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return "" if fields[0] in "ZX" else fields[19]
    except FileNotFoundError:
        if Path("/proc/self/stat").exists():
            return ""
    listed = subprocess.run(
        ["ps", "-o", "state=,lstart=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    state, _, time_began = listed.stdout.strip().partition(" ")
    return "" if state.startswith("Z") else time_began.strip()


def write(folder: Path, processes: dict[str, int]) -> None:
    """Write down the processes (name -> pid) that run now."""
    rows = [Started(name, pid, began(pid)) for name, pid in processes.items()]
    path = folder / PROCESSES_FILE
    fresh = path.with_suffix(".new")
    fresh.write_bytes(msgspec.json.encode(rows))
    fresh.replace(path)


def read(folder: Path) -> list[Started]:
    """Return the processes registered last; none if there are none or the file is damaged."""
    try:
        return msgspec.json.decode((folder / PROCESSES_FILE).read_bytes(), type=list[Started])
    except (FileNotFoundError, msgspec.DecodeError):
        return []


def forget(folder: Path) -> None:
    """Remove what was written down."""
    (folder / PROCESSES_FILE).unlink(missing_ok=True)


def end(process: Started, grace: float) -> None:
    """SIGTERM, then SIGKILL after ``grace`` seconds; returns when the process is gone."""
    for number, patience in ((signal.SIGTERM, grace), (signal.SIGKILL, 10.0)):
        if process.runs:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process.pid, number)
        deadline = time.monotonic() + patience
        while process.runs and time.monotonic() < deadline:
            time.sleep(0.05)
