"""The metrics: names, units and the cache of children."""

from __future__ import annotations

from streams.telemetry.metrics import Metrics


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
