"""Dashboards and alerts ask for metrics and labels that exist; tenants do not make more of them than wanted."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from prometheus_client import Histogram
from prometheus_client.metrics import MetricWrapperBase

from streams.telemetry.metrics import Family, Metrics

DEPLOY = Path(__file__).parents[2] / "deploy"
DASHBOARD = json.loads((DEPLOY / "grafana/switchboard.json").read_text())
ALERTS = yaml.safe_load((DEPLOY / "prometheus/alerts.yml").read_text())

#: Labels that Prometheus and our scrape configuration add to every series.
ADDED = {"job", "instance", "service", "le"}

#: Metrics that are not ours: of the process, and of Prometheus itself.
FOREIGN = {"process_resident_memory_bytes", "process_start_time_seconds", "up"}

_NAME = re.compile(r"\b(switchboard_\w+|process_\w+|up\b)(?:\{([^}]*)\})?")
#: A series that a recording rule makes.
_RECORDED = re.compile(r"\bswitchboard:[\w:]+")
_BY = re.compile(r"\b(?:by|on)\s*\(([^)]*)\)")


def known() -> dict[str, set[str]]:
    """Name of each series as exposed -> its labels."""
    series: dict[str, set[str]] = {name: set() for name in FOREIGN}
    for attribute, metric in vars(Metrics()).items():
        inner = metric._metric if isinstance(metric, Family) else metric
        if not isinstance(inner, MetricWrapperBase):
            continue
        suffixes = ("_bucket", "_sum", "_count") if isinstance(inner, Histogram) else ("",)
        for suffix in suffixes:
            series[f"switchboard_{attribute}{suffix}"] = set(inner._labelnames)
    return series


def expressions() -> Iterator[tuple[str, str, str]]:
    """(where, expression, legend or annotations that use labels) of everything that is asked."""
    for panel in DASHBOARD["panels"]:
        for target in panel.get("targets", ()):
            yield f"panel {panel['title']}", target["expr"], target["legendFormat"]
    for group in ALERTS["groups"]:
        for rule in group["rules"]:
            name = rule.get("alert", rule.get("record"))
            yield f"alert {name}", rule["expr"], " ".join(rule.get("annotations", {}).values())


ALL = list(expressions())


@pytest.mark.parametrize(
    ("where", "expression", "text"), ALL, ids=[f"{w}-{n}" for n, (w, _, _) in enumerate(ALL)]
)
def test_every_metric_and_label_that_is_asked_for_exists(where: str, expression: str, text: str) -> None:
    series = known()
    names = _NAME.findall(expression)
    made = {rule["record"] for group in ALERTS["groups"] for rule in group["rules"] if "record" in rule}
    recorded = set(_RECORDED.findall(expression))
    assert names or recorded, f"{where} asks for nothing"
    assert recorded <= made, f"{where}: no rule makes {recorded - made}"
    labels = set(ADDED)
    for name, selector in names:
        assert name in series, f"{where}: there is no metric {name}"
        labels |= series[name]
        asked = set(re.findall(r"(\w+)\s*[=!]", selector))
        assert asked <= labels, f"{where}: {name} has no label {asked - labels}"
    for grouping in _BY.findall(expression):
        asked = {label.strip() for label in grouping.split(",") if label.strip()}
        for name, _ in names:
            assert asked <= series[name] | ADDED, f"{where}: {name} has no label {asked - series[name]}"
    used = set(re.findall(r"\{\{\s*(?:\$labels\.)?(\w+)\s*\}\}", text))
    assert used <= labels, f"{where}: the text uses {used - labels}"


def test_every_metric_of_ours_is_shown_somewhere() -> None:
    asked = {name for _, expression, _ in ALL for name, _ in _NAME.findall(expression)}
    stems = {re.sub(r"_(bucket|sum|count)$", "", name) for name in asked}
    wanted = {f"switchboard_{name}" for name in vars(Metrics()) if name not in ("registry", "build_info")}
    # effects_total sums up what records and outputs show one by one
    assert wanted - stems == {"switchboard_effects_total"}


def test_prometheus_reads_the_alerts() -> None:
    configuration = yaml.safe_load((DEPLOY / "prometheus/prometheus.yml").read_text())
    assert [(DEPLOY / "prometheus" / name).exists() for name in configuration["rule_files"]] == [True]


def _tenants(metrics: Metrics) -> dict[str, float]:
    return {
        sample.labels["tenant"]: sample.value
        for family in metrics.registry.collect()
        for sample in family.samples
        if sample.name == "switchboard_searchable_seconds_count"
    }


def test_only_the_busiest_tenants_have_series_of_their_own() -> None:
    metrics = Metrics()
    for number in range(2_000):
        metrics.searchable_seconds.labels(f"small-{number}").observe(0.1)
    for _ in range(5):
        metrics.searchable_seconds.labels("large").observe(0.1)
    shown = _tenants(metrics)
    assert len(shown) == 51
    assert shown["large"] >= 3
    assert shown["other"] >= 1_900
