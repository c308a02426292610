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

#: Copies of each record where there are so many brokers.
_COPIES = 3

_FIGURES = ("rate", "cpu_microseconds", "broker_cpu_microseconds")


def modelled(runs: Mapping[int, Sequence[Mapping[str, float]]], cores: int) -> dict[str, Any]:
    """Return medians by number of partitions, and what so many brokers of ``cores`` cores would take.

    A message costs what it costs with one broker's partitions: with more of them the same conversations come
    in larger runs, which is cheaper.  ``messages``: every broker has a worker on its own cores, and both share
    them without loss.  ``replicated``: the same with copies of all that is written on up to three brokers, each
    as dear as the first.
    """
    measured = {
        count: {name: statistics.median(run[name] for run in taken) for name in _FIGURES}
        for count, taken in runs.items()
    }
    worker, broker = (measured[PARTITIONS][name] for name in _FIGURES[1:])
    brokers = {
        str(number): {
            "messages": number * cores * 1e6 / (worker + broker),
            "replicated": number * cores * 1e6 / (worker + min(number, _COPIES) * broker),
        }
        for number in BROKERS
    }
    return {"measured": {str(count): of for count, of in measured.items()}, "brokers": brokers}
