"""The conversations stage on one, two and four brokers: a model on measured costs.

One machine cannot run four brokers' worth of load.  It can measure what a message costs a worker and the broker
while the topics have the partitions of one, two and four brokers, and how fast a single partition is.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.pipeline.load import PARTITIONS

#: Brokers whose partitions the topics are given.
BROKERS = (1, 2, 4)

#: Partitions that are measured; one alone shows what bounds the messages of a single partition.
COUNTS = (1, *(brokers * PARTITIONS for brokers in BROKERS))

_FIGURES = ("rate", "cpu_microseconds", "broker_cpu_microseconds")


def modelled(runs: Mapping[int, Sequence[Mapping[str, float]]], cores: int) -> dict[str, Any]:
    """Return medians by number of partitions, and what so many brokers of ``cores`` cores would take.

    ``messages``: every broker has a worker on its own cores, and both share them without loss.
    ``three_copies``: the same, with two more copies of all that is written, each as dear as the first.
    """
    measured = {
        count: {name: statistics.median(run[name] for run in taken) for name in _FIGURES}
        for count, taken in runs.items()
    }
    brokers = {}
    for number in BROKERS:
        of = measured[number * PARTITIONS]
        worker, broker = of["cpu_microseconds"], of["broker_cpu_microseconds"]
        brokers[str(number)] = {
            "messages": number * cores * 1e6 / (worker + broker),
            "three_copies": number * cores * 1e6 / (worker + 3 * broker),
        }
    return {"measured": {str(count): of for count, of in measured.items()}, "brokers": brokers}
