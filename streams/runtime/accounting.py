"""Metrics of confirmed effects."""

from __future__ import annotations

from streams.runtime.effects import Account
from streams.runtime.letter_log import LetterLog
from streams.telemetry.metrics import Metrics


def count(account: Account, metrics: Metrics, stage: str, letters: LetterLog) -> None:
    """Add the counts of ``account`` to the metrics of ``stage``, and log its dead letters."""
    kinds = {
        "output": sum(account.outputs.values()),
        "state": account.changes,
        "dead_letter": len(account.dead_letters),
    }
    for kind, n in kinds.items():
        if n:
            metrics.effects_total.labels(stage, kind).inc(n)
    for topic, n in account.outputs.items():
        metrics.outputs_total.labels(stage, topic).inc(n)
    for letter in account.dead_letters:
        record = letter.record
        metrics.dead_letters_total.labels(stage, record.topic, letter.reason).inc()
        letters.tell(record.topic, record.partition, record.offset, letter.reason, letter.message)
    for (metric, labels), by in account.counts.items():
        counter = getattr(metrics, metric)
        (counter.labels(*labels) if labels else counter).inc(by)
    for metric, labels, value in account.observations:
        histogram = getattr(metrics, metric)
        (histogram.labels(*labels) if labels else histogram).observe(value)
