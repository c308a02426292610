"""``switchboard size``: what a load takes, before anything is bought."""

from __future__ import annotations

from typing import Annotated

import msgspec
import typer

from streams.admin import sizing
from streams.admin.sizing import Load, Size
from streams.cli.output import Json, print_json, print_table
from streams.clients.topic_spec import DEFAULT_PARTITIONS
from streams.config.settings import load_settings

_GIGA = 1e9


def show(
    messages_a_day: Annotated[
        float,
        typer.Option("--messages-a-day", min=1, help="Messages of people and assistants.", show_default=False),
    ],
    days: Annotated[float, typer.Option("--days", min=1, help="After how many days.")] = 365,
    peak: Annotated[float, typer.Option("--peak", min=1, help="The busiest hour against the mean.")] = 3,
    facts: Annotated[
        float | None,
        typer.Option("--facts-a-message", help="Facts that come of a message; else as measured: 0.5."),
    ] = None,
    replicas: Annotated[int, typer.Option("--replicas", min=1, help="Copies of each partition in Kafka.")] = 3,
    json: Json = False,
) -> None:
    """Reckon cores, processes, memory and disks for a load, with the retention that the settings say.

    The figures a message are measured, with the built-in models and people who say
    something worth keeping in every second message: chat that is plainer takes less.
    """
    load = Load(messages_a_day=messages_a_day, days=days, peak=peak, replicas=replicas, facts_a_message=facts)
    found = sizing.size(load, load_settings())
    if json:
        print_json(msgspec.to_builtins(found))
        return
    heads = ("", "cores, busiest hour", "processes", "memory each", "disk each")
    print_table(heads, _services(found), right=(1, 2, 3, 4))
    print()
    rows = [
        ("Kafka, all brokers", f"{found.kafka_cores:.2f}", "", _size(found.kafka_disk_bytes)),
        ("Redis", "", _size(found.redis_bytes), ""),
        ("Qdrant", "", _size(found.qdrant_bytes), _size(found.qdrant_bytes)),
    ]
    print_table(("", "cores", "memory", "disk"), rows, right=(1, 2, 3))
    most = max(found.processes.values())
    if most > DEFAULT_PARTITIONS:
        print(f"\nPartitions: at least {most}, so that so many processes can share the work.")
    largest = sorted(found.kafka_topic_bytes.items(), key=lambda each: -each[1])[:5]
    told = ", ".join(f"{name} {_size(size)}" for name, size in largest)
    print(f"\nThe largest topics, one replica, after {days:g} days: {told}.")


def _services(found: Size) -> list[tuple[str, str, int, str, str]]:
    return [
        (
            name,
            f"{cores:.2f}",
            found.processes[name],
            _size(found.process_bytes[name]),
            _size(disk) if (disk := found.process_disk_bytes[name]) else "",
        )
        for name, cores in found.cores.items()
    ]


def _size(number: float) -> str:
    return f"{number / _GIGA:,.1f} GB"
