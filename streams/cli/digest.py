"""``switchboard digest``: what a topic says in one number, and whether two topics say the same."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Annotated, Any, NamedTuple

import msgspec
import typer
from aiokafka import AIOKafkaConsumer, TopicPartition

from models.errors import ConfigurationError, NotFound
from streams.admin.topics.digest_reading import read_digests
from streams.admin.topics.digests import PartitionDigests, Recipe, combined, difference, differing_fields
from streams.cli import progress
from streams.cli.output import count, print_json, print_table, printable
from streams.clients.catalog import Catalog, catalog_for
from streams.clients.kafka import broker
from streams.clients.topic_spec import TopicSpec
from streams.config.settings import Settings, load_settings

#: Exit status when the topics differ.
DIFFERENT = 1

_Topic = typer.Argument(
    help="A topic by its name in the contract or on the broker; HOST:PORT/NAME for another cluster.",
    show_default=False,
)


class Place(NamedTuple):
    """A topic somewhere: the settings that reach its cluster, its name there, what its file says."""

    settings: Settings
    name: str
    spec: TopicSpec

    def __str__(self) -> str:
        return f"{self.name} at {self.settings.bootstrap_servers}"


class Found(NamedTuple):
    """Records of a topic, by partition."""

    place: Place
    partitions: list[PartitionDigests]


class PartitionReport(msgspec.Struct):
    """The digest of a partition, and those of its buckets that it is made of."""

    partition: int
    keys: int
    digest: str
    buckets: list[str]


class TopicReport(msgspec.Struct):
    """The digest of a topic.  ``records`` were read to find the latest of each of its ``keys``."""

    topic: str
    servers: str
    records: int
    keys: int
    digest: str
    partitions: list[PartitionReport]


class Differing(msgspec.Struct):
    """A key whose latest values differ, in which fields, and at which offset each topic has its own."""

    what: str
    partition: int
    key: str
    offsets: tuple[int | None, int | None]
    fields: list[str] = []


class Comparison(msgspec.Struct):
    """Two topics compared: ``differing`` keys, the first of which are named."""

    equal: bool
    differing: int
    differences: list[Differing]


def compare(
    topic: Annotated[str, _Topic],
    other: Annotated[
        str | None, typer.Argument(help="The topic to compare it with.", show_default=False)
    ] = None,
    exact: Annotated[
        bool, typer.Option("--exact", help="Every field counts, also those listed under digest_ignores.")
    ] = False,
    limit: Annotated[int, typer.Option("--limit", "-n", min=0, help="Most differences to name.")] = 20,
    json: Annotated[bool, typer.Option("--json", help="JSON, with the 256 digests of each partition.")] = False,
) -> None:
    """Digest the latest value of each key of a topic, or compare two topics.

    Fields that the topic's file lists under digest_ignores do not count:
    they differ between logs that say the same. Whether a replay wrote the
    same again: run it with --exact before and after. Exit status 1 if two
    topics differ.
    """
    settings = load_settings()
    places = [locate(name, settings, catalog_for(settings)) for name in (topic, other) if name]
    if len(places) == 2 and places[0].spec.contract_name != places[1].spec.contract_name:
        raise ConfigurationError(
            f"{places[0].name} and {places[1].name} hold different things: nothing to compare"
        )
    recipe = Recipe(places[0].spec, exact=exact)
    with progress.showing("reading") as tell:
        found = asyncio.run(_read_all(places, recipe, tell))
    topics = [_report(each) for each in found]
    compared = None
    if len(found) == 2:
        compared = progress.run("comparing", _compare(found[0], found[1], recipe, limit))
    if json:
        print_json({"topics": topics} | ({"comparison": compared} if compared else {}))
    else:
        _print_topics(topics)
        if compared:
            _print_comparison(compared)
    if compared and not compared.equal:
        raise typer.Exit(DIFFERENT)


def locate(text: str, settings: Settings, catalog: Catalog) -> Place:
    """Find a topic: ``NAME``, with or without the prefix of this or of another deployment, or ``SERVERS/NAME``.

    Raises :class:`NotFound` when no topic of the contract is meant.
    """
    servers, slash, name = text.rpartition("/")
    if slash:
        settings = load_settings(
            **settings.model_dump(include=settings.model_fields_set) | {"bootstrap_servers": servers}
        )
    if name in catalog and not slash:
        spec = catalog.get(name)
        return Place(settings, spec.name, spec)
    meant = [spec for spec in catalog if name.endswith(spec.contract_name)]
    if not meant:
        try:
            catalog.get(name)  # raises, with a name that is like this one
        except ConfigurationError as error:
            raise NotFound(str(error)) from None
    return Place(settings, name, max(meant, key=lambda spec: len(spec.contract_name)))


async def _read_all(places: list[Place], recipe: Recipe, tell: Callable[[str], None]) -> list[Found]:
    read = await asyncio.gather(*(_read(place, recipe, tell) for place in places))
    found = [Found(place, partitions) for place, partitions in zip(places, read, strict=True)]
    if len({len(each.partitions) for each in found}) > 1:
        counts = " and ".join(f"{each.place} {len(each.partitions)}" for each in found)
        raise ConfigurationError(f"only topics with as many partitions can be compared: {counts}")
    return found


async def _read(place: Place, recipe: Recipe, tell: Callable[[str], None]) -> list[PartitionDigests]:
    return await read_digests(
        place.settings,
        place.name,
        recipe,
        lambda read, total: tell(f"{read:,} of {count(total, 'record')} of {place}"),
    )


async def _compare(first: Found, second: Found, recipe: Recipe, limit: int) -> Comparison:
    """Compare what was read, and read the first ``limit`` records that differ once more to name them."""
    differing, named = 0, list[Differing]()
    async with broker.reading(first.place.settings) as here, broker.reading(second.place.settings) as there:
        for number, pair in enumerate(zip(first.partitions, second.partitions, strict=True)):
            differences = difference(*pair)
            differing += len(differences)
            wanted: list[tuple[int | None, int | None]] = [*differences.changed]
            wanted += [(offset, None) for offset in differences.only_first]
            wanted += [(None, offset) for offset in differences.only_second]
            for offsets in wanted[: max(0, limit - len(named))]:
                sides = [
                    await _look_up(consumer, TopicPartition(each.place.name, number), offset, recipe)
                    for consumer, each, offset in zip((here, there), (first, second), offsets, strict=True)
                ]
                named.append(_named(number, offsets, sides))
    return Comparison(not differing, differing, named)


async def _look_up(
    consumer: AIOKafkaConsumer, place: TopicPartition, offset: int | None, recipe: Recipe
) -> tuple[str, Any] | None:
    """Read one record again, if compaction or retention has not taken it meanwhile."""
    if offset is None:
        return None
    consumer.assign([place])
    consumer.seek(place, offset)
    async with asyncio.timeout(broker.ANSWER_SECONDS):
        while not (records := (await consumer.getmany(place, timeout_ms=500, max_records=1)).get(place)):
            if await consumer.position(place) > offset:
                return None
    return recipe.read(records[0]) if records[0].offset == offset else None


def _named(
    partition: int, offsets: tuple[int | None, int | None], sides: Sequence[tuple[str, Any] | None]
) -> Differing:
    first, second = sides
    key = next((side[0] for side in sides if side is not None), "(gone meanwhile)")
    if None in offsets:
        what = "only in the second" if offsets[0] is None else "only in the first"
        return Differing(what, partition, key, offsets)
    fields = differing_fields(first[1], second[1]) if first is not None and second is not None else []
    return Differing("differs", partition, key, offsets, fields)


def _report(found: Found) -> TopicReport:
    partitions = []
    for number, each in enumerate(found.partitions):
        buckets = each.buckets()
        partitions.append(PartitionReport(number, len(each.rows()), combined(buckets), buckets))
    return TopicReport(
        found.place.name,
        found.place.settings.bootstrap_servers,
        sum(each.records for each in found.partitions),
        sum(each.keys for each in partitions),
        combined(each.digest for each in partitions),
        partitions,
    )


def _print_topics(topics: Sequence[TopicReport]) -> None:
    rows: list[tuple[str, str, str, str]] = []
    for topic in topics:
        rows += [(topic.topic, str(each.partition), f"{each.keys:,}", each.digest) for each in topic.partitions]
        rows.append((topic.topic, "all", f"{topic.keys:,}", topic.digest))
    print_table(("topic", "partition", "keys", "digest"), rows, right=(1, 2))


def _print_comparison(compared: Comparison) -> None:
    for row in compared.differences:
        fields = f": {', '.join(row.fields)}" if row.fields else ""
        print(printable(f"{row.what}  partition {row.partition}  {row.key}{fields}"))
    if compared.differing > len(compared.differences):
        print(f"... and {compared.differing - len(compared.differences):,} more (--limit)")
    print("They say the same." if compared.equal else f"They differ in {count(compared.differing, 'key')}.")
