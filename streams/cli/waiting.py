"""Messages of a person in no window yet: the answer to "I said it, why is it not found?".

A window is full after some messages, or closes when its conversation has been silent for a while; nothing is
learned from it before.
"""

from __future__ import annotations

import asyncio
from typing import NamedTuple

from aiokafka import TopicPartition

from models.errors import DependencyUnavailable
from processors.conversations.state import ConversationPolicy, is_page, silent_at
from streams.agents.ingest.conversations import STATE
from streams.cli.output import count, moment, printable
from streams.clients.catalog import catalog_for
from streams.clients.kafka import broker
from streams.config.settings import Settings
from streams.queries import services
from streams.queries.conversations import states as conversation_states
from streams.runtime.stored import StoredPartition
from streams.runtime.table import PartitionState

#: Somebody waits at a prompt, and this is only the second half of an answer.
_PATIENCE_SECONDS = 5.0

_SHOWN = 3


class Waiting(NamedTuple):
    """An open window: how many messages it has, and when it closes if no more come (epoch seconds)."""

    conversation_id: str
    messages: int
    closes_at: float


async def describe(settings: Settings, user_id: str, tenant_id: str) -> list[str]:
    """Return advice after an empty search, a line each; none if nothing waits."""
    try:
        async with asyncio.timeout(_PATIENCE_SECONDS):
            waiting = await open_windows(settings, user_id, tenant_id)
    except (DependencyUnavailable, TimeoutError):
        return ["(the broker does not answer, so whether something waits to be read is not known)"]
    lines = []
    for each in waiting[:_SHOWN]:
        name, full = printable(each.conversation_id), f"{each.messages} of {settings.window_size} messages"
        closes = f"closes at {moment(each.closes_at)}, or: switchboard conversations close {name}"
        lines.append(f"Waiting: {name}, {full}; {closes}")
    if len(waiting) > _SHOWN:
        lines.append(f"and {count(len(waiting) - _SHOWN, 'more conversation')}")
    return lines


async def hindrances(settings: Settings) -> list[str]:
    """Return the blocked services and their reasons, a line each; none if all go on."""
    return [
        f"What is newest may be missing: {report.service} is {'; '.join(report.reasons)}"
        for report in await services.ask_services(settings)
        if report.running and not report.ready
    ]


async def open_windows(settings: Settings, user_id: str, tenant_id: str) -> list[Waiting]:
    """Return the person's conversations that have messages in no window yet, the next to close first.

    Reads the changelog of ``ingest``.  Raises :class:`DependencyUnavailable` when the broker does not answer.
    """
    topic = catalog_for(settings).name(conversation_states.CHANGELOG)
    partitions = (await broker.partitions_of(settings, [topic])).get(topic, 0)
    places = [TopicPartition(topic, number) for number in range(partitions)]
    stored = StoredPartition(conversation_states.SOURCES)
    async with broker.reading(settings) as consumer:
        consumer.assign(places)
        ends = await broker.ends_of(consumer, places)
        async for record in broker.until(consumer, ends):
            if record.key is not None and not is_page(record.key):
                stored.fold([record])
    policy = ConversationPolicy(idle_seconds=settings.idle_seconds)
    found = []
    for key, payload in PartitionState(stored).items():
        state = STATE.decode(payload, key)
        messages = state.next_index - state.cursor.from_index
        if (state.user_id, state.tenant_id) == (user_id, tenant_id) and messages > state.cursor.overlap:
            found.append(Waiting(key.decode(), messages, silent_at(state, policy)))
    return sorted(found, key=lambda each: (each.closes_at, each.conversation_id))
