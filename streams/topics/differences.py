"""Where the broker's topics differ from the contract, what that would do, and the way out.  No I/O."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from streams.topics.catalog import Catalog, TopicSpec

#: What happens if a setting of a topic differs from the contract.
_CONSEQUENCES = {
    "cleanup.policy": "compaction keeps one record per key for ever, deletion keeps all for a while: "
    "under the wrong one records go that are still needed",
    "retention.ms": "records are deleted at another time than the contract promises its readers",
    "max.message.bytes": "a record that the contract allows may be refused, and its stage would stop",
    "message.timestamp.type": "retention and compaction would follow the producers' clocks",
    "min.compaction.lag.ms": "changes may be compacted away before a reader or a recovery has seen them",
    "delete.retention.ms": "a reader that was away for longer misses deletions",
    "segment.bytes": "the newest segment is never compacted or deleted, so recovery reads and keeps more",
}


class Difference(NamedTuple):
    """Where the broker differs from the contract.

    ``what`` is ``missing``, ``partitions`` or the name of a Kafka setting.  ``blocking`` ones lose or
    split data if a service starts nevertheless.
    """

    topic: str
    what: str
    expected: str
    found: str
    advice: str
    blocking: bool


class FoundTopic(NamedTuple):
    """A topic as the broker describes it; ``ready`` when each partition has a leader."""

    partitions: int
    replicas: int
    ready: bool


def config_differences(
    specs: Sequence[TopicSpec], configs: Mapping[str, Mapping[str, tuple[str, int]]]
) -> list[Difference]:
    """Compare ``configs`` (``{topic: {setting: (value, source)}}``) with what the contract says."""
    differences = []
    for spec in specs:
        for setting, expected in spec.config.items():
            found = configs[spec.name].get(setting, ("(unknown to this broker)", 0))[0]
            if found != expected:
                advice = f"{_CONSEQUENCES[setting]}; `switchboard topics apply` sets it"
                blocking = setting == "cleanup.policy"
                differences.append(Difference(spec.name, setting, expected, found, advice, blocking))
    return differences


def count_differences(catalog: Catalog, found: Mapping[str, FoundTopic]) -> list[Difference]:
    """Name the topics that are missing, or whose number of partitions is not the contract's."""
    differences = []
    for spec in catalog.all():
        if spec.name not in found:
            advice = "`switchboard topics apply` creates it"
            differences.append(
                Difference(spec.name, "missing", f"{spec.partitions} partitions", "-", advice, True)
            )
        elif (count := found[spec.name].partitions) != spec.partitions:
            advice = _partition_advice(catalog, spec, found)
            differences.append(
                Difference(spec.name, "partitions", str(spec.partitions), str(count), advice, True)
            )
    return differences


def _partition_advice(catalog: Catalog, spec: TopicSpec, found: Mapping[str, FoundTopic]) -> str:
    """Say why the count matters, whom the topic must line up with, and the ways out."""
    partners = {catalog.name(name) for name in spec.co_partitioned_with}
    partners |= {
        other.name
        for other in catalog.all()
        if spec.contract_name in other.co_partitioned_with and not other.dead_letter_of
    }
    lines_up = ""
    if partners:
        counts = ", ".join(
            f"{name} ({found[name].partitions if name in found else 'missing'})" for name in sorted(partners)
        )
        lines_up = f"it is read by key together with {counts}, so their counts must be equal; "
    return (
        f"{lines_up}a count cannot be changed in place, as a key's next records would go to another partition: "
        f"if the topic holds nothing you need, delete it and run `switchboard topics apply`; otherwise set "
        f"partitions: {found[spec.name].partitions} in schemas/topics for it and for those it lines up with"
    )
