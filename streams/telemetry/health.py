"""Health of a worker: the reasons to restart it, the reasons why it is not ready, and details of its work.

:mod:`.health_server` answers requests with it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

#: A value that `/readyz` and `/healthz` show under "details".
Detail = str | int | float | bool | list[str] | dict[str, int] | None

#: The detail of a service that builds an index anew: how far it is, and what to do once it is whole.
INDEX_REBUILD = "index_rebuild"

#: The detail of a process whose Qdrant server is unchecked, or lacks something: which, and what to do.
INDEX_SERVER = "index_server"

#: The detail of a service whose machine and broker do not agree on the time.
CLOCK = "clock"

#: The detail of a service that could not let go of what is kept no longer.
EXPIRY = "expiry"

#: The detail of a service whose files hold what was erased, and cannot be rewritten.
ERASED_FILES = "erased_files"


class HealthState:
    """Health of a worker.  Safe to use from any thread.

    A worker starts alive (it has just beaten) and not ready ("starting").  Each reason not to be ready has
    a name, so that one part clearing its own does not clear another's.
    """

    def __init__(self, hang_timeout_seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._hang_timeout = hang_timeout_seconds
        self._clock = clock
        self._lock = threading.Lock()
        self._last_beat = clock()
        self._failure: str | None = None
        self._standby = False
        self._blocks: dict[str, str] = {"starting": "starting"}
        self._waiting: dict[str, tuple[int, float]] = {}
        self._details: dict[str, Detail] = {}
        self._working: dict[object, tuple[str, float]] = {}

    def standby(self, standby: bool) -> None:
        """Say whether this worker has no partitions because others have them all."""
        self._standby = standby

    @property
    def is_standby(self) -> bool:
        """True if other workers have all the partitions."""
        return self._standby

    def beat(self) -> None:
        """The event loop is alive.  To be called every second."""
        self._last_beat = self._clock()

    def silence(self) -> float:
        """Return for how long the event loop has not beaten (seconds)."""
        return self._clock() - self._last_beat

    @contextmanager
    def working(self, what: str) -> Iterator[Callable[[], None]]:
        """Note that a thread works at ``what``: one that does not end hangs as much as a loop that does not.

        Yields what it may call to tell that it goes on.
        """
        this = object()

        def goes_on() -> None:
            with self._lock:
                self._working[this] = what, self._clock()

        goes_on()
        try:
            yield goes_on
        finally:
            with self._lock:
                del self._working[this]

    def stood_still(self, seconds: float) -> None:
        """The whole process did not run for so long: that is not charged to the threads that work.

        The event loop beats as soon as it runs again; a thread tells nothing before its end.
        """
        now = self._clock()
        with self._lock:
            for this, (what, since) in self._working.items():
                self._working[this] = what, min(since + seconds, now)

    def longest_silence(self) -> tuple[float, str]:
        """Return for how long the event loop, or a thread that works, has told nothing (seconds), and which."""
        now = self._clock()
        with self._lock:
            working = [(now - since, what) for what, since in self._working.values()]
        return max([(self.silence(), "event loop"), *working])

    def fail(self, reason: str) -> None:
        """The worker is stopping for good, and why; `/healthz` says so until the process ends."""
        with self._lock:
            self._failure = reason

    def block(self, name: str, reason: str) -> None:
        """Not ready, because of ``reason``; a later call with the same ``name`` replaces the reason."""
        with self._lock:
            self._blocks[name] = reason

    def clear(self, name: str) -> None:
        """``name`` no longer keeps the worker from being ready."""
        with self._lock:
            self._blocks.pop(name, None)

    def waiting(self, dependency: str) -> None:
        """A stage started to wait for ``dependency``.  Calls nest: several stages may wait for one."""
        with self._lock:
            count, since = self._waiting.get(dependency, (0, self._clock()))
            self._waiting[dependency] = (count + 1, since)

    def arrived(self, dependency: str) -> None:
        """A stage that waited for ``dependency`` goes on."""
        with self._lock:
            count, since = self._waiting.pop(dependency, (0, 0.0))
            if count > 1:
                self._waiting[dependency] = (count - 1, since)

    def waited_for(self) -> dict[str, float]:
        """Return the dependencies that stages wait for, and the waiting times (seconds)."""
        now = self._clock()
        with self._lock:
            return {name: now - since for name, (_, since) in self._waiting.items()}

    def describe(self, name: str, value: Detail) -> None:
        """Show ``value`` under "details"."""
        with self._lock:
            self._details[name] = value

    def why_unhealthy(self) -> list[str]:
        """Return the reasons to restart this worker; none when it is alive."""
        silence, what = self.longest_silence()
        reasons = []
        with self._lock:
            if self._failure is not None:
                reasons.append(self._failure)
        if silence > self._hang_timeout:
            reasons.append(f"the {what} has not answered for {silence:.0f} s")
        return reasons

    def why_not_ready(self) -> list[str]:
        """Return the reasons why the worker is not ready; none when it is."""
        reasons = self.why_unhealthy()
        with self._lock:
            reasons += self._blocks.values()
        reasons += [f"waiting for {name} for {seconds:.0f} s" for name, seconds in self.waited_for().items()]
        return reasons

    def details(self) -> dict[str, Detail]:
        """Return a copy of what :meth:`describe` was told."""
        with self._lock:
            return dict(self._details)
