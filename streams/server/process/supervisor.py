"""Keeps several worker processes running: ``switchboard worker SERVICE --processes N``.

=====================================  ======================================================================
a process ends by itself, however      it is started again under its own name, after a jittered backoff that
                                       begins anew once a process has lived for a while
:meth:`Supervisor.restart`             every process is told to stop, and started again with another priority
a process says that a setting or a     starting it again would change nothing: all are stopped, exit 78
topic is wrong (it exits with 78)
SIGTERM, SIGINT or SIGHUP              every process is told to stop and given the time that a clean stop may
                                       take; what runs then is killed
the same once more                     every process is killed at once
the supervisor is killed (SIGKILL)     the kernel kills the processes (:mod:`streams.config.child_process`);
                                       what they had not committed is read again
=====================================  ======================================================================

The exit status is 0 when all stopped cleanly, otherwise that of the first that failed.  The processes write
to the supervisor's own stderr; each of their lines names its instance.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import structlog

from streams.config import child_process
from streams.config.backoff import backoff
from streams.config.exits import EXIT_CONFIGURATION, EXIT_FAILED, EXIT_OK
from streams.config.settings import Settings
from streams.config.signals import stop_signals

#: A worker ends itself 3 s after the time for a clean stop, whatever hangs; this is for one that cannot.
#: It stays below the 30 s that those who start us are told to wait.
_GRACE_SECONDS = 4.0

log = structlog.get_logger("streams.server.process.supervisor")


class Process(NamedTuple):
    """One process to keep running: the name of its instance, and the command that starts it.

    ``env``: its environment, where that is not ours.  ``nice``: as for :func:`child_process.spawn`.
    """

    name: str
    command: Sequence[str]
    env: Mapping[str, str] | None = None
    nice: int = 0


class Supervisor:
    """Runs ``processes`` until a signal or a wrong setting ends them all.

    Of ``settings`` it uses the waits between repeats and the time for a clean stop.
    """

    def __init__(self, processes: Sequence[Process], settings: Settings) -> None:
        self._processes = {process.name: process for process in processes}
        self._restarting: set[str] = set()
        self._first_wait = settings.retry_min_seconds
        self._longest_wait = settings.retry_max_seconds
        self._patience = settings.shutdown_timeout_seconds + _GRACE_SECONDS
        self._stopping = asyncio.Event()
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._status = EXIT_OK
        # A thread for each: waiting for a process's end cannot be interrupted.
        self._waiters = ThreadPoolExecutor(len(processes), thread_name_prefix="waiter")

    async def run(self) -> int:
        """Start all, keep them running, and return the exit status once all have ended."""
        loop = asyncio.get_running_loop()
        for number in stop_signals():
            loop.add_signal_handler(number, self._signalled, number)
        await asyncio.gather(*map(self._keep, self._processes))
        self._waiters.shutdown()
        log.info("all processes have ended", status=self._status)
        return self._status

    # -- one process --------------------------------------------------------------------------------------

    def restart(self, nice: int) -> None:
        """Have every process stop and start again, this nice."""
        self._processes = {name: each._replace(nice=nice) for name, each in self._processes.items()}
        for name, child in self._running.items():
            self._restarting.add(name)
            child.terminate()

    async def _keep(self, name: str) -> None:
        """Run one process, again and again, until all are to stop."""
        attempt = 0
        while not self._stopping.is_set():
            process = self._processes[name]
            child = child_process.spawn(process.command, env=process.env, nice=process.nice)
            self._running[name] = child
            log.info("process started", instance=process.name, child=child.pid)
            began = time.monotonic()
            code = await asyncio.get_running_loop().run_in_executor(self._waiters, child.wait)
            lived = time.monotonic() - began
            del self._running[name]
            is_wanted = name in self._restarting
            self._restarting.discard(name)
            if self._stopping.is_set():
                self._ended_on_request(process, code)
            elif is_wanted:
                log.info("process restarts", instance=name, how=_in_words(code))
            elif code == EXIT_CONFIGURATION:
                log.error("a process cannot run; its last lines say what to change", instance=process.name)
                self._status = code
                self.stop("a process cannot run")
            else:
                attempt = 1 if lived > self._longest_wait else attempt + 1
                await self._back_off(process, code, attempt)

    def _ended_on_request(self, process: Process, code: int) -> None:
        # SIGTERM itself ends a process that has only begun to load: it had nothing to lose yet.
        clean = code in (EXIT_OK, -signal.SIGTERM)
        log.log(20 if clean else 40, "process ended", instance=process.name, how=_in_words(code))
        if not clean and self._status == EXIT_OK:
            self._status = code if code > 0 else EXIT_FAILED

    async def _back_off(self, process: Process, code: int, attempt: int) -> None:
        delay = backoff(attempt, self._first_wait, self._longest_wait)
        log.warning(
            "a process ended by itself; it is started again",
            instance=process.name,
            how=_in_words(code),
            attempt=attempt,
            delay=round(delay, 2),
        )
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(delay):
                await self._stopping.wait()

    # -- the end ------------------------------------------------------------------------------------------

    def _signalled(self, number: signal.Signals) -> None:
        if self._stopping.is_set():
            self._kill(f"{number.name} came again")
        else:
            self.stop(number.name)

    def stop(self, why: str) -> None:
        """Tell every process to stop; a later call changes nothing."""
        if self._stopping.is_set():
            return
        log.info("stopping all processes", because=why)
        self._stopping.set()
        for child in self._running.values():
            # One that is frozen (SIGSTOP) sees the SIGTERM once it goes on.
            for number in (signal.SIGTERM, signal.SIGCONT):
                child.send_signal(number)
        asyncio.get_running_loop().call_later(self._patience, self._kill, "they did not stop in time")

    def _kill(self, why: str) -> None:
        if self._running:
            log.error("killing what still runs", because=why, instances=sorted(self._running))
        for child in self._running.values():
            child.kill()


def _in_words(code: int) -> str:
    if code >= 0:
        return f"exit status {code}"
    try:
        return f"killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"killed by signal {-code}"
