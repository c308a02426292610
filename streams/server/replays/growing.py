"""Partitions of a generation: its derived topics may have more than the live ones.

A generation makes all derived topics anew, so they need not be moved.  Topics that line up with a shared one
(messages, commands) keep its number: what is on it is read by every generation.
"""

from __future__ import annotations

from models.errors import ConfigurationError
from streams.clients.catalog import catalog_for
from streams.clients.partitions import lined_up, read_counts
from streams.config.settings import Settings


def growing(live: Settings) -> dict[str, int]:
    """Return the topics that may grow, by contract name, with their live partitions."""
    specs = catalog_for(live).all()
    shared = {spec.contract_name for spec in specs if spec.shared}
    groups = lined_up(specs)
    return {
        spec.contract_name: spec.partitions for spec in specs if shared.isdisjoint(groups[spec.contract_name])
    }


def grown(live: Settings, partitions: int) -> str:
    """Return ``SWITCHBOARD_PARTITIONS`` of a generation whose topics have grown to ``partitions``.

    Raises:
        ConfigurationError: it is no multiple of what they have.  Of what was erased only the partition is
            known, and only a multiple says in which ones it may lie then.
    """
    topics = growing(live)
    if odd := sorted({count for count in topics.values() if partitions % count or partitions <= count}):
        raise ConfigurationError(
            f"--partitions {partitions}: the derived topics have {', '.join(map(str, odd))}, and can grow to a "
            f"multiple of that, such as {3 * odd[-1]}"
        )
    groups = lined_up(catalog_for(live).all())
    stay = {name: count for name, count in read_counts(live.partitions).items() if name not in topics}
    grow = {min(groups[name]): partitions for name in topics}
    return ",".join(f"{name}={count}" for name, count in sorted({**stay, **grow}.items()))


def places(partition: int, before: int, after: int) -> range:
    """Return the partitions of ``after`` in which may lie what is in a partition of ``before``."""
    return range(partition, after, before)
