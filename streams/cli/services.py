"""What the running services say about themselves on their metrics ports."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Mapping
from typing import Any, NamedTuple

import httpx
from prometheus_client.parser import text_string_to_metric_families

from streams.services import SERVICES
from streams.settings import Settings
from streams.telemetry.health import health_port
from streams.topics import load_catalog

_ANSWER_SECONDS = 3.0


def sources_by_group(settings: Settings) -> dict[str, list[str]]:
    """Return the consumer group of each service with the topics that it reads (names on the broker)."""
    catalog = load_catalog(settings.topic_prefix)
    return {
        settings.group(service): [
            spec.name for spec in catalog.all() if service in spec.readers and not spec.is_changelog
        ]
        for service in SERVICES
    }


class Report(NamedTuple):
    """One service's answer.  ``metrics`` sums each sample over its labels; empty when it does not run."""

    service: str
    port: int
    running: bool
    ready: bool
    reasons: list[str]
    details: Mapping[str, Any]
    metrics: Mapping[str, float]


def reachable(host: str) -> str:
    """Return an address to connect to for one that a server listens on."""
    return "127.0.0.1" if host in ("0.0.0.0", "::", "") else host


async def ask_services(settings: Settings, ports: Mapping[str, int] | None = None) -> list[Report]:
    """Ask every service at once; ``ports`` replaces the default port of a service by name."""
    wanted = {service: health_port(settings, service) for service in SERVICES} | dict(ports or {})
    return list(await asyncio.gather(*(ask(settings, service, port) for service, port in wanted.items())))


async def ask(settings: Settings, service: str, port: int) -> Report:
    """Ask one service; another service, or a stranger, on that port counts as not running."""
    host = reachable(settings.api_host)
    base = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
    try:
        # no proxy: the services are asked where they are
        async with httpx.AsyncClient(base_url=base, timeout=_ANSWER_SECONDS, trust_env=False) as client:
            ready, metrics = await asyncio.gather(client.get("/readyz"), client.get("/metrics"))
        answer = ready.json()
        details, reasons = dict(answer["details"]), list(answer["reasons"])
    except httpx.ConnectError:
        return Report(service, port, False, False, ["does not run"], {}, {})
    except httpx.TransportError as error:
        return Report(service, port, False, False, [f"does not answer ({type(error).__name__})"], {}, {})
    except (ValueError, KeyError, TypeError):
        return Report(service, port, False, False, ["something else answers on this port"], {}, {})
    names, sums = totals(metrics.text)
    if names and service not in names:
        found = " and ".join(sorted(names))
        return Report(service, port, False, False, [f"{found} answers on this port"], {}, {})
    return Report(service, port, True, ready.is_success, reasons, details, sums)


def totals(exposition: str) -> tuple[set[str], dict[str, float]]:
    """Return which services the metrics speak of, and each of ours summed over its labels.

    Names come without the prefix ``switchboard_``.  A service that has just started speaks of none.
    """
    names: set[str] = set()
    sums: dict[str, float] = defaultdict(float)
    for family in text_string_to_metric_families(exposition):
        for sample in family.samples:
            if sample.name.startswith("switchboard_"):
                sums[sample.name.removeprefix("switchboard_")] += sample.value
                names |= {sample.labels["service"]} if "service" in sample.labels else set()
    return names, dict(sums)
