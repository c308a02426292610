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


#: Tenants, or other values of a label, that have series of their own, and those that are counted to find them.
_SHOWN, _COUNTED = 50, 1000

#: The value of the label for all that have none.
OTHER = "other"


class Busiest(Family[M]):
    """A metric with one label that anybody may make up values of: only the busiest have series of their own.

    A value that comes twice as often as the rarest of those takes its place, and the series of that one ends.
    Counts are halved whenever too many values are counted, so that the busiest are those of late.
    """

    def __init__(self, metric: M, shown: int = _SHOWN, counted: int = _COUNTED) -> None:
        super().__init__(metric)
        self._shown, self._counted = shown, counted
        self._counts: dict[str, int] = {}

    def labels(self, *values: str) -> M:
        (value,) = values
        count = self._counts[value] = self._counts.get(value, 0) + 1
        if len(self._counts) > self._counted:
            stays = set(self._own())
            self._counts = {each: max(1, n // 2) for each, n in self._counts.items() if n > 1 or each in stays}
        if values in self._children or value == OTHER:
            return super().labels(value)
        own = self._own()
        if len(own) >= self._shown:
            rarest = min(own, key=lambda each: self._counts.get(each, 0))
            if count <= 2 * self._counts.get(rarest, 0):
                return super().labels(OTHER)
            self.remove(rarest)
        return super().labels(value)

    def _own(self) -> list[str]:
        return [value for (value,) in self._children if value != OTHER]


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

    def _busiest(
        self, name: str, documentation: str, buckets: Sequence[float], label: str
    ) -> Busiest[Histogram]:
        return Busiest(
            Histogram(f"switchboard_{name}", documentation, (label,), registry=self.registry, buckets=buckets)
        )

    def _plain_counter(self, name: str, documentation: str) -> Counter:
        return Counter(f"switchboard_{name}", documentation, registry=self.registry)

    def _plain_gauge(self, name: str, documentation: str) -> Gauge:
        return Gauge(f"switchboard_{name}", documentation, registry=self.registry)

    def _plain_histogram(self, name: str, documentation: str, buckets: Sequence[float]) -> Histogram:
        return Histogram(f"switchboard_{name}", documentation, registry=self.registry, buckets=buckets)
