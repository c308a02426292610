"""``switchboard status``: are the services ready, and how far have they read?"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Annotated

import typer

from models.errors import ConfigurationError, DependencyUnavailable
from streams.admin.topics.cluster import cluster_id
from streams.cli.output import print_json, print_table
from streams.clients.kafka import broker
from streams.config.settings import Settings, load_settings
from streams.queries import services

#: What the table of services shows of their metrics: heading -> metric, without prefix.
_SHOWN = {
    "records": "records_total",
    "published": "outputs_total",
    "in flight": "batches_in_flight",
    "retries": "retries_total",
    "dead letters": "dead_letters_total",
}


def show(
    port: Annotated[
        list[str] | None,
        typer.Option("--port", "-p", metavar="SERVICE=PORT", help="Where a service answers instead."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON object instead of tables.")] = False,
) -> None:
    """Show each service's readiness and counts, and how far each group has read each topic.

    A service of several processes has a line for each. Exit status 0 if at least one service runs and all
    processes of those that run are ready, otherwise 1.
    """
    settings = load_settings()
    reports, lags, trouble = asyncio.run(_gather(settings, _ports(port or ())))
    expected = [report for report in reports if report.running or report.missing]
    if json:
        print_json(
            {
                "services": [report._asdict() for report in reports],
                "groups": [lag._asdict() for lag in lags],
                "broker": trouble or "ok",
            }
        )
    else:
        _print(settings, reports, lags, trouble)
    if trouble or not expected or not all(report.ready for report in expected):
        raise typer.Exit(1)


async def _gather(
    settings: Settings, ports: dict[str, int]
) -> tuple[list[services.Report], list[broker.GroupLag], str]:
    reports, lags, cluster = await asyncio.gather(
        services.ask_services(settings, ports),
        broker.group_lags(settings, services.sources_by_group(settings)),
        cluster_id(settings, broker.ANSWER_SECONDS),
        return_exceptions=True,
    )
    if isinstance(reports, BaseException):
        raise reports
    if isinstance(cluster, str):
        reports = services.of_cluster(reports, cluster)
    if isinstance(lags, DependencyUnavailable):
        return reports, [], str(lags)
    if isinstance(lags, BaseException):
        raise lags
    return reports, lags, ""


def _print(
    settings: Settings, reports: Sequence[services.Report], lags: Sequence[broker.GroupLag], trouble: str
) -> None:
    print_table(
        ("service", "instance", "state", "port", *_SHOWN, "because"),
        [
            (
                report.service,
                report.instance or "-",
                report.state,
                report.port,
                *(f"{report.metrics.get(name, 0):,.0f}" if report.running else "-" for name in _SHOWN.values()),
                "; ".join(report.reasons),
            )
            for report in reports
        ],
        right=range(3, 4 + len(_SHOWN)),
    )
    print()
    if trouble:
        print(trouble)
    elif not lags:
        print(f"There are no topics at {settings.bootstrap_servers}: `switchboard topics apply` creates them.")
    else:
        print_table(
            ("group", "topic", "partitions", "committed", "end", "lag"),
            [
                (
                    row.group,
                    row.topic,
                    row.partitions,
                    f"{row.committed:,}" if row.started else "never",
                    f"{row.end:,}",
                    f"{row.lag:,}",
                )
                for row in lags
            ],
            right=range(2, 6),
        )


def _ports(given: Sequence[str]) -> dict[str, int]:
    ports = {}
    for text in given:
        service, _, number = text.partition("=")
        if service not in services.ANSWERING or not number.isdigit() or not 0 < int(number) < 65536:
            names = ", ".join(services.ANSWERING)
            raise ConfigurationError(f"--port {text}: give SERVICE=PORT, where SERVICE is one of {names}")
        ports[service] = int(number)
    return ports
