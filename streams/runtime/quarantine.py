"""Quarantine of records that no step may see: batches that were not unpacked, records in the wrong
partition.
"""

from __future__ import annotations

from collections.abc import Callable

from streams.clients.partitioner import partitions_of
from streams.clients.records import RecordBatch, SourceRecord, UnreadBatch, rerouted
from streams.runtime.effects import DeadLetter, Effects
from streams.runtime.publisher import record_bytes
from streams.runtime.stage import BoundStage


def quarantine(
    batch: RecordBatch, bound: BoundStage, largest: Callable[[str], int]
) -> tuple[RecordBatch, Effects]:
    """Return ``batch`` without what no step may see (maybe nothing is left), and what happens to that.

    A batch that was not unpacked is dead-lettered as it is.  A record that lies in a partition its key does
    not hash to (rule 10) is published to the right one; larger than ``largest(source)``, it is dead-lettered.
    A stage that only observes passes over both.
    """
    effects = Effects()
    observes_only = bound.stage.passes_over(batch.source)
    if UnreadBatch in map(type, batch.records):
        for record in batch.records:
            if isinstance(record, UnreadBatch) and not observes_only:
                effects.dead_letters.append(DeadLetter(record, record.reason, record.message))
        batch = batch.only([record for record in batch.records if not isinstance(record, UnreadBatch)])
    partitions = bound.hashed.get(batch.source, 0)
    if not partitions:
        return batch, effects
    keys = list({record.key for record in batch.records if record.key is not None})
    places = zip(keys, partitions_of(keys, partitions), strict=True)
    misplaced = {key for key, at in places if at != batch.partition}
    if misplaced:
        wrong = [record for record in batch.records if record.key in misplaced]
        taken = {record.offset for record in wrong}
        batch = batch.only([record for record in batch.records if record.offset not in taken])
        if observes_only:
            return batch, effects
        for record in wrong:
            _reroute(record, batch.source, largest(batch.source), effects)
        effects.count("misrouted_records_total", bound.stage.name, batch.source, by=len(wrong))
    return batch, effects


def _reroute(record: SourceRecord, source: str, limit: int, effects: Effects) -> None:
    headers = rerouted(record)
    size = record_bytes(record.key, record.value, headers)
    if size <= limit:
        effects.forward(source, record.key, record.value, headers)
        return
    text = f"its key does not hash to this partition, and {source} takes {limit} bytes, not {size}"
    effects.dead_letters.append(DeadLetter(record, "misplaced_too_large", text))
