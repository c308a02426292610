"""Partition assignment among the members of a group that read the same topics.

Faust spreads topics over the members that read all of them.  Where members read different topics (a service is
upgraded worker by worker, or one worker has another embedder) the sources of a stage, or a source and its
changelog, would lie with different workers, and its state be torn in silence.  So all partitions go to members
that read the same topics, and the others wait without any: those that have partitions keep them until the last
of them ends, also one that is gone and whose session has not expired.
"""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from typing import Any, cast

from streams.runtime.faust_internals import ClientAssignment, PartitionAssignor

Topics = frozenset[str]
#: What is known of each member, or what it is told.
Members = MutableMapping[str, Any]


def served(reads: Mapping[str, Topics], held: Mapping[str, int]) -> Topics:
    """Return the topics whose readers get the partitions.

    ``reads``: the topics of each member; ``held``: how many partitions each had last.  Whoever has them keeps
    them: to move them with each member that comes would stop the service each time.
    """

    def weight(topics: Topics) -> tuple[int, int, int, list[str]]:
        members = [member for member, theirs in reads.items() if theirs == topics]
        return sum(held[member] for member in members), len(members), len(topics), sorted(topics)

    return max(set(reads.values()), key=weight)


class SameTopicsAssignor(PartitionAssignor):
    """Faust's assignor, for members that read the same topics; see the module."""

    _own: Topics = frozenset()

    def metadata(self, topics: set[str]) -> Any:
        """Return the member's metadata for the group's leader."""
        self._own = frozenset(topics)
        return super().metadata(topics)

    def _perform_assignment(self, cluster: Any, member_metadata: Members) -> Members:
        reads = {member: frozenset(told.subscription) for member, told in member_metadata.items()}
        known = {member: self._get_client_metadata(told) for member, told in member_metadata.items()}
        topics = served(reads, {member: len(told.assignment.active_tps) for member, told in known.items()})
        working = {member: told for member, told in member_metadata.items() if reads[member] == topics}
        assigned = super()._perform_assignment(cluster, working)
        waiting = [member for member in known if member not in working]
        self._update_member_urls(known)
        # What the group reads tells those that wait why they do.
        nothing = {member: ClientAssignment(actives={}, standbys={}) for member in waiting}
        return {**assigned, **self._protocol_assignments(nothing, {}, {}, dict.fromkeys(topics, 0))}

    def on_assignment(self, assignment: Any) -> None:
        """Take note of what the leader decided."""
        super().on_assignment(assignment)
        others = frozenset(self._topic_groups)
        if others and others != self._own and not self._active_tps:
            cast(Any, self.app).runtime.log.warning(
                "waiting until the workers of this service that read other topics have ended: end them, or "
                "give all workers of a service the same version and settings",
                only_theirs=sorted(others - self._own),
                only_ours=sorted(self._own - others),
            )
