"""Metrics of the running services, from their metrics ports."""

from __future__ import annotations

import asyncio
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import httpx
from prometheus_client.parser import text_string_to_metric_families

from models.errors import ConfigurationError
from streams.clients.catalog import catalog_for
from streams.config.service_registry import folder_id, notes
from streams.config.settings import Settings
from streams.config.settings.services import REPLAYED, SERVICES, health_port, port_of
from streams.telemetry.health import CLOCK, ERASED_FILES, EXPIRY, INDEX_REBUILD, INDEX_SERVER

_ANSWER_SECONDS = 3.0

#: All that answers on a metrics port: the services, and what people and programs talk to.
ANSWERING = (*SERVICES, "serve")


def sources_by_group(settings: Settings) -> dict[str, list[str]]:
    """Return the consumer group of each service with the topics that it reads (names on the broker)."""
    catalog = catalog_for(settings)
    return {
        _own(settings, service).group(service): [
            spec.name for spec in catalog.all() if service in spec.readers and not spec.is_changelog
        ]
        for service in SERVICES
    }


def _own(settings: Settings, service: str) -> Settings:
    """Return the settings under which a service of this generation runs: its own, or those of the live one."""
    if not settings.generation or service in REPLAYED:
        return settings
    if any(note.service == service for note in notes(settings)):  # a `serve` that was given a generation
        return settings
    return settings.model_copy(update={"generation": ""})


class Report(NamedTuple):
    """One process's answer.  ``metrics`` sums each sample over its labels; empty when it does not run.

    ``reasons``: why it is not ready, or what there is to say of one that is.  ``missing``: it does not run
    although others of its service do, which count on it.  ``standby``: ready, but other workers have all the
    partitions.
    """

    service: str
    port: int
    running: bool
    ready: bool
    reasons: list[str]
    details: Mapping[str, Any]
    metrics: Mapping[str, float]
    missing: bool = False
    standby: bool = False

    @property
    def instance(self) -> str:
        """The name of the process; ``""`` when it does not run."""
        return str(self.details.get("instance", ""))

    @property
    def state(self) -> str:
        """``ready``, ``standby``, ``not ready``, or ``-`` for one that does not run."""
        if not self.running:
            return "-"
        return "not ready" if not self.ready else "standby" if self.standby else "ready"


def reachable(host: str) -> str:
    """Return an address to connect to for one that a server listens on."""
    return "127.0.0.1" if host in ("0.0.0.0", "::", "") else host


async def ask_services(settings: Settings, ports: Mapping[str, int] | None = None) -> list[Report]:
    """Ask every process of every service at once: at least one report for each service.

    Where it answers is said, in this order, by ``ports`` (the first one of a service, by name), by the setting
    ``services``, by the notes of the workers in the data folder, and by the defaults.  Who answers by a note or
    a default counts only if it belongs to this data folder.

    Raises:
        ConfigurationError: the setting names no service of ours.
    """
    given, places, whole = dict(ports or {}), stated_places(settings), settings

    async def reports_of(service: str) -> list[Report]:
        settings = _own(whole, service)
        if service in given:
            return await _ask_processes(settings, service, given[service])
        if service in places:
            return list(await asyncio.gather(*(ask(settings, service, *place) for place in places[service])))
        here = [note for note in notes(settings) if note.service == service]
        first = here[0].port if here and here[0].process == 0 else health_port(settings, service)
        reports = await _ask_processes(settings, service, first, folder_id(settings))
        known = {report.port for report in reports}
        others = [
            ask(settings, service, note.port, reachable(note.host), folder_id(settings))
            for note in here
            if note.port not in known
        ]
        found = [report for report in await asyncio.gather(*others) if report.running]
        kept = [report for report in reports if report.running or report.missing or not found]
        return sorted([*kept, *found], key=lambda report: (report.details.get("process", 0), report.port))

    answers = await asyncio.gather(*map(reports_of, ANSWERING))
    return [report for reports in answers for report in reports]


def stated_places(settings: Settings) -> dict[str, list[tuple[int, str]]]:
    """Return the value of ``SWITCHBOARD_SERVICES``: service -> ports and hosts.

    Raises:
        ConfigurationError: it names no service of ours.
    """
    places: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for entry in filter(None, map(str.strip, settings.services.split(","))):
        service, _, place = entry.partition("=")
        host, _, port = place.rpartition(":")
        if service not in ANSWERING:
            names = ", ".join(ANSWERING)
            raise ConfigurationError(
                f"SWITCHBOARD_SERVICES names {service!r}: give service=host:port for {names}"
            )
        places[service].append((int(port), host.strip("[]")))
    return dict(places)


async def _ask_processes(settings: Settings, service: str, first: int, folder: str = "") -> list[Report]:
    """Ask process 0, those that answer where further ones would, and those that these speak of."""
    ports = [port_of(first, index) for index in range(catalog_for(settings).most_processes(service))]
    ports = [port for port in ports if port < 65536]
    host = reachable(settings.api_host)
    answers = await asyncio.gather(*(_is_open(host, port) for port in ports[1:]))
    further = [port for port, is_open in zip(ports[1:], answers, strict=True) if is_open]
    reports = {
        report.port: report
        for report in await asyncio.gather(
            *(ask(settings, service, port, folder=folder) for port in (first, *further))
        )
        if report.running or report.port == first
    }
    expected = max((report.details.get("processes", 1) for report in reports.values()), default=1)
    for port in ports[:expected]:
        report = reports.get(port) or await ask(settings, service, port, folder=folder)
        reports[port] = report if report.running else report._replace(missing=expected > 1)
    return [reports[port] for port in sorted(reports)]


async def _is_open(host: str, port: int) -> bool:
    try:
        async with asyncio.timeout(_ANSWER_SECONDS):
            _, writer = await asyncio.open_connection(host, port)
    except (OSError, TimeoutError):
        return False
    writer.close()
    return True


async def ask(settings: Settings, service: str, port: int, host: str = "", folder: str = "") -> Report:
    """Ask one service; another service, or a stranger, on that port counts as not running.

    ``host``: where it runs, if not on the address that this machine's settings name.  ``folder``: the
    :func:`folder_id` that it must have, if it says one.
    """
    host = host or reachable(settings.api_host)
    base = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
    try:
        # No proxy: the services are asked where they are.  It is plain HTTP, and to read all authorities that
        # are trusted takes ten times as long as the rest.
        async with httpx.AsyncClient(
            base_url=base, timeout=_ANSWER_SECONDS, trust_env=False, verify=False
        ) as client:
            ready, metrics = await asyncio.gather(client.get("/readyz"), client.get("/metrics"))
        answer = ready.json()
        details, reasons = dict(answer["details"]), list(answer["reasons"])
        standby = answer["status"] == "standby"
        names, sums = totals(metrics.text)
    except httpx.ConnectError:
        return Report(service, port, False, False, ["does not run"], {}, {})
    except httpx.TransportError as error:
        return Report(service, port, False, False, [f"does not answer ({type(error).__name__})"], {}, {})
    except (httpx.DecodingError, ValueError, KeyError, TypeError):
        return Report(service, port, False, False, ["something else answers on this port"], {}, {})
    names |= {details["service"]} if "service" in details else set()
    if names and service not in names:
        found = " and ".join(sorted(names))
        return Report(service, port, False, False, [f"{found} answers on this port"], {}, {})
    whose = details.get("topic_prefix", settings.topic_prefix)
    if whose != settings.topic_prefix:
        reason = f"that of another deployment (topic prefix {whose!r}) answers on this port"
        return Report(service, port, False, False, [reason], {}, {})
    if folder and details.get("data_folder", folder) != folder:
        reason = "that of another data folder answers on this port"
        return Report(service, port, False, False, [reason], {}, {})
    told = (INDEX_REBUILD, INDEX_SERVER, CLOCK, EXPIRY, ERASED_FILES)
    reasons += [str(details[name]) for name in told if details.get(name)]
    if standby:
        reasons.append("other workers have all the partitions; it takes over when one goes")
    return Report(service, port, True, ready.is_success, reasons, details, sums, standby=standby)


def of_cluster(reports: Iterable[Report], cluster: str) -> list[Report]:
    """Return the reports; a process that is connected to another cluster counts as not running."""
    return [
        report
        if not report.running or report.details.get("cluster", cluster) == cluster
        else Report(
            report.service,
            report.port,
            False,
            False,
            ["that of another Kafka cluster answers on this port"],
            {},
            {},
        )
        for report in reports
    ]


def totals(exposition: str) -> tuple[set[str], dict[str, float]]:
    """Return the services in the metrics, and each of our metrics summed over its labels.

    Names come without the prefix ``switchboard_``; a histogram that has counted anything also has its 99th
    percentile since the process began, ``<name>_p99``.  A service that has just started speaks of none.
    """
    names: set[str] = set()
    sums: dict[str, float] = defaultdict(float)
    buckets: defaultdict[str, defaultdict[float, float]] = defaultdict(lambda: defaultdict(float))
    for family in text_string_to_metric_families(exposition):
        for sample in family.samples:
            if sample.name.startswith("switchboard_"):
                name = sample.name.removeprefix("switchboard_")
                sums[name] += sample.value
                names |= {sample.labels["service"]} if "service" in sample.labels else set()
                if name.endswith("_bucket"):
                    buckets[name.removesuffix("_bucket")][float(sample.labels["le"])] += sample.value
    for name, counts in buckets.items():
        if counts[math.inf]:
            sums[f"{name}_p99"] = quantile(counts, 0.99)
    return names, dict(sums)


def quantile(counts: Mapping[float, float], share: float) -> float:
    """Return below what a share of a histogram lies, as Prometheus' ``histogram_quantile`` does.

    ``counts``: how many are at most so large, up to infinity.  Within a bucket they are taken to lie evenly;
    what is above the last bound counts as that.
    """
    wanted, below, under = share * counts[math.inf], 0.0, 0.0
    for bound in sorted(counts):
        if counts[bound] >= wanted:
            if math.isinf(bound) or counts[bound] == under:
                return below
            return below + (bound - below) * (wanted - under) / (counts[bound] - under)
        below, under = bound, counts[bound]
    return below
