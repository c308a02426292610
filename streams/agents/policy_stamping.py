"""Stamps of records that a tenant's policy decided about, besides the stage's settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import structlog

from streams.clients.policies.known import TenantPolicy
from streams.runtime.stamp import Stamp, config_hash, stamp

#: Policies whose stamps are kept: more only cost a hash each.
_MOST = 1024

log = structlog.get_logger("streams.clients.policies")


class PolicyStamps:
    """Stamps of a stage by policy.  Without one, a record is stamped as any other of the stage."""

    def __init__(self, stage: str, decided_by: Mapping[str, Any]) -> None:
        self.decided_by = decided_by
        self._stage = stage
        self._stamps: dict[str, Stamp] = {}

    def of(self, policy: TenantPolicy) -> Stamp | None:
        """Return the stamp of what a policy decided about; ``None`` without rules."""
        if not policy.hash:
            return None
        found = self._stamps.get(policy.hash)
        if found is None:
            if len(self._stamps) >= _MOST:
                self._stamps.clear()
            decided_by = {**self.decided_by, "policy": policy.hash}
            found = self._stamps[policy.hash] = stamp(decided_by)
            # Records have a hash of this only.
            log.info("stage", stage=self._stage, config=config_hash(decided_by), decided_by=decided_by)
        return found
