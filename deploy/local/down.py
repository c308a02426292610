"""``switchboard down``: end what the demo started, and nothing else.  The data stays."""

from __future__ import annotations

from pathlib import Path

from deploy.local import demo_processes
from streams.config.settings import load_settings

#: The demo itself ends its workers (25 s at most) and then its broker (15 s at most).
_DEMO_GRACE = 50.0
_LEFT_OVER_GRACE = 15.0


def down(folder: Path) -> list[str]:
    """End the demo that keeps its data in ``folder`` and return the names of the processes that were ended.

    The demo comes first, for it ends its own children in order; what is left after that (it was killed, on
    a system that does not end children with their parent) is ended one by one.
    """
    running = [process for process in demo_processes.read(folder) if process.runs]
    for process in sorted(running, key=lambda process: process.name != "demo"):
        demo_processes.end(process, _DEMO_GRACE if process.name == "demo" else _LEFT_OVER_GRACE)
    demo_processes.forget(folder)
    return [process.name for process in running]


def run() -> None:
    """End what the demo started, and nothing else.  The data stays."""
    folder = load_settings().folder
    if ended := down(folder):
        print(f"ended: {', '.join(ended)}; the data stays in {folder}")
    else:
        print(f"nothing to end: no demo runs on {folder}")
