"""Partition counts, and the topics whose counts must be equal.

Topics are read together by key: a stage's sources with each other, with the changelog of its table, and each
with its dead letters.  ``SWITCHBOARD_PARTITIONS`` gives another count than the files for a topic that exists
already; all that must line up with it follow.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from models.errors import ConfigurationError
from streams.clients.topic_spec import TopicSpec


def read_counts(text: str) -> dict[str, int]:
    """Return the counts in ``SWITCHBOARD_PARTITIONS``: ``"chat.messages.v1=12,..."`` as ``{topic:
    partitions}``.
    """
    pairs = (entry.rpartition("=") for entry in text.split(",") if entry.strip())
    return {name.strip(): int(count) for name, _, count in pairs}


def lined_up(specs: Iterable[TopicSpec]) -> dict[str, frozenset[str]]:
    """Return for each topic those that must have as many partitions (itself too), all by contract name."""
    groups: dict[str, frozenset[str]] = {}
    for spec in specs:
        joined = frozenset({spec.contract_name}).union(
            *(groups.get(name, frozenset({name})) for name in (spec.contract_name, *spec.co_partitioned_with))
        )
        groups.update(dict.fromkeys(joined, joined))
    return groups


def check_counts(specs: Sequence[TopicSpec]) -> None:
    """Raise :class:`ConfigurationError` if topics that must line up are not described with one count."""
    by_name = {spec.name: spec for spec in specs}
    for spec in specs:
        for other in spec.co_partitioned_with:
            if other not in by_name:
                raise ConfigurationError(f"{spec.name} lines up with {other}, which no file describes")
            count = by_name[other].partitions
            if count != spec.partitions:
                raise ConfigurationError(
                    f"{spec.name} has {spec.partitions} partitions and {other} has {count}: "
                    "they are read together by key, so both files must give the same number"
                )


def fit(specs: Sequence[TopicSpec], counts: Mapping[str, int]) -> list[TopicSpec]:
    """Return ``specs`` with ``counts`` (by contract name) for those topics and all that line up with them.

    Raises :class:`ConfigurationError` for a topic that there is not, and for two counts that contradict.
    """
    groups = lined_up(specs)
    chosen: dict[str, tuple[int, str]] = {}
    for name, count in counts.items():
        if name not in groups:
            raise ConfigurationError(
                f"SWITCHBOARD_PARTITIONS={name}={count}: no topic is called {name!r}; `switchboard topics "
                "list` names them, and here they are written without the prefix"
            )
        for member in groups[name]:
            other_count, other = chosen.setdefault(member, (count, name))
            if other_count != count:
                raise ConfigurationError(
                    f"SWITCHBOARD_PARTITIONS gives {name} {count} partitions and {other} {other_count}: they "
                    "are read together by key, so they must have the same number"
                )
    return [
        msgspec.structs.replace(spec, partitions=chosen[spec.contract_name][0])
        if spec.contract_name in chosen
        else spec
        for spec in specs
    ]
