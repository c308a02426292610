"""Metrics of the runtime, the same for every stage: records, effects, lag, waiting and recovery."""

from __future__ import annotations

from prometheus_client import CollectorRegistry

from streams.telemetry.buckets import CONFIRM_BUCKETS, STEP_BUCKETS
from streams.telemetry.families import Registered


class RuntimeMetrics(Registered):
    """Metrics of the runtime over one registry."""

    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        super().__init__(registry)
        self._runtime()
        self._dependencies()
        self._recovery()

    def _runtime(self) -> None:
        self.records_total = self._counter(
            "records_total", "Records delivered to a stage.", "service", "stage", "topic"
        )
        self.record_batches_total = self._counter(
            "record_batches_total", "Batches of records delivered to a stage.", "service", "stage", "topic"
        )
        self.effects_total = self._counter(
            "effects_total",
            "Confirmed effects of a stage; kind is output, state or dead_letter.",
            "stage",
            "kind",
        )
        self.outputs_total = self._counter(
            "outputs_total", "Records that a stage published and the broker confirmed.", "stage", "topic"
        )
        self.confirm_seconds = self._histogram(
            "confirm_seconds",
            "From handing a batch's outputs and state changes to the producer to their confirmation.",
            CONFIRM_BUCKETS,
            "stage",
        )
        self.step_seconds = self._histogram(
            "step_seconds", "Time a stage's step took for one batch, calls included.", STEP_BUCKETS, "stage"
        )
        self.batches_in_flight = self._gauge(
            "batches_in_flight", "Batches delivered and not yet acknowledged.", "service"
        )
        self.state_bytes = self._gauge(
            "state_bytes",
            "State of a process: what is in memory, and the files in the data folder that hold the rest.",
            "service",
            "place",
        )
        self.lag_records = self._gauge(
            "lag_records",
            "End of the partition minus the committed offset.",
            "stage",
            "topic",
            "partition",
        )
        self.lag_seconds = self._gauge(
            "lag_seconds",
            "Age of the oldest record that was delivered to a stage and is not done.",
            "stage",
            "topic",
            "partition",
        )
        self.retention_used_ratio = self._gauge(
            "retention_used_ratio",
            "That age as a share of the topic's retention; at 1 the broker deletes unread records.",
            "stage",
            "topic",
            "partition",
        )
        self.dead_letters_total = self._counter(
            "dead_letters_total",
            "Records that went to the dead-letter topic of their source topic.",
            "stage",
            "topic",
            "reason",
        )
        self.dead_letters_truncated_total = self._counter(
            "dead_letters_truncated_total",
            "Dead letters of more than 16 MiB, of which only the first 64 KiB were kept.",
            "stage",
            "topic",
        )
        self.skipped_records_total = self._counter(
            "skipped_records_total",
            "Records not processed: replayed (at or below the high-water mark) or duplicate (their message id "
            "was seen); of vectors, other_model (than the index has) or no_index (for things of their kind); "
            "of contexts, overtaken (by a later turn of the conversation).",
            "stage",
            "reason",
        )
        self.misrouted_records_total = self._counter(
            "misrouted_records_total",
            "Records found in a partition that their key does not hash to, and published to the right one.",
            "stage",
            "topic",
        )
        self.epoch_drops_total = self._counter(
            "epoch_drops_total",
            "Batches dropped unprocessed because they were fetched before a seek or a rebalance.",
            "stage",
        )
        self.rebalances_total = self._counter("rebalances_total", "Partition assignments received.", "service")

    def _dependencies(self) -> None:
        self.retries_total = self._counter(
            "retries_total", "Calls to something outside that were tried again.", "stage", "dependency"
        )
        self.dependency_wait_seconds_total = self._counter(
            "dependency_wait_seconds_total",
            "Time a stage stood still because a dependency was down, slow or throttling.",
            "stage",
            "dependency",
        )
        self.dependency_waiting = self._gauge(
            "dependency_waiting", "1 while a stage waits for a dependency.", "stage", "dependency"
        )

    def _recovery(self) -> None:
        self.recovery_seconds = self._gauge(
            "recovery_seconds", "Duration of the latest recovery of a table from its changelog.", "table"
        )
        self.recovery_records_total = self._counter(
            "recovery_records_total", "Changelog records read back into a table.", "table"
        )
