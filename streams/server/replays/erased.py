"""Erasures, carried over to a new generation before it reads anything.

The log still holds what was said before an erasure.  Read again, it would be stored again, until the erasure
in the log is reached; and a fact that was erased by itself would come back for good.  So the tables of the
generation begin with the erasures that those of the live one know, as after a reset
(:mod:`streams.admin.topics.reset`).
"""

from __future__ import annotations

from collections.abc import Mapping

from streams.admin.topics import reset_conversations, reset_episodes, reset_facts, reset_log
from streams.admin.topics.reset_log import Placed
from streams.clients.catalog import catalog_for
from streams.clients.topic_spec import TopicSpec
from streams.config.settings import Settings
from streams.server.replays.growing import places


async def carry_over(live: Settings, replayed: Settings) -> int:
    """Write what was erased into the tables of a generation whose topics exist; return how many entries.

    Safe to repeat while none of its workers runs.

    Raises:
        DependencyUnavailable: the broker does not answer.
    """
    catalog = catalog_for(live)
    written = 0
    for service in ("ingest", "recall"):
        known = await reset_conversations.read(catalog, live, service, asked=False)
        if known is not None:
            written += await _write(known.values, known.changelog, replayed)
    tombstones = await reset_episodes.read(catalog, live)
    written += await _write(tombstones.values, tombstones.changelog, replayed)
    values, changelog = await reset_facts.read_erased(catalog, live)
    return written + await _write(values, changelog, replayed)


async def _write(values: Mapping[bytes, Placed], changelog: TopicSpec, replayed: Settings) -> int:
    if not values:
        return 0
    into = catalog_for(replayed).get(changelog.contract_name)
    # Whose an erased fact was, nobody knows any more: of more partitions all have it in which it may be.
    for copy in range(into.partitions // changelog.partitions):
        placed = {
            key: Placed(places(each.partition, changelog.partitions, into.partitions)[copy], each.value)
            for key, each in values.items()
        }
        await reset_log.write(placed, into, replayed)
    return len(values)
