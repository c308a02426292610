"""The validator that needs nothing: what no rule decides stays as it is."""

from __future__ import annotations

from collections.abc import Sequence

from models.consolidation import Decision, MergeCluster
from models.ports import MergeVerdict, Validated


class BuiltinMergeValidator:
    """Implements :class:`models.ports.MergeValidator`: keeps every fact; never raises, never waits."""

    @property
    def name(self) -> str:
        """Name and version, as stored in each step that follows."""
        return "builtin-keep-1"

    async def validate(self, user_id: str, tenant_id: str, clusters: Sequence[MergeCluster]) -> Validated:
        """Return that all stay; of what denies each other it says nothing, so that stays decided."""
        kept = [each.cluster_id for each in clusters if not each.contradictory]
        return Validated(tuple(MergeVerdict(cluster_id, Decision.KEEP_BOTH) for cluster_id in kept))
