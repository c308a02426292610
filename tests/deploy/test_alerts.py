"""Every alert rings when it should and keeps still when it should: Prometheus itself is asked (promtool)."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from streams.queries.services import ANSWERING as SERVICES

FOLDER = Path(__file__).parents[2] / "deploy/prometheus"
_ALL = [
    rule for group in yaml.safe_load((FOLDER / "alerts.yml").read_text())["groups"] for rule in group["rules"]
]
RULES = {rule["alert"]: rule for rule in _ALL if "alert" in rule}

#: Seconds between two samples; a minute is four of them.
INTERVAL, MINUTE = 15, 60


class Case(NamedTuple):
    """What is scraped (series -> values, in promtool's notation), and which alerts ring ``at`` a time.

    ``rings``: the labels of each (without severity); none: it keeps still.  ``_`` is no sample.
    """

    alert: str
    what: str
    series: Mapping[str, str]
    at: str
    rings: tuple[Mapping[str, str], ...] = ()
    interval: int = INTERVAL


def up(service: str, instance: str = "a:9464") -> str:
    return f'up{{job="switchboard", service="{service}", instance="{instance}"}}'


def started(service: str = "memory", instance: str = "a:9464") -> str:
    return f'process_start_time_seconds{{job="switchboard", service="{service}", instance="{instance}"}}'


def ours(name: str, **labels: str) -> str:
    labels = {"job": "switchboard", "service": "memory", "instance": "a:9464", **labels}
    pairs = ", ".join(f'{key}="{value}"' for key, value in labels.items())
    return f"switchboard_{name}{{{pairs}}}"


def all_up(**others: str) -> dict[str, str]:
    """Every service answers for half an hour, but for those given."""
    return {up(service): others.get(service, "1x120") for service in SERVICES}


def each_minute(values: Iterable[int]) -> str:
    """Return samples of a value that changes every minute."""
    return " ".join(f"{value}x3" for value in values)


LAG = ours("lag_records", stage="facts", topic="memory.fact-candidates.v1", partition="0")
READ = ours("records_total", stage="facts", topic="memory.fact-candidates.v1")
ERASED = ours("index_erased_seconds", service="recall")
RETENTION = ours("retention_used_ratio", stage="facts", topic="memory.fact-candidates.v1", partition="0")
WAITING = ours("dependency_waiting", stage="index", dependency="qdrant")
LETTERS = ours("dead_letters_total", stage="conversations", topic="chat.messages.v1", reason="invalid_json")
MISROUTED = ours("misrouted_records_total", stage="conversations", topic="chat.messages.v1")
REBALANCES = ours("rebalances_total")
ERRORS = ours("content_detection_errors_total", service="respond")

_SERVE = {"instance": "a:9464"}
OK = ours("http_requests_total", service="serve", operation="search", status="200")
FAILED = ours("http_requests_total", service="serve", operation="search", status="503")
FULL = ours("http_refused_total", service="serve", reason="too-many-connections")

_RESPOND = {"job": "switchboard", "service": "respond", "instance": "a:9464"}


def searchable(late: int, of: int) -> dict[str, str]:
    """Messages every minute for seven hours: ``late`` of them are not found by search within 5 s."""
    labels = {"service": "recall", "tenant": "default"}
    return {
        ours("searchable_seconds_bucket", le="5.0", **labels): f"0+{of - late}x430",
        ours("searchable_seconds_count", **labels): f"0+{of}x430",
    }


def confirms(seconds: int) -> dict[str, str]:
    """One confirmation a second, each of which took ``seconds``."""
    return {
        ours("confirm_seconds_bucket", stage="facts", le=str(le)): "0+15x120" if le >= seconds else "0x120"
        for le in (1.0, 5.0, 10.0, 30.0)
    } | {ours("confirm_seconds_bucket", stage="facts", le="+Inf"): "0+15x120"}


CASES = [
    Case(
        "ServiceDown", "its container is gone", all_up(memory="1x8 stale _x60"), "6m", ({"service": "memory"},)
    ),
    Case("ServiceDown", "a restart of half a minute", all_up(memory="1x8 stale _x1 1x60"), "4m"),
    Case(
        "WorkerDown",
        "one of two workers of a service is down",
        all_up() | {up("memory", "b:9464"): "1x8 0x60"},
        "10m",
        ({"service": "memory", "instance": "b:9464"},),
    ),
    Case("WorkerDown", "it was scaled down", all_up() | {up("memory", "b:9464"): "1x8 stale _x60"}, "10m"),
    Case(
        "RestartLoop",
        "it starts, stays for half a minute, and is gone for half a minute",
        {started(): "100x1 _x1 160x1 _x1 220x1 _x1 280x1 _x1 340x1 _x40"},
        "6m",
        ({"service": "memory"},),
    ),
    Case(
        "RestartLoop",
        "three workers were replaced by new ones, under other addresses",
        {started(instance=f"{n}:1"): "100x8 stale _x60" for n in range(3)}
        | {started(instance=f"{n}:1"): "_x8 250x60" for n in range(3, 6)},
        "10m",
    ),
    Case(
        "Stalled",
        "it has counted, and stopped",
        {LAG: "500x80", READ: "0+100x20 2000x60"},
        "18m",
        ({"stage": "facts", "instance": "a:9464"},),
    ),
    Case("Stalled", "it reads, slowly", {LAG: "500x80", READ: "0+1x80"}, "12m"),
    Case(
        "WaitingForDependency",
        "eight partitions of a stage wait",
        {WAITING: "0x4 8x40"},
        "5m",
        ({"stage": "index", "dependency": "qdrant"},),
    ),
    Case("WaitingForDependency", "it waited for a moment", {WAITING: "0x4 8x2 0x40"}, "4m"),
    Case(
        "FallingBehind",
        "more and more is unread",
        {LAG: "0+300x120"},
        "25m",
        ({"stage": "facts", "topic": "memory.fact-candidates.v1"},),
    ),
    Case("FallingBehind", "it catches up on a backlog", {LAG: "100000-300x120"}, "25m"),
    Case(
        "DeadLetters",
        "the first letter of all",
        {LETTERS: "_x8 1x40"},
        "4m",
        ({"topic": "chat.messages.v1", "reason": "invalid_json"},),
    ),
    Case("DeadLetters", "there were some long ago", {LETTERS: "7x100"}, "20m"),
    Case(
        "WrongPartitioner",
        "the first record of all",
        {MISROUTED: "_x8 1x40"},
        "4m",
        ({"topic": "chat.messages.v1"},),
    ),
    Case("WrongPartitioner", "there were some long ago", {MISROUTED: "7x400"}, "90m"),
    Case("SlowConfirms", "the broker takes ten seconds", confirms(10), "20m", ({"stage": "facts"},)),
    Case("SlowConfirms", "the broker takes a second", confirms(1), "20m"),
    Case(
        "Rebalancing",
        "its workers are assigned anew every minute",
        {REBALANCES: each_minute(range(1, 16))},
        "14m",
        ({"service": "memory"},),
    ),
    Case(
        "Rebalancing",
        "eight workers count the same two rebalances each",
        {ours("rebalances_total", instance=f"{n}:1"): "1x8 2x8 3x60" for n in range(8)},
        "14m",
    ),
    Case("ApiFails", "half of what is asked fails", {OK: "0+15x60", FAILED: "0+15x60"}, "10m", (_SERVE,)),
    Case("ApiFails", "one of a hundred fails", {OK: "0+100x60", FAILED: "0+1x60"}, "10m"),
    Case("MessagesSearchableLate", "a fifth, for an hour", searchable(20, 100), "65m", ({},), MINUTE),
    Case("MessagesSearchableLate", "a hundredth", searchable(1, 100), "390m", interval=MINUTE),
    Case("SearchesFail", "one of fifty", {OK: "0+98x90", FAILED: "0+2x90"}, "65m", ({},), MINUTE),
    Case("SearchesFail", "one of a thousand", {OK: "0+999x430", FAILED: "0+1x430"}, "390m", interval=MINUTE),
    Case("ErasedFilesRemain", "for three hours", {ERASED: "10800x40"}, "8m", ({"instance": "a:9464"},)),
    Case("ErasedFilesRemain", "for an hour, then no more", {ERASED: "3600x40 0x40"}, "15m"),
    Case(
        "RetentionNear",
        "a stage is behind by more than half of what is kept",
        {RETENTION: "0.6x40"},
        "8m",
        ({"stage": "facts", "topic": "memory.fact-candidates.v1"},),
    ),
    Case("RetentionNear", "a stage is behind by a tenth of what is kept", {RETENTION: "0.1x40"}, "8m"),
    Case("ApiFull", "the first that finds no room", {FULL: "_x8 1x60"}, "3m", (_SERVE,)),
    Case("ApiFull", "long ago", {FULL: "_x8 1x100"}, "20m"),
    Case("DuplicateDetectionFails", "one error", {ERRORS: "0x8 1x60"}, "4m", (_RESPOND,)),
    Case("DuplicateDetectionFails", "an error long ago", {ERRORS: "0x8 1x100"}, "20m"),
]


@pytest.fixture(scope="module")
def promtool() -> str:
    found = shutil.which("promtool")
    if found is None:
        how = (
            "promtool is not installed (Debian and Ubuntu: apt-get install --no-install-recommends prometheus)"
        )
        if os.environ.get("CI") == "true":
            pytest.fail(how)
        pytest.skip(how)
    return found


def ask(promtool: str, *arguments: str | Path) -> None:
    done = subprocess.run([promtool, *map(str, arguments)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr


def test_prometheus_takes_the_configuration_and_the_rules(promtool: str) -> None:
    ask(promtool, "check", "config", FOLDER / "prometheus.yml")
    ask(promtool, "check", "rules", FOLDER / "alerts.yml")


def test_an_alert_rings_when_it_should(promtool: str, tmp_path: Path) -> None:
    """All cases in one run of promtool, each with its own rule alone; promtool names those that fail."""
    files = []
    for alert, interval in sorted({(case.alert, case.interval) for case in CASES}):
        cases = [case for case in CASES if (case.alert, case.interval) == (alert, interval)]
        test: dict[str, Any] = {
            "rule_files": [_rules(tmp_path, alert)],
            "evaluation_interval": f"{interval}s",
            "tests": [_test_of(case) for case in cases],
        }
        files.append(tmp_path / f"{alert}-{interval}.yml")
        files[-1].write_text(yaml.safe_dump(test))
    ask(promtool, "test", "rules", *files)


def _test_of(case: Case) -> dict[str, Any]:
    expected = [{"exp_labels": {**labels, **RULES[case.alert]["labels"]}} for labels in case.rings]
    return {
        "name": f"{case.alert}: {case.what}",
        "interval": f"{case.interval}s",
        "input_series": [{"series": name, "values": values} for name, values in case.series.items()],
        "alert_rule_test": [{"eval_time": case.at, "alertname": case.alert, "exp_alerts": expected}],
    }


def _rules(folder: Path, alert: str) -> str:
    """Write one alert without annotations, which promtool compares to the letter; return the file's name."""
    wanted = [rule for rule in _ALL if rule.get("alert", alert) == alert]
    rules = [{key: value for key, value in rule.items() if key != "annotations"} for rule in wanted]
    name = f"rules-{alert}.yml"
    (folder / name).write_text(yaml.safe_dump({"groups": [{"name": "switchboard", "rules": rules}]}))
    return name


def test_no_service_can_go_unnoticed() -> None:
    for service in SERVICES:
        assert f'absent_over_time(up{{job="switchboard", service="{service}"}}' in RULES["ServiceDown"]["expr"]


def test_every_alert_has_a_section_that_says_what_to_do() -> None:
    page = (FOLDER.parents[1] / "docs/how-to/alerts.md").read_text(encoding="utf-8")
    told = {name for line in page.splitlines() if line.startswith("## ") for name in line[3:].split(", ")}
    assert {name for name in RULES if name not in told} == set()
