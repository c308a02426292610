"""``switchboard worker``: one service in the foreground, from the first connection to the last commit.

Exit codes: 0 stopped on request; 69 the broker cannot be reached; 70 the worker stopped itself (the last
log line says why; start it again); 78 a setting or a topic is wrong, or another worker has the name.
"""

from __future__ import annotations

import asyncio
import faulthandler
import gc
import os
import signal
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, suppress

import structlog
from aiokafka.errors import KafkaConnectionError

from models.errors import ConfigurationError, DependencyUnavailable
from streams.exits import EXIT_CONFIGURATION, EXIT_FAILED, EXIT_OK, EXIT_UNAVAILABLE
from streams.name_lock import take_name
from streams.processes import ALONE, Place
from streams.runtime.lease import FencedInstanceIdError
from streams.runtime.service import ServiceRuntime
from streams.services import Service, open_service
from streams.settings import Settings
from streams.signals import stop_signals
from streams.telemetry.health import HealthServer, HealthState, health_port
from streams.telemetry.logs import configure_logging
from streams.telemetry.metrics import Metrics, process_metrics
from streams.topics import admin, cluster
from streams.topics.catalog import Catalog, catalog_for
from streams.topics.rights import check_rights, topics_of
from streams.whereabouts import Whereabouts, leave_note

Opener = Callable[[str, Settings, Metrics, AsyncExitStack], Awaitable[Service]]

log = structlog.get_logger("streams.worker")


def run(service: str, settings: Settings, opener: Opener = open_service, place: Place = ALONE) -> int:
    """Run ``service`` until it is told to stop or must; return the exit code.

    ``opener`` makes the service's stages; tests pass their own.  ``place`` says which of several processes
    this one is; ``settings`` are its own.
    """
    configure_logging(settings.log_level, settings.log_format, instance=settings.instance_id)
    tune_garbage_collection()
    try:
        return asyncio.run(_main(service, settings, opener, place))
    except ConfigurationError as exc:
        log.error("cannot start", error=str(exc))
        return EXIT_CONFIGURATION
    except DependencyUnavailable as exc:
        log.error("cannot start", error=str(exc))
        return EXIT_UNAVAILABLE


async def _main(service: str, settings: Settings, opener: Opener, place: Place) -> int:
    stop = asyncio.Event()
    watch_signals(asyncio.get_running_loop(), stop, settings.shutdown_timeout_seconds + 3.0)
    metrics = process_metrics()
    health = HealthState(settings.hang_timeout_seconds)
    health.describe("service", service)
    health.describe("instance", settings.instance_id)
    health.describe("topic_prefix", settings.topic_prefix)
    health.describe("process", place.index)
    health.describe("processes", place.count)
    async with AsyncExitStack() as resources:
        server = await _serve_health(service, settings, metrics, health)
        resources.callback(server.close)
        log.info("starting", service=service, metrics_port=server.port, pid=os.getpid())
        resources.callback(await _take_name(service, settings))
        where = (settings.api_host, server.port)
        here = Whereabouts(service, settings.instance_id, os.getpid(), *where, place.index)
        resources.callback(leave_note(settings, here))
        catalog = catalog_for(settings)
        await _check_topics(service, catalog, settings)
        parts = await opener(service, settings, metrics, resources)
        runtime = ServiceRuntime(
            service, parts.stages, settings=settings, catalog=catalog, metrics=metrics, health=health
        )
        watchdog = Watchdog(health, settings.hang_timeout_seconds)
        resources.callback(watchdog.close)
        return await _serve(runtime, parts, stop)


async def _serve_health(
    service: str, settings: Settings, metrics: Metrics, health: HealthState
) -> HealthServer:
    try:
        return HealthServer(health_port(settings, service), metrics.registry, health, settings.api_host)
    except ConfigurationError:
        # That this very worker runs already says more than that its port is taken.
        with suppress(DependencyUnavailable):
            (await _take_name(service, settings))()
        raise


async def _take_name(service: str, settings: Settings) -> Callable[[], None]:
    """Refuse to be the second worker of a name on this machine; return what gives the name back."""
    cluster_id = await cluster.cluster_id(settings, settings.request_timeout_seconds)
    lock = await take_name(cluster_id, settings, service)
    return (lambda: None) if lock is None else lock.release


async def _check_topics(service: str, catalog: Catalog, settings: Settings) -> None:
    """Refuse to start on topics that would lose or split data (rule 10), or without the rights to use them."""
    own, patience = Catalog(topics_of(service, catalog), catalog.prefix), settings.request_timeout_seconds
    differences = await admin.check(own, settings, timeout_seconds=patience)
    blocking = [difference for difference in differences if difference.blocking]
    if blocking:
        lines = [f"{d.topic}: {d.what} is {d.found}, expected {d.expected}: {d.advice}" for d in blocking[:5]]
        raise ConfigurationError(
            "the topics on the broker are not as the contract says; run 'switchboard topics apply' or "
            "'switchboard topics check':\n" + "\n".join(lines)
        )
    await check_rights(service, catalog, settings, timeout_seconds=patience)
    for difference in differences:
        log.warning("a topic differs", topic=difference.topic, what=difference.what, found=difference.found)


async def _serve(runtime: ServiceRuntime, parts: Service, stop: asyncio.Event) -> int:
    """Run until ``stop`` or a failure, then stop in order: companions, stages."""
    closers = []
    try:
        await runtime.start()
        for companion in parts.companions:
            closers.append(await companion(runtime.health))
        waiting = [asyncio.create_task(stop.wait()), asyncio.create_task(runtime.failed.wait())]
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        for task in waiting:
            task.cancel()
    except (KafkaConnectionError, TimeoutError) as exc:
        raise DependencyUnavailable("kafka", f"no broker answers: {exc!r}") from exc
    finally:
        log.info("stopping", service=runtime.name, failed=runtime.failure is not None)
        if isinstance(runtime.failure, FencedInstanceIdError):
            # Nothing is left to say or to save: what this one holds is the other's by now.  Started again, it
            # would take it back, and so on for ever: a name is a setting.
            _end_now("another worker has its name", EXIT_CONFIGURATION, stacks=False)
        # A worker that failed must not commit or drain: whatever it holds is read again by the next one.
        patience = runtime.settings.shutdown_timeout_seconds if runtime.failure is None else 2.0
        # Also for what follows: a companion that does not close, a thread that Python waits for at exit.
        _end_later(patience + 3.0)
        for close in reversed(closers):
            await close()
        try:
            async with asyncio.timeout(patience):
                await runtime.stop()
        except TimeoutError:
            _end_now("it did not stop in time" if runtime.failure is None else "it failed")
    if runtime.failure is not None:
        return EXIT_FAILED
    log.info("stopped", service=runtime.name)
    return EXIT_OK


class Watchdog:
    """Ends a process whose event loop has not run for ``timeout`` s: a step that hangs cannot be cancelled.

    The partitions then go to a worker that works, after the session timeout.
    """

    def __init__(self, health: HealthState, timeout: float) -> None:
        self._health = health
        self._timeout = timeout
        self._closed = threading.Event()
        self._interval = min(1.0, timeout / 4)
        threading.Thread(target=self._watch, name="watchdog", daemon=True).start()

    def close(self) -> None:
        """Stop watching."""
        self._closed.set()

    def _watch(self) -> None:
        checked = time.monotonic()
        while not self._closed.wait(self._interval):
            before, checked = checked, time.monotonic()
            # If this thread did not run either, the whole process stood still: that is no hang.
            awake = checked - before < self._interval + 1.0
            if awake and self._health.silence() > self._timeout:
                _end_now(f"its event loop hangs for {self._timeout:g} s")


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
        loop.call_soon_threadsafe(stop.set)
        _end_later(deadline)

    threading.Thread(target=wait, name="signals", daemon=True).start()


def _end_later(seconds: float) -> None:
    """End the process after ``seconds``, unless it has ended by then."""
    timer = threading.Timer(seconds, _end_now, args=("it did not stop in time",))
    timer.daemon = True
    timer.start()


def _end_now(reason: str, status: int = EXIT_FAILED, *, stacks: bool = True) -> None:
    """End the process whatever hangs; uncommitted work is read again by whoever takes over."""
    where = "; where its threads stand:" if stacks else ""
    print(f"the worker (pid {os.getpid()}) ends itself: {reason}{where}", file=sys.stderr)
    if stacks:
        faulthandler.dump_traceback(all_threads=True)
    sys.stderr.flush()
    os._exit(status)
