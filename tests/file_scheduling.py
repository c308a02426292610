"""Scheduling of test files over the processes of pytest-xdist, also when one dies."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

from xdist.scheduler import LoadFileScheduling
from xdist.workermanage import WorkerController

#: Files whose tests share nothing of their own: they are given out test by test, as those of faults are.
_PARTED = ("test_demo", "test_state_reset", "test_benchmarks")

_FEW_TESTS = 2
_WAIT_SECONDS = 10.0


class FileScheduling(LoadFileScheduling):
    """Gives out whole files, so that what their tests share is made once, except for a few long ones."""

    def remove_node(self, node: WorkerController) -> str | None:
        """Give the rest of a process that died to the others; return the test that it died in.

        pytest-xdist 3.8 gives out its finished files, too.  A process that gets one never answers, and the run
        never ends.
        """
        files = self.assigned_work.pop(node)
        left = [(file, test) for file, tests in files.items() for test, done in tests.items() if not done]
        if not left:
            return None
        _, crashed = left[0]
        for file, test in left[1:]:
            self.workqueue.setdefault(file, {})[test] = False
        for other in self.nodes:
            self._reschedule(other)
        return crashed

    def _reschedule(self, node: WorkerController) -> None:
        """Give a process files until it has more than two tests, or say that none follow.

        A process runs a test when it knows the next one, or that there is none.  pytest-xdist 3.8 gives one
        file and waits: who takes the place of one that died may get a single test, and never runs it.
        """
        if node.shutting_down:
            return
        while self.workqueue and self._pending_of(self.assigned_work[node]) <= _FEW_TESTS:
            self._assign_work_unit(node)
        if not self.workqueue:
            node.shutdown()

    def _split_scope(self, nodeid: str) -> str:
        file = Path(nodeid.partition("::")[0])
        whole = file.stem not in _PARTED and file.parent.name != "faults"
        return super()._split_scope(nodeid) if whole else nodeid


def how_it_ended(node: Any) -> str:
    """Return the exit status of a process of pytest-xdist; that of a signal is negative (-9: killed)."""
    try:
        return f"exit status {node.gateway._io.popen.wait(_WAIT_SECONDS)}"
    except (AttributeError, subprocess.TimeoutExpired):
        return "exit status unknown"
