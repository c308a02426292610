"""``switchboard doctor``: look at everything that can be wrong, and say what to do about it."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer
from aiokafka import TopicPartition

from models.errors import DependencyUnavailable
from streams.admin.topics import admin, cluster
from streams.admin.topics.cluster import cluster_id
from streams.admin.topics.groups import members
from streams.cli import routing
from streams.cli.doctor_outside import Finding, outside, tokens
from streams.cli.output import console, count, print_json, printable
from streams.cli.topics import in_words
from streams.clients.catalog import Catalog, catalog_for
from streams.clients.kafka import broker
from streams.config.settings import Settings, load_settings
from streams.config.settings.services import SERVICES
from streams.queries import dead_letters, services

#: Below this a broker or the embedded Qdrant on this disk will soon stop.
_ENOUGH_FREE_BYTES = 1_000_000_000

_MARK = {"ok": "✓", "look": "!", "wrong": "✗"}
_STYLE = {"ok": "green", "look": "yellow", "wrong": "bold red"}


def examine(
    sample: Annotated[
        int, typer.Option("--sample", min=1, help="How many of the latest records per partition to look at.")
    ] = 500,
    json: Annotated[bool, typer.Option("--json", help="One JSON array instead of text.")] = False,
) -> None:
    """Check settings, disk, broker, topics, producers, dead letters, services, serve, tokens, the model's key.

    Changes nothing, and asks a model nothing that costs.

    Exit status 1 if something is wrong.
    """
    settings = load_settings()
    findings = asyncio.run(_findings(settings, sample))
    if json:
        print_json([finding._asdict() for finding in findings])
    else:
        out = console()
        for finding in findings:
            out.print(f"{_MARK[finding.state]} {printable(finding.what)}", style=_STYLE[finding.state])
            if finding.advice:
                out.print(f"    {printable(finding.advice)}")
    if any(finding.state == "wrong" for finding in findings):
        raise typer.Exit(1)


async def _findings(settings: Settings, sample: int) -> list[Finding]:
    findings = [Finding("ok", "the settings are valid"), _disk(settings.folder)]
    catalog = catalog_for(settings)
    reports = await services.ask_services(settings)
    try:
        reports = services.of_cluster(reports, await cluster_id(settings, broker.ANSWER_SECONDS))
        present = await broker.partitions_of(settings)
        findings.append(Finding("ok", f"the broker at {settings.bootstrap_servers} answers"))
        findings += await _topics(settings, catalog)
        findings += await _producers(settings, catalog, present, sample)
        findings += await _dead_letters(settings, catalog)
        findings += await tokens(settings, catalog, present)
        findings += _groups(await broker.group_lags(settings, services.sources_by_group(settings)))
        findings += await namespaces(settings)
    except DependencyUnavailable as error:
        findings.append(Finding("wrong", str(error)))
    findings += await outside(settings, reports)
    findings += _services(reports)
    return findings


def _disk(folder: Path) -> Finding:
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    if not existing.is_dir():
        return Finding("wrong", f"{existing} is no folder", "set SWITCHBOARD_DATA_DIR to a folder")
    if not os.access(existing, os.W_OK):
        return Finding(
            "wrong", f"{existing} cannot be written", "make it writable, or set SWITCHBOARD_DATA_DIR"
        )
    free = shutil.disk_usage(existing).free
    if free < _ENOUGH_FREE_BYTES:
        return Finding(
            "wrong",
            f"{free / 1e6:,.0f} MB are free at {existing}",
            "free some space, or set SWITCHBOARD_DATA_DIR to a folder on another disk",
        )
    return Finding("ok", f"the data folder {folder} can be written, {free / 1e9:,.0f} GB are free")


async def _topics(settings: Settings, catalog: Catalog) -> list[Finding]:
    differences = await admin.check(catalog, settings)
    if not differences:
        return [Finding("ok", f"all {len(catalog.all())} topics are as the contract says")]
    return [
        Finding(
            "wrong" if difference.blocking else "look",
            in_words(difference),
            difference.advice,
        )
        for difference in differences
    ]


async def _producers(
    settings: Settings, catalog: Catalog, present: dict[str, int], sample: int
) -> list[Finding]:
    findings = []
    async with broker.reading(settings) as consumer:
        for spec in catalog.all():
            if spec.owner != "producers" or spec.name not in present:
                continue
            partitions = [TopicPartition(spec.name, number) for number in range(present[spec.name])]
            consumer.assign(partitions)
            ends = await broker.ends_of(consumer, partitions)
            starts = await broker.beginnings_of(consumer, partitions)
            for partition, end in ends.items():
                consumer.seek(partition, max(starts[partition], end - sample))
            records = [record async for record in broker.until(consumer, ends)]
            findings.append(_routing(routing.look_at(spec.name, records, len(partitions))))
    return findings


def _routing(found: routing.Misrouting) -> Finding:
    if not found.wrong and not found.without_key:
        return Finding(
            "ok", f"{found.topic}: the latest {count(found.looked_at, 'record')} sit where their keys hash to"
        )
    problems = []
    if found.wrong:
        producers = ", ".join(f"{name} ({number})" for name, number in sorted(found.by_producer.items()))
        problems.append(f"{found.wrong} in a wrong partition, the first at {found.first}, from {producers}")
    if found.without_key:
        problems.append(f"{found.without_key} without a key")
    return Finding(
        "look",
        f"{found.topic}: of the latest {count(found.looked_at, 'record')}, {' and '.join(problems)}",
        f"{found.advice}; until then the services re-publish them, which costs time and breaks their order",
    )


async def _dead_letters(settings: Settings, catalog: Catalog) -> list[Finding]:
    letters: Counter[str] = Counter()
    for group in await dead_letters.groups_of(settings):  # without those that were tried again or dropped
        letters[catalog.get(group.queue).dead_letter_of] += group.count
    findings = [
        Finding(
            "look",
            f"{count(number, 'record')} of {topic} could not be processed",
            f"`switchboard dlq list {topic}` shows why; `switchboard dlq retry` tries them again",
        )
        for topic, number in letters.items()
    ]
    return findings or [Finding("ok", "there are no dead letters")]


def _groups(lags: Sequence[broker.GroupLag]) -> Iterator[Finding]:
    for lag in lags:
        if lag.beyond:
            yield Finding(
                "wrong",
                f"{lag.group} has read {lag.topic} beyond its end (partitions {lag.beyond}): the topic was "
                "deleted and made again",
                "its services will not start until their state is reset; their error names the command",
            )


async def namespaces(settings: Settings) -> list[Finding]:
    """Find workers of several Kubernetes namespaces in one group: each makes a part of the views of its own."""
    findings = []
    async with cluster.connected(settings, settings.request_timeout_seconds) as client:
        for service in SERVICES:
            group = settings.group(service)
            places = {each.namespace for each in await members(client, group) if each.namespace}
            if len(places) > 1:
                findings.append(
                    Finding(
                        "wrong",
                        f"workers of the namespaces {' and '.join(sorted(places))} share the consumer group "
                        f"{group}: each reads a part of the messages into the views of its namespace, and "
                        "searches there find that part alone",
                        "give each namespace another SWITCHBOARD_TOPIC_PREFIX; in the one that keeps this one, "
                        "`switchboard state reset recall` fills the views again",
                    )
                )
    return findings


def _services(reports: Sequence[services.Report]) -> Iterator[Finding]:
    for report in reports:
        name = f"{report.service} ({report.instance})" if report.instance else report.service
        reasons = "; ".join(report.reasons)
        if report.missing:
            yield Finding(
                "wrong",
                f"{name}: a process {reasons} (port {report.port}) and others do",
                "who supervises it starts it again; its log says why it ended",
            )
        elif not report.running:
            yield Finding(
                "look",
                f"{name}: {reasons} (port {report.port})",
                f"`switchboard {'' if report.service == 'serve' else 'worker '}{report.service}` runs it",
            )
        elif not report.ready:
            yield Finding("wrong", f"{name} is not ready: {reasons}")
        else:
            standby = ", standby" if report.standby else ""
            said = f": {reasons}" if reasons else ""
            what = f"{name} is ready (port {report.port}){standby}{said}"
            yield Finding("look" if reasons and not standby else "ok", what)
        misrouted = report.metrics.get("misrouted_records_total", 0)
        if misrouted:
            yield Finding(
                "look",
                f"{name} has re-published {count(int(misrouted), 'record')} that sat in a wrong partition",
                "let every producer hash keys with murmur2; those on librdkafka (kcat, confluent-kafka, most "
                "of Go, C and .NET) need partitioner=murmur2_random",
            )
