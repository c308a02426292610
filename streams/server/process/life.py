"""The life of a process of ours, whatever it runs: its signals, its end, and what ends it when it hangs."""

from __future__ import annotations

import asyncio
import faulthandler
import gc
import os
import signal
import sys
import threading
import time
from contextlib import suppress

from streams.config.exits import EXIT_FAILED
from streams.config.signals import stop_signals
from streams.telemetry.health import HealthState

_CLOSE_SECONDS = 10.0  # far above what a look takes


class Watchdog:
    """Ends a process whose event loop, or whose step in a thread, tells nothing for ``timeout`` s.

    What hangs cannot be cancelled.
    The partitions then go to a worker that works, after the session timeout.
    """

    def __init__(self, health: HealthState, timeout: float) -> None:
        self._health = health
        self._timeout = timeout
        self._closed = threading.Event()
        self._interval = min(1.0, timeout / 4)
        self._thread = threading.Thread(target=self._watch, name="watchdog", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop watching; nothing is ended by it from now on."""
        self._closed.set()
        self._thread.join(_CLOSE_SECONDS)

    def _watch(self) -> None:
        checked = time.monotonic()
        while not self._closed.wait(self._interval):
            silence, what = self._health.longest_silence()
            before, checked = checked, time.monotonic()
            if checked - before >= self._interval + 1.0:
                # This thread did not run either: the whole process stood still, and that is no hang.
                self._health.stood_still(checked - before)
            elif silence > self._timeout:
                end_now(f"its {what} hangs for {self._timeout:g} s")


def tune_garbage_collection() -> None:
    """Let the collector leave alone what never becomes garbage, and look less often for what does.

    A batch makes thousands of short-lived records without cycles; Python's default looks for cycles after
    every 700 of them.  Measured: a tenth of the conversations stage's time.
    """
    gc.freeze()
    gc.set_threshold(100_000, 50, 100)


def watch_signals(loop: asyncio.AbstractEventLoop, stop: asyncio.Event, deadline: float) -> None:
    """Set ``stop`` on a signal to stop, and end the process if it has not ended ``deadline`` s later.

    A Python signal handler runs on the main thread, which may hang in a step.  The interpreter's wake-up
    descriptor is written by the C handler itself, so a thread that reads it always learns of the signal.
    """
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    for number in stop_signals():
        signal.signal(number, lambda *_: None)

    def wait() -> None:
        os.read(reader, 1)
        with suppress(RuntimeError):  # the loop is closed: the process ends already
            loop.call_soon_threadsafe(stop.set)
        end_later(deadline)

    threading.Thread(target=wait, name="signals", daemon=True).start()


def end_later(seconds: float) -> None:
    """End the process after ``seconds``, unless it has ended by then."""
    timer = threading.Timer(seconds, end_now, args=("it did not stop in time",))
    timer.daemon = True
    timer.start()


def end_now(reason: str, status: int = EXIT_FAILED, *, stacks: bool = True) -> None:
    """End the process whatever hangs; uncommitted work is read again by whoever takes over."""
    where = "; where its threads stand:" if stacks else ""
    print(f"the process (pid {os.getpid()}) ends itself: {reason}{where}", file=sys.stderr)
    if stacks:
        faulthandler.dump_traceback(all_threads=True)
    sys.stderr.flush()
    os._exit(status)
