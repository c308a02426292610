"""``switchboard size``: what a load takes, before anything is bought."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
import typer

from models.errors import ConfigurationError
from streams.admin import sizing
from streams.admin.pricing import Prices, monthly
from streams.admin.sizing import Load, Size
from streams.cli.output import Json, print_json, print_table
from streams.clients.topic_spec import DEFAULT_PARTITIONS
from streams.config.settings import load_settings

_GIGA = 1e9


#: Messages of a person and their assistant a day, where nobody says how many.
_OF_A_PERSON = 20.0


def _price(name: str, of: str) -> Any:
    return typer.Option(name, min=0.0, help=f"Price of {of} a month, in any currency.", show_default=False)


def show(
    messages_a_day: Annotated[
        float | None,
        typer.Option(
            "--messages-a-day", min=1, help="Messages of people and assistants per day.", show_default=False
        ),
    ] = None,
    people: Annotated[
        float | None,
        typer.Option(
            "--people",
            min=1,
            help=f"People; without --messages-a-day each has {_OF_A_PERSON:g} messages a day.",
            show_default=False,
        ),
    ] = None,
    days: Annotated[
        float, typer.Option("--days", min=1, help="Age of the deployment: disks grow with it.")
    ] = 365,
    peak: Annotated[
        float, typer.Option("--peak", min=1, help="The busiest hour, as a multiple of the mean.")
    ] = 3,
    facts: Annotated[
        float | None,
        typer.Option("--facts-a-message", help="Facts per message; without it 0.5, as measured."),
    ] = None,
    replicas: Annotated[int, typer.Option("--replicas", min=1, help="Copies of each partition in Kafka.")] = 3,
    broker_disk: Annotated[float, typer.Option("--broker-disk", min=1, help="GB of disk of a broker.")] = 2000,
    core: Annotated[float, _price("--core-price", "a core")] = 0.0,
    memory: Annotated[float, _price("--memory-price", "a GB of memory")] = 0.0,
    disk: Annotated[float, _price("--disk-price", "a GB of disk")] = 0.0,
    json: Json = False,
) -> None:
    """Estimate the pods, cores, memory, disks and price of a load, with the retention of the settings.

    The figures per message are measured, with the built-in models and people who say something worth keeping
    in every second message: plainer chat takes less.
    """
    if messages_a_day is None and people is None:
        raise ConfigurationError("how much is it for? Give --messages-a-day or --people")
    load = Load(
        messages_a_day=messages_a_day if messages_a_day is not None else _OF_A_PERSON * (people or 0.0),
        people=people,
        days=days,
        peak=peak,
        replicas=replicas,
        facts_a_message=facts,
        broker_disk_bytes=broker_disk * _GIGA,
    )
    found = sizing.size(load, load_settings())
    prices = Prices(core=core, memory_gb=memory, disk_gb=disk)
    costs = monthly(found, prices) if prices else {}
    if json:
        print_json({**msgspec.to_builtins(found), "pods": found.pods, "monthly": costs})
        return
    heads = ("", "cores, busiest hour", "pods", "memory each", "disk each")
    print_table(heads, _services(found), right=(1, 2, 3, 4))
    print()
    broker_disk_each = _size(found.kafka_disk_bytes / found.brokers)
    rows = [
        ("Kafka", f"{found.kafka_cores:.2f}", found.brokers, _size(found.broker_bytes), broker_disk_each),
        ("Redis", "", 1, _size(found.redis_bytes), ""),
        ("Qdrant", "", 1, _size(found.qdrant_bytes), _size(found.qdrant_bytes)),
    ]
    print_table(("", "cores", "servers", "memory each", "disk each"), rows, right=(1, 2, 3, 4))
    if found.person_bytes:
        told = ", ".join(f"{size / 1e6:,.1f} MB in {name.title()}" for name, size in found.person_bytes.items())
        print(f"\nA person, after {days:g} days: {told}.")
    if costs:
        told = ", ".join(f"{name} {price:,.2f}" for name, price in costs.items() if name != "total")
        print(f"\nA month: {costs['total']:,.2f} ({told}).")
    most = max(found.processes.values())
    if most > DEFAULT_PARTITIONS:
        print(f"\nPartitions: at least {most}, so that so many pods can share the work.")
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
