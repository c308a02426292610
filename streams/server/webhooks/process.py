"""``switchboard webhook deliver`` in the foreground: one :class:`.delivering.Delivery` for each endpoint.

Any number may run: they share the partitions of each endpoint.  Exit codes are those of ``switchboard serve``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import AsyncExitStack, aclosing

import structlog

from models.errors import ConfigurationError, DependencyUnavailable, SwitchboardError
from models.webhooks import Webhook
from streams.config.background import cancel_and_wait, in_background, until
from streams.config.backoff import backoff
from streams.config.exits import EXIT_CONFIGURATION, EXIT_FAILED, EXIT_OK, EXIT_UNAVAILABLE
from streams.config.settings import Settings
from streams.config.settings.services import health_port
from streams.server.process.life import watch_signals
from streams.server.webhooks.delivering import Delivery
from streams.server.webhooks.endpoints import WEBHOOKS
from streams.server.webhooks.sending import Sender
from streams.telemetry.health import HealthState
from streams.telemetry.health_server import HealthServer
from streams.telemetry.logs import configure_logging
from streams.telemetry.metrics import Metrics, process_metrics

SERVICE = "webhooks"

log = structlog.get_logger("streams.server.webhooks")


class Fleet:
    """Deliveries to all endpoints that there are; one that is added or removed is followed."""

    def __init__(self, settings: Settings, metrics: Metrics, health: HealthState) -> None:
        self._settings = settings
        self._metrics = metrics
        self._health = health
        self._known: dict[str, Webhook] = {}
        self._running: dict[str, asyncio.Task[None]] = {}

    async def run(self) -> None:
        """Follow the endpoints until it is cancelled."""
        attempt = 0
        try:
            while True:
                try:
                    async with aclosing(WEBHOOKS.follow(self._settings)) as changes:
                        async for webhooks in changes:
                            attempt = 0
                            await self.change(webhooks)
                            self._health.clear("starting")
                except DependencyUnavailable as error:
                    # Those that run go on.
                    log.warning("the webhooks cannot be followed", error=str(error))
                attempt += 1
                await asyncio.sleep(backoff(attempt, 0.2, 5.0))
        finally:
            await self.change({})

    async def change(self, webhooks: Mapping[str, Webhook]) -> None:
        """Deliver to these endpoints and no others."""
        gone = [name for name in self._running if webhooks.get(name) != self._known[name]]
        # They stay known until they have ended: who cancels this meanwhile ends them, too.
        await cancel_and_wait(*(self._running[name] for name in gone))
        for name in gone:
            del self._running[name]
        for name, webhook in webhooks.items():
            if name not in self._running:
                self._running[name] = in_background(self._delivery(webhook).run(), f"webhook {name}")
        self._known = dict(webhooks)

    def _delivery(self, webhook: Webhook) -> Delivery:
        settings = self._settings
        allow = settings.webhook_private_addresses == "allow"
        sender = Sender(webhook, settings.webhook_timeout_seconds, allow_private=allow)
        return Delivery(settings, webhook, self._metrics, sender)


def run(settings: Settings) -> int:
    """Deliver until told to stop; return the exit code."""
    configure_logging(settings.log_level, settings.log_format, instance=settings.instance_id)
    try:
        return asyncio.run(_main(settings))
    except ConfigurationError as error:
        log.error("cannot start", error=str(error))
        return EXIT_CONFIGURATION
    except SwitchboardError as error:
        log.error("cannot start", error=str(error))
        return EXIT_UNAVAILABLE


async def _main(settings: Settings) -> int:
    stop = asyncio.Event()
    watch_signals(asyncio.get_running_loop(), stop, settings.shutdown_timeout_seconds + 3.0)
    metrics, health = process_metrics(), HealthState(settings.hang_timeout_seconds)
    health.describe("service", SERVICE)
    async with AsyncExitStack() as resources:
        server = HealthServer(health_port(settings, SERVICE), metrics.registry, health, settings.api_host)
        resources.callback(server.close)
        beating = in_background(_beat(health), "beat")
        delivering = in_background(Fleet(settings, metrics, health).run(), "webhooks")
        log.info("delivering webhooks", metrics_port=server.port)
        told_to = await until(stop, [beating, delivering])
        log.info("stopping", service=SERVICE)
        async with asyncio.timeout(settings.shutdown_timeout_seconds):
            await cancel_and_wait(beating, delivering)
    return EXIT_OK if told_to else EXIT_FAILED


async def _beat(health: HealthState) -> None:
    while True:
        health.beat()
        await asyncio.sleep(1.0)
