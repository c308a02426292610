"""Comparison of this machine's clock with the broker's, by what ``serve`` writes and by what is written there.

The workers do the same by what they write; ``serve`` may run on another machine, and write nothing for long.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress

import structlog
from aiokafka import TopicPartition

from models.errors import SwitchboardError
from streams.clients.broker_clock import BrokerClock
from streams.clients.catalog import catalog_for
from streams.clients.kafka import broker
from streams.clients.topics import MESSAGES
from streams.config.settings import Settings
from streams.telemetry.health import CLOCK, HealthState

#: How often what was found is told, and how often of these the broker is asked.
_TELL_SECONDS, _ASK_EVERY = 1.0, 60

log = structlog.get_logger("streams.server.serve")


async def watch(settings: Settings, clock: BrokerClock, health: HealthState) -> None:
    """Say in ``health`` whether the clocks differ, and log it once, until cancelled."""
    told, round_number = "", 0
    while True:
        if round_number % _ASK_EVERY == 0:
            with suppress(SwitchboardError, TimeoutError):  # whoever needs the broker says that it is down
                await ask(settings, clock)
        round_number += 1
        complaint = clock.complaint
        if complaint and not told:
            log.warning("the clocks differ", reason=complaint)
        told = complaint
        health.describe(CLOCK, complaint or None)
        await asyncio.sleep(_TELL_SECONDS)


async def ask(settings: Settings, clock: BrokerClock) -> None:
    """Compare ``clock`` with the stamps of the latest messages.

    Raises:
        DependencyUnavailable: the broker does not answer.
    """
    topic = catalog_for(settings).name(MESSAGES)
    partitions = (await broker.partitions_of(settings, [topic])).get(topic, 0)
    places = [TopicPartition(topic, number) for number in range(partitions)]
    if not places:
        return
    async with broker.reading(settings) as consumer:
        consumer.assign(places)
        ends = await broker.ends_of(consumer, places)
        beginnings = await broker.beginnings_of(consumer, places)
        written = {place: end for place, end in ends.items() if end > beginnings[place]}
        if not written:
            return
        consumer.assign(list(written))
        for place, end in written.items():
            consumer.seek(place, end - 1)
        clock.note_latest([each.timestamp / 1000 async for each in broker.until(consumer, written)])
