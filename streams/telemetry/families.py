"""Metrics as they are made and kept: each under the prefix ``switchboard_``, its children in a plain dict.

``labels()`` here looks a child up at a seventh of the cost of prometheus_client's, which takes a lock and
checks its arguments.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, TypeVar

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
)
from prometheus_client.metrics import MetricWrapperBase

# The library adds a `_created` series to every counter and histogram: a third more series that nobody asks for.
disable_created_metrics()  # type: ignore[no-untyped-call]  # the library leaves it untyped

M = TypeVar("M", bound=MetricWrapperBase)


class Family(Generic[M]):
    """A metric with labels that keeps its children.

    ``labels`` takes the values in the order of the label names and returns the child, the same object
    every time; ``remove`` forgets one (the lag of a partition that went to another worker).
    """

    def __init__(self, metric: M) -> None:
        self._metric = metric
        self._children: dict[tuple[str, ...], M] = {}

    def labels(self, *values: str) -> M:
        child = self._children.get(values)
        if child is None:
            child = self._children[values] = self._metric.labels(*values)
        return child

    def remove(self, *values: str) -> None:
        if self._children.pop(values, None) is not None:
            self._metric.remove(*values)


class Registered:
    """Makes metrics in one registry.  Attribute ``x_total`` is exposed as ``switchboard_x_total``."""

    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        self.registry = registry if registry is not None else CollectorRegistry()

    def _counter(self, name: str, documentation: str, *labels: str) -> Family[Counter]:
        return Family(Counter(f"switchboard_{name}", documentation, labels, registry=self.registry))

    def _gauge(self, name: str, documentation: str, *labels: str) -> Family[Gauge]:
        return Family(Gauge(f"switchboard_{name}", documentation, labels, registry=self.registry))

    def _histogram(
        self, name: str, documentation: str, buckets: Sequence[float], *labels: str
    ) -> Family[Histogram]:
        return Family(
            Histogram(f"switchboard_{name}", documentation, labels, registry=self.registry, buckets=buckets)
        )

    def _plain_counter(self, name: str, documentation: str) -> Counter:
        return Counter(f"switchboard_{name}", documentation, registry=self.registry)

    def _plain_gauge(self, name: str, documentation: str) -> Gauge:
        return Gauge(f"switchboard_{name}", documentation, registry=self.registry)

    def _plain_histogram(self, name: str, documentation: str, buckets: Sequence[float]) -> Histogram:
        return Histogram(f"switchboard_{name}", documentation, registry=self.registry, buckets=buckets)
