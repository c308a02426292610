"""How a contender tells its result: one JSON line on standard output."""

from __future__ import annotations

import json
import os
import sys
import time

from benchmarks.pipeline.cores import Progress

#: Records between two writes of the progress: one that counts singly should not pay for each.
_TELL_EVERY = 100


class Stopwatch:
    """Counts processed records; the clock runs over the last three quarters of them.

    The first quarter is start-up: joining the group, and records fetched before the first was processed.
    Who measures from outside names a file in ``BENCHMARK_PROGRESS``: it also writes the count there.
    """

    def __init__(self, wanted: int) -> None:
        self.wanted = wanted
        self.records = 0
        self._began = 0.0
        self._cpu = 0.0
        self._skipped = 0
        watched = os.environ.get("BENCHMARK_PROGRESS")
        self._progress = Progress(watched) if watched else None
        self._told = 0

    def add(self, records: int = 1) -> bool:
        """Count ``records``; true when all that were wanted are done."""
        self.records += records
        if self._progress is not None and self.records - self._told >= _TELL_EVERY:
            self._progress.write(self.records)
            self._told = self.records
        if not self._skipped and self.records >= self.wanted / 4:
            self._began, self._skipped = time.perf_counter(), self.records
            self._cpu = time.process_time()
        return self.records >= self.wanted

    def report(self, **more: float | str) -> None:
        """Print the result; to be called when everything is confirmed."""
        records = self.records - self._skipped
        cpu = (time.process_time() - self._cpu) / records * 1e6
        print_result(records, time.perf_counter() - self._began, cpu_microseconds=cpu, **more)


def print_result(records: int, seconds: float, **more: float | str) -> None:
    """Print ``records`` in ``seconds`` and what else there is to say."""
    # Not sys.stdout: Faust's worker puts its logger in that place.
    print(
        json.dumps({"records": records, "seconds": seconds, "rate": records / seconds, **more}),
        file=sys.__stdout__,
        flush=True,
    )
