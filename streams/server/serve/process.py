"""``switchboard serve`` in the foreground, from the first socket to the last answer.

Exit codes: 0 stopped on request; 69 it would listen for others than this machine, and the tokens cannot be
read; 70 it stopped itself (the last log line says why; start it again); 78 a setting is wrong, or a port is
taken.
"""

from __future__ import annotations

import asyncio
import os
from contextlib import AsyncExitStack, suppress

import structlog

from models.control import Generation
from models.errors import ConfigurationError, DependencyUnavailable
from streams.admin.topics.cluster import cluster_id
from streams.clients.broker_clock import BrokerClock
from streams.clients.serving import LIVE, following
from streams.config.background import in_background, until
from streams.config.exits import EXIT_CONFIGURATION, EXIT_FAILED, EXIT_OK, EXIT_UNAVAILABLE
from streams.config.service_registry import ServiceAddress, folder_id, register
from streams.config.settings import Settings
from streams.config.settings.services import health_port
from streams.llm.tokenizer import open_counter
from streams.queries.services import stated_places
from streams.server.api import tracing
from streams.server.api.access import Access, is_loopback
from streams.server.api.connection import room
from streams.server.api.measuring import counted
from streams.server.api.server import serve
from streams.server.process.life import Watchdog, tune_garbage_collection, watch_signals
from streams.server.serve import index_server
from streams.server.serve.clock import watch as watch_clock
from streams.server.serve.generations import Generations
from streams.server.serve.switching import Switch
from streams.server.tokens.known import KnownTokens
from streams.telemetry.health import HealthState
from streams.telemetry.health_server import HealthServer
from streams.telemetry.logs import configure_logging
from streams.telemetry.metrics import Metrics, process_metrics
from streams.telemetry.traces import exporting

SERVICE = "serve"

#: How long a start waits for the tokens when only this machine is answered, and for the name of the generation
#: that serves.  Until the tokens are read, whoever asks is told to come again; the generation is the
#: one that was known here last, or the live one.
_TOPICS_SECONDS = 5.0

#: How long until a broker that did not answer is asked again which cluster it belongs to.
_CLUSTER_SECONDS = 5.0

log = structlog.get_logger("streams.server.serve")


def run(settings: Settings) -> int:
    """Serve until told to stop; return the exit code."""
    configure_logging(settings.log_level, settings.log_format, instance=settings.instance_id)
    tune_garbage_collection()
    try:
        with exporting(SERVICE, settings.instance_id) as spans:
            tracing.collect(spans)
            return asyncio.run(_main(settings))
    except ConfigurationError as error:
        log.error("cannot start", error=str(error))
        return EXIT_CONFIGURATION
    except DependencyUnavailable as error:
        log.error("cannot start", error=str(error))
        return EXIT_UNAVAILABLE


async def _main(settings: Settings) -> int:
    stop = asyncio.Event()
    watch_signals(asyncio.get_running_loop(), stop, settings.shutdown_timeout_seconds + 3.0)
    metrics = process_metrics()
    health = HealthState(settings.hang_timeout_seconds)
    for name, value in (
        ("service", SERVICE),
        ("instance", settings.instance_id),
        ("topic_prefix", settings.topic_prefix),
        ("data_folder", folder_id(settings)),
    ):
        health.describe(name, value)
    async with AsyncExitStack() as resources:
        # First of all: what is refused is refused before anything is opened.
        stated_places(settings)
        is_known = await index_server.check(settings, health)
        tokens = KnownTokens(settings)
        resources.push_async_callback(tokens.close)
        switch = Switch(LIVE, lambda name: health.describe("generation", name))
        control = following(settings, switch.want)
        resources.push_async_callback(control.close)
        if settings.generation:  # one that is named is no other's
            switch.want(Generation(name=settings.generation))
            access = await _access(settings, tokens)
        else:
            access, _ = await asyncio.gather(_access(settings, tokens), control.start(_TOPICS_SECONDS))
        answering = HealthServer(health_port(settings, SERVICE), metrics.registry, health, settings.api_host)
        resources.callback(answering.close)
        watchdog = Watchdog(health, settings.hang_timeout_seconds)
        resources.callback(watchdog.close)
        beating = in_background(_beat(health), "beat")
        resources.callback(beating.cancel)
        naming = in_background(_name_cluster(settings, health), "cluster")
        resources.callback(naming.cancel)
        if not is_known:
            checking = in_background(index_server.check_until_known(settings, health), "index server")
            resources.callback(checking.cancel)
        clock = BrokerClock()
        comparing = in_background(watch_clock(settings, clock, health), "clock")
        resources.callback(comparing.cancel)
        needed = [beating, *tokens.tasks, *control.tasks]
        told_to = await _serve(settings, access, switch, metrics, health, clock, answering.port, stop, needed)
    log.info("stopped", service=SERVICE)
    return EXIT_OK if told_to else EXIT_FAILED


async def _access(settings: Settings, tokens: KnownTokens) -> Access:
    """Return the access rules.  The tokens are awaited only where they matter."""
    if settings.api_auth == "off":
        return Access.of(settings)
    local = is_loopback(settings.api_host)
    await tokens.start(_TOPICS_SECONDS if local else settings.request_timeout_seconds)
    return Access.of(settings, tokens)


async def _serve(
    settings: Settings,
    access: Access,
    switch: Switch,
    metrics: Metrics,
    health: HealthState,
    clock: BrokerClock,
    health_port: int,
    stop: asyncio.Event,
    needed: list[asyncio.Task[None]],
) -> bool:
    """Serve until ``stop``, or until something ends that is ``needed``; say whether it was ``stop``."""
    async with AsyncExitStack() as resources:
        stopping = asyncio.Event()
        counter = await asyncio.to_thread(open_counter, settings.tokenizer)
        generations = Generations(settings, metrics, access, counter, resources, stopping, clock)
        await switch.start(generations.open)
        resources.push_async_callback(switch.close)
        switching = in_background(switch.run(), "generation")
        resources.callback(switching.cancel)
        server = await serve(switch, settings.api_host, settings.api_port, counted(metrics, room()), stopping)
        resources.push_async_callback(server.stop)
        # Several of one machine differ in their ports.
        name = f"{settings.instance_id}-{server.port}"
        here = ServiceAddress(SERVICE, name, os.getpid(), settings.api_host, health_port)
        resources.callback(register(settings, here))
        health.describe("api", server.url)
        health.clear("starting")
        log.info("serving", url=server.url, metrics_port=health_port, pid=os.getpid())
        told_to = await until(stop, [*needed, switching])
        health.block("stopping", "stopping")
        log.info("stopping", service=SERVICE)
    return told_to


async def _name_cluster(settings: Settings, health: HealthState) -> None:
    """Say which cluster this is, as soon as a broker answers."""
    while True:
        with suppress(DependencyUnavailable):
            health.describe("cluster", await cluster_id(settings, settings.request_timeout_seconds))
            return
        await asyncio.sleep(_CLUSTER_SECONDS)


async def _beat(health: HealthState) -> None:
    while True:
        health.beat()
        await asyncio.sleep(1.0)
