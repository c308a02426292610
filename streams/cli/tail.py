"""``switchboard tail``: read along on a topic."""

from __future__ import annotations

import asyncio
import difflib
from collections.abc import AsyncIterator
from typing import Annotated

import typer
from aiokafka import TopicPartition

from models.errors import NotFound
from streams.cli import rendering
from streams.cli.output import nobody_reads, print_json
from streams.clients.catalog import Catalog, catalog_for
from streams.clients.kafka import broker
from streams.clients.records import SourceRecord
from streams.config.settings import Settings, load_settings


def follow(
    topic: Annotated[str, typer.Argument(help="For example chat.messages.v1 or memory.facts.v1.")],
    conversation: Annotated[
        str | None, typer.Option("--conversation", "-c", help="Only records of this conversation.")
    ] = None,
    from_beginning: Annotated[
        bool, typer.Option("--from-beginning", "-b", help="Everything the topic still has, then what comes.")
    ] = False,
    follow: Annotated[
        bool, typer.Option("--follow/--no-follow", help="Go on after the end, until Ctrl-C.")
    ] = True,
    limit: Annotated[
        int | None, typer.Option("--limit", "-n", min=1, help="Stop after this many records.")
    ] = None,
    json: Annotated[
        bool, typer.Option("--json", help="One JSON object per record, with headers and the whole value.")
    ] = False,
) -> None:
    """Print the records of a topic as they arrive: time, partition:offset, key, content.

    Reads without a consumer group, so it disturbs nobody, and shows only committed records.
    """
    settings = load_settings()
    catalog = catalog_for(settings)
    name = catalog.name(topic) if topic in catalog else topic
    contract_name = catalog.get(topic).contract_name if topic in catalog else ""
    asyncio.run(
        _print_records(
            settings, catalog, name, contract_name, conversation, from_beginning, follow, limit, json
        )
    )


async def _print_records(
    settings: Settings,
    catalog: Catalog,
    topic: str,
    contract_name: str,
    conversation: str | None,
    from_beginning: bool,
    follow: bool,
    limit: int | None,
    json: bool,
) -> None:
    printed = 0
    async for record in records(settings, catalog, topic, from_beginning, follow):
        if conversation is not None and not rendering.belongs_to(record, conversation):
            continue
        if json:
            print_json(rendering.as_dict(record))
        else:
            print(rendering.line(record, contract_name), flush=True)
        printed += 1
        if printed == limit:
            return


async def records(
    settings: Settings, catalog: Catalog, topic: str, from_beginning: bool, follow: bool
) -> AsyncIterator[SourceRecord]:
    """Yield the records of ``topic`` (name on the broker); without ``follow`` up to the end as it is now.

    Raises :class:`NotFound` when there is no such topic.
    """
    found = await broker.partitions_of(settings)
    if topic not in found:
        await broker.check_visible(settings, topic)
        raise _no_such_topic(topic, catalog, sorted(found), settings)
    partitions = [TopicPartition(topic, number) for number in range(found[topic])]
    async with broker.reading(settings) as consumer:
        consumer.assign(partitions)
        ends = await broker.ends_of(consumer, partitions)
        if from_beginning:
            await consumer.seek_to_beginning(*partitions)
        else:
            for partition, end in ends.items():
                consumer.seek(partition, end)
        async for record in broker.until(consumer, ends):
            yield record
        while follow and not nobody_reads():
            for batch in (await consumer.getmany(timeout_ms=1000)).values():
                for record in batch:
                    yield record


def _no_such_topic(topic: str, catalog: Catalog, present: list[str], settings: Settings) -> NotFound:
    if topic in catalog:
        return NotFound(
            f"{topic} does not exist at {settings.bootstrap_servers} yet: `switchboard topics apply` creates it"
        )
    close = difflib.get_close_matches(topic, [*present, *(spec.contract_name for spec in catalog.all())], n=1)
    hint = f"did you mean {close[0]}?" if close else "`switchboard topics list` names those there are"
    return NotFound(f"no topic at {settings.bootstrap_servers} is called {topic!r}: {hint}")
