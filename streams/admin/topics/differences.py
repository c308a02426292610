"""Where the broker's topics differ from the contract, what that would do, and the way out.  No I/O."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from streams.clients.catalog import Catalog
from streams.clients.partitions import lined_up
from streams.clients.topic_spec import TopicSpec, min_insync_replicas

#: What happens if a setting of a topic differs from the contract.
_CONSEQUENCES = {
    "cleanup.policy": "compaction keeps one record per key for ever, deletion keeps all for a while: "
    "under the wrong one records go that are still needed",
    "retention.ms": "records are deleted at another time than the contract promises its readers",
    "segment.ms": "records outlive their retention by up to the time that a segment stays open",
    "max.message.bytes": "a record that the contract allows may be refused, and its stage would stop",
    "message.timestamp.type": "retention and compaction would follow the producers' clocks",
    "min.compaction.lag.ms": "changes may be compacted away before a reader or a recovery has seen them",
    "max.compaction.lag.ms": "what was erased may stay on the broker's disk for ever",
    "delete.retention.ms": "a reader that was away for longer misses deletions",
    "segment.bytes": "the newest segment is never compacted or deleted, so recovery reads and keeps more",
    "min.insync.replicas": "a write that is confirmed may be lost with one broker, or writers wait where they "
    "need not",
}

#: What goes, or may go, if a setting of a topic that exists is lowered.
_LOST_BY_LOWERING = {
    "retention.ms": "records older than {expected}",
    "delete.retention.ms": "deletions, for readers that were away for longer than {expected}",
    "min.compaction.lag.ms": "changes older than {expected} that a later one replaced",
    "min.insync.replicas": "confirmed writes, should {expected} of the topic's brokers be lost",
}

_LOST_BY_POLICY = {
    "compact,delete": "of each key, all records but the latest, records without a key are refused, and what is "
    "older than the topic's retention.ms goes",
    "compact": "of each key, all records but the latest, and records without a key are refused",
    "delete": "records older than the topic's retention.ms, whether or not they are the latest of their key",
}


class Difference(NamedTuple):
    """Where the broker differs from the contract.

    ``what`` is ``missing``, ``partitions``, ``replicas`` or the name of a Kafka setting.  ``blocking`` ones
    lose or split data if a service starts nevertheless.  ``loses`` names what may be lost when the setting is
    corrected; ``""``: nothing.
    """

    topic: str
    what: str
    expected: str
    found: str
    advice: str
    blocking: bool
    loses: str = ""

    @property
    def is_setting(self) -> bool:
        """True for what ``switchboard topics apply --execute`` corrects."""
        return self.what in _CONSEQUENCES


class FoundTopic(NamedTuple):
    """A topic as the broker describes it; ``replicas`` of the partition that has the fewest.

    ``ready`` when each partition has a leader.
    """

    partitions: int
    replicas: int
    ready: bool


def topic_config(spec: TopicSpec, replicas: int) -> dict[str, str]:
    """Return the configuration of a topic that has so many ``replicas``, in Kafka's names."""
    return spec.config | {"min.insync.replicas": str(min_insync_replicas(replicas))}


def config_differences(
    specs: Sequence[TopicSpec],
    found: Mapping[str, FoundTopic],
    configs: Mapping[str, Mapping[str, tuple[str, int]]],
) -> list[Difference]:
    """Compare ``configs`` (``{topic: {setting: (value, source)}}``) with what the contract says."""
    differences = []
    for spec in specs:
        for setting, expected in topic_config(spec, found[spec.name].replicas).items():
            value = configs[spec.name].get(setting, ("(unknown to this broker)", 0))[0]
            if value != expected:
                loses = _loses(setting, value, expected)
                accept = " --accept-loss" if loses else ""
                advice = f"{_CONSEQUENCES[setting]}; `switchboard topics apply --execute{accept}` sets it"
                blocking = setting == "cleanup.policy"
                differences.append(Difference(spec.name, setting, expected, value, advice, blocking, loses))
    return differences


def _loses(setting: str, found: str, expected: str) -> str:
    if setting == "cleanup.policy":
        return _LOST_BY_POLICY[expected]
    if setting in _LOST_BY_LOWERING and _number(found) > _number(expected):
        return _LOST_BY_LOWERING[setting].format(expected=in_units(setting, expected))
    return ""


def _number(value: str) -> float:
    """Return a setting's number, infinity for Kafka's -1; what is no number is less than any."""
    try:
        number = int(value)
    except ValueError:
        return -math.inf
    return number if number >= 0 else math.inf


def in_units(setting: str, value: str) -> str:
    """Return the value of a setting for a person: ``7 days``, ``2.4 hours``, ``for ever``."""
    number = _number(value)
    if not setting.endswith(".ms") or number == -math.inf:
        return value
    if number >= 2**62:  # Kafka's largest number stands for never, as -1 does
        return "for ever"
    for unit, milliseconds in (("day", 86_400_000), ("hour", 3_600_000), ("minute", 60_000), ("second", 1000)):
        if number >= milliseconds:
            amount = f"{number / milliseconds:.4g}"
            return f"{amount} {unit}" if amount == "1" else f"{amount} {unit}s"
    return f"{value} ms"


def count_differences(
    catalog: Catalog, found: Mapping[str, FoundTopic], replication_factor: int
) -> list[Difference]:
    """Name the topics that are missing, have another number of partitions, or fewer copies than are set."""
    differences = []
    for spec in catalog.all():
        if spec.name not in found:
            advice = "`switchboard topics apply` creates it"
            differences.append(
                Difference(spec.name, "missing", f"{spec.partitions} partitions", "-", advice, True)
            )
            continue
        has = found[spec.name]
        if has.partitions != spec.partitions:
            advice = _partition_advice(catalog, spec, found)
            differences.append(
                Difference(spec.name, "partitions", str(spec.partitions), str(has.partitions), advice, True)
            )
        if has.replicas < replication_factor:
            advice = _replica_advice(spec, has)
            differences.append(
                Difference(spec.name, "replicas", str(replication_factor), str(has.replicas), advice, False)
            )
    return differences


def _replica_advice(spec: TopicSpec, has: FoundTopic) -> str:
    return (
        f"what is confirmed is lost with {'its broker' if has.replicas == 1 else f'{has.replicas} brokers'}; "
        "Kafka's kafka-reassign-partitions.sh adds copies to a topic that exists. "
        f"If this is meant, set SWITCHBOARD_REPLICATION_FACTOR={has.replicas}"
    )


def _partition_advice(catalog: Catalog, spec: TopicSpec, found: Mapping[str, FoundTopic]) -> str:
    """Say why the count matters, whom the topic must line up with, and the ways out that are open."""
    group = lined_up(catalog.all())[spec.contract_name]
    members = [other for other in catalog.all() if other.contract_name in group]
    partners = sorted(other.name for other in members if other is not spec and not other.dead_letter_of)
    has = found[spec.name].partitions
    counts = {found[other.name].partitions for other in members if other.name in found}
    lines_up = ""
    if partners:
        shown = ", ".join(
            f"{name} ({found[name].partitions if name in found else 'missing'})" for name in partners
        )
        lines_up = f"it is read by key together with {shown}, so their counts must be equal; "
    why = "a count cannot be changed in place, as a key's next records would go to another partition: "
    delete = (
        "if a topic holds nothing you need, delete it (kafka-topics.sh --delete) and run "
        "`switchboard topics apply`"
    )
    if counts == {has}:
        keep = f"to keep it, set SWITCHBOARD_PARTITIONS={spec.contract_name}={has} for every process"
    else:
        keep = "no number fits all that exist: to keep them, set SWITCHBOARD_TOPIC_PREFIX and begin beside them"
    return f"{lines_up}{why}{keep}; {delete}"
