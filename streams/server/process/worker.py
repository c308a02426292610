"""``switchboard worker``: one service in the foreground, from the first connection to the last commit.

Exit codes: 0 stopped on request; 69 the broker cannot be reached; 70 the worker stopped itself (the last
log line says why; start it again); 78 a setting or a topic is wrong, or another worker has the name.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, suppress

import structlog
from aiokafka.errors import KafkaConnectionError

from models.errors import ConfigurationError, DependencyUnavailable
from streams.admin.topics import admin, cluster
from streams.admin.topics.rights import check_rights, topics_of
from streams.clients.catalog import Catalog, catalog_for
from streams.config.exits import EXIT_CONFIGURATION, EXIT_FAILED, EXIT_OK, EXIT_UNAVAILABLE
from streams.config.name_lock import take_name
from streams.config.service_registry import ServiceAddress, folder_id, register
from streams.config.settings import Settings
from streams.config.settings.services import health_port
from streams.runtime.lease import FencedInstanceIdError
from streams.runtime.service import ServiceRuntime
from streams.server.process.life import Watchdog, end_later, end_now, tune_garbage_collection, watch_signals
from streams.server.process.processes import ALONE, Place
from streams.server.process.services import Service, open_service
from streams.telemetry.health import HealthState
from streams.telemetry.health_server import HealthServer
from streams.telemetry.logs import configure_logging
from streams.telemetry.metrics import Metrics, process_metrics
from streams.telemetry.version import code_version

Opener = Callable[[str, Settings, Metrics, AsyncExitStack], Awaitable[Service]]

log = structlog.get_logger("streams.server.process.worker")


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
    health.describe("generation", settings.generation)
    health.describe("data_folder", folder_id(settings))
    health.describe("process", place.index)
    health.describe("processes", place.count)
    async with AsyncExitStack() as resources:
        server = await _serve_health(service, settings, metrics, health)
        resources.callback(server.close)
        log.info("starting", service=service, metrics_port=server.port, pid=os.getpid())
        await asyncio.to_thread(code_version)  # asks git: on a busy machine for longer than a loop may stand
        cluster_id = await cluster.cluster_id(settings, settings.request_timeout_seconds)
        health.describe("cluster", cluster_id)
        resources.callback(await _take_name(service, settings, cluster_id))
        where = (settings.api_host, server.port)
        here = ServiceAddress(service, settings.instance_id, os.getpid(), *where, place.index)
        resources.callback(register(settings, here))
        catalog = catalog_for(settings)
        await _check_topics(service, catalog, settings)
        parts = await opener(service, settings, metrics, resources)
        runtime = ServiceRuntime(
            service, parts.stages, settings=settings, catalog=catalog, metrics=metrics, health=health
        )
        watchdog = Watchdog(health, settings.hang_timeout_seconds)
        resources.callback(watchdog.close)
        for known in parts.needed:
            await known()
        return await _serve(runtime, parts, stop)


async def _serve_health(
    service: str, settings: Settings, metrics: Metrics, health: HealthState
) -> HealthServer:
    try:
        return HealthServer(health_port(settings, service), metrics.registry, health, settings.api_host)
    except ConfigurationError:
        # That this very worker runs already says more than that its port is taken.
        with suppress(DependencyUnavailable):
            cluster_id = await cluster.cluster_id(settings, settings.request_timeout_seconds)
            (await _take_name(service, settings, cluster_id))()
        raise


async def _take_name(service: str, settings: Settings, cluster_id: str) -> Callable[[], None]:
    """Refuse to be the second worker of a name on this machine; return what gives the name back."""
    lock = await take_name(cluster_id, settings, service)
    return (lambda: None) if lock is None else lock.release


async def _check_topics(service: str, catalog: Catalog, settings: Settings) -> None:
    """Refuse to start on topics that would lose or split data (rule 10), or without the rights to use them."""
    own, patience = Catalog(topics_of(service, catalog), *catalog.namespace), settings.request_timeout_seconds
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
            end_now("another worker has its name", EXIT_CONFIGURATION, stacks=False)
        # A worker that failed must not commit or drain: whatever it holds is read again by the next one.
        patience = runtime.settings.shutdown_timeout_seconds if runtime.failure is None else 2.0
        # Also for what follows: a companion that does not close, a thread that Python waits for at exit.
        end_later(patience + 3.0)
        for close in reversed(closers):
            await close()
        try:
            async with asyncio.timeout(patience):
                await runtime.stop()
        except TimeoutError:
            end_now("it did not stop in time" if runtime.failure is None else "it failed")
    if runtime.failure is not None:
        return EXIT_FAILED
    log.info("stopped", service=runtime.name)
    return EXIT_OK
