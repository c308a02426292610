"""The metrics: names, units and the cache of children."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError

import pytest
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from streams.telemetry.metrics import Metrics, installed_version, process_metrics


def exposed(metrics: Metrics) -> dict[str, str]:
    """Name (as exposed) -> type of every metric family."""
    text = generate_latest(metrics.registry).decode()
    return {family.name: family.type for family in text_string_to_metric_families(text)}


def test_every_metric_carries_the_prefix_and_counters_end_in_total() -> None:
    families = exposed(Metrics())
    assert len(families) > 25
    for name, kind in families.items():
        assert name.startswith("switchboard_"), name
        assert not name.endswith(("_milliseconds", "_ms", "_bytes_total_total")), name
        # the parser strips _total from a counter's family name, so a doubled one would remain
        assert not name.endswith("_total"), (name, kind)


def test_attribute_and_exposed_name_agree() -> None:
    metrics = Metrics()
    names = {name + ("_total" if kind == "counter" else "") for name, kind in exposed(metrics).items()}
    attributes = {f"switchboard_{name}" for name in vars(metrics) if name != "registry"}
    assert names == attributes


def test_labels_returns_the_same_child_every_time() -> None:
    metrics = Metrics()
    child = metrics.records_total.labels("ingest", "conversations", "chat.messages.v1")
    child.inc(3)
    assert metrics.records_total.labels("ingest", "conversations", "chat.messages.v1") is child
    value = metrics.registry.get_sample_value(
        "switchboard_records_total",
        {"service": "ingest", "stage": "conversations", "topic": "chat.messages.v1"},
    )
    assert value == 3


def test_a_wrong_number_of_labels_is_refused() -> None:
    with pytest.raises(ValueError, match="Incorrect label count"):
        Metrics().records_total.labels("ingest")


def test_a_removed_child_is_no_longer_exposed_and_starts_anew() -> None:
    metrics = Metrics()
    labels = ("conversations", "chat.messages.v1", "3")
    metrics.lag_records.labels(*labels).set(7)
    metrics.lag_records.remove(*labels)
    metrics.lag_records.remove(*labels)  # twice does no harm
    assert b'partition="3"' not in generate_latest(metrics.registry)
    metrics.lag_records.labels(*labels).set(1)
    assert b'partition="3"' in generate_latest(metrics.registry)


def test_two_instances_do_not_share_anything() -> None:
    one, two = Metrics(), Metrics()
    one.windows_total.labels("full").inc()
    assert two.registry.get_sample_value("switchboard_windows_total", {"reason": "full"}) is None


def test_a_process_also_exposes_its_own_memory() -> None:
    assert b"process_resident_memory_bytes" in generate_latest(process_metrics().registry)


def test_the_version_is_unknown_when_nothing_is_installed() -> None:
    def missing(name: str) -> str:
        raise PackageNotFoundError(name)

    assert installed_version(missing) == "unknown"
    assert installed_version() != "unknown"


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
