"""The evidence of a fact: what counts as the same, what is kept, and what is known although it was let go.

The same evidence is the very same messages, or one of them in the same window: whoever reads that again may
name others beside it.  A message that says that something is so, and that it is no longer so, is one piece of
evidence, which ``ends`` it.  A fact keeps the provenance of its newest evidence (:data:`PROVENANCE_LIMIT`);
``evidence_count`` counts all of it.  Within a source partition, evidence
that came no later than the oldest that is kept counts as known once any was let go: however deep a replay
reaches, it adds nothing twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime

import msgspec

from models.facts import Erasure, Fact, Provenance
from models.messages import Timestamp

#: How many pieces of evidence a fact names.  Each partition that evidence came from keeps at least one.
PROVENANCE_LIMIT = 20

Origin = tuple[str, int]
Place = tuple[datetime, int]


class Floor(msgspec.Struct, frozen=True, array_like=True):
    """Up to where, in a source partition, evidence counts as known."""

    topic: str
    partition: int
    arrived_at: Timestamp
    offset: int


def origin(evidence: Provenance) -> Origin:
    """The topic and partition of the messages."""
    return evidence.topic, evidence.partition


def place(evidence: Provenance) -> Place:
    """Where evidence stands in its partition: by time, for offsets begin anew in a topic that is made again."""
    return evidence.arrived_at, max(evidence.offsets, default=0)


def is_same(one: Provenance, other: Provenance) -> bool:
    """Return whether two pieces of evidence are the same."""
    in_common = one.window_id == other.window_id and not {*one.message_ids}.isdisjoint(other.message_ids)
    return one.conversation_id == other.conversation_id and (in_common or one.message_ids == other.message_ids)


def name_of(evidence: Provenance) -> str:
    """Return the key of a piece of evidence within its fact."""
    return " ".join((evidence.window_id, *evidence.message_ids))


def floors(fact: Fact) -> dict[Origin, Place]:
    """Per source partition, the place up to which evidence counts as known; empty if all is kept."""
    found: dict[Origin, Place] = {}
    if fact.evidence_count > len(fact.provenance):
        for kept in fact.provenance:
            found[origin(kept)] = min(place(kept), found.get(origin(kept), place(kept)))
    return found


def is_counted(known: Fact, evidence: Provenance) -> bool:
    """Return whether ``known`` already has this evidence."""
    if any(is_same(evidence, kept) and kept.ends >= evidence.ends for kept in known.provenance):
        return True
    floor = floors(known).get(origin(evidence))
    return floor is not None and place(evidence) <= floor


def with_ends(provenance: Iterable[Provenance], others: Iterable[Provenance]) -> tuple[Provenance, ...]:
    """Return evidence that also ends a fact where the same evidence among ``others`` does."""
    ends = [each for each in others if each.ends]
    return tuple(
        msgspec.structs.replace(each, ends=True) if any(is_same(each, end) for end in ends) else each
        for each in provenance
    )


def ceilings(provenance: Iterable[Provenance], known: Iterable[Floor] = ()) -> tuple[Floor, ...]:
    """Return the floors under which all of this evidence lies, and all that lay under ``known``."""
    found: dict[Origin, Place] = {}
    for floor in known:
        key, until = (floor.topic, floor.partition), (floor.arrived_at, floor.offset)
        found[key] = max(until, found.get(key, until))
    for each in provenance:
        found[origin(each)] = max(place(each), found.get(origin(each), place(each)))
    return tuple(Floor(*key, *found[key]) for key in sorted(found))


def is_under(evidence: Provenance, floors: Iterable[Floor]) -> bool:
    """Return whether evidence is older than the evidence that was dropped."""
    return any(
        (floor.topic, floor.partition) == origin(evidence)
        and place(evidence) <= (floor.arrived_at, floor.offset)
        for floor in floors
    )


def is_erased(evidence: Provenance, erasure: Erasure | None) -> bool:
    """Return whether evidence was erased."""
    return erasure is not None and evidence.arrived_at <= erasure.until


def newest(provenance: Sequence[Provenance]) -> tuple[Provenance, ...]:
    """Let go of the oldest, first of the partition that has most: partitions do not go on side by side."""
    kept = list(provenance)
    while len(kept) > PROVENANCE_LIMIT:
        most, count = max(Counter(map(origin, kept)).items(), key=lambda item: (item[1], item[0]))
        if count == 1:
            break
        kept.remove(min((e for e in kept if origin(e) == most), key=place))
    return tuple(kept)
