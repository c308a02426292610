"""The policies as a process knows them: followed in their topic, and kept beside the data for when Kafka is
down.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AsyncExitStack
from datetime import timedelta
from typing import NamedTuple, Protocol

import structlog

from models.errors import ConfigurationError, DependencyUnavailable
from models.policies import NO_RULES, Policy, Rules, check, lifetimes, rules_hash, rules_of
from models.statements import Kind
from processors.extraction.policies.never import NeverKeptWords
from streams.clients.kafka.followed import Followed
from streams.clients.policies.topic import POLICIES
from streams.config.settings import Settings

#: How long the first reader waits for the topic to be read (seconds).
_SETTLING_SECONDS = 2.0

log = structlog.get_logger("streams.clients.policies")


class TenantPolicy(NamedTuple):
    """Rules of a tenant, ready for use.  ``hash``: of the rules; ``""`` without any."""

    rules: Rules
    hash: str
    never_kept: NeverKeptWords
    lifetimes: Mapping[Kind, timedelta]


class Policies(Protocol):
    """The policies by tenant, as :class:`KnownPolicies`."""

    def of(self, tenant_id: str) -> TenantPolicy:
        """Return the latest known policy of a tenant."""
        ...

    async def settled(self) -> None:
        """Return when the policies were read once, or it was waited for that long enough."""
        ...


def prepared(rules: Rules) -> TenantPolicy:
    """Return rules ready for use.

    Raises:
        ConfigurationError: they cannot be followed.
    """
    check(rules)
    return TenantPolicy(rules, rules_hash(rules), NeverKeptWords(rules.never_kept), lifetimes(rules))


NO_POLICY = prepared(NO_RULES)


class NoPolicies:
    """Implements :class:`Policies` where no tenant has one."""

    def of(self, tenant_id: str) -> TenantPolicy:
        """Return the policy without rules."""
        return NO_POLICY

    async def settled(self) -> None:
        """Return at once."""


class KnownPolicies:
    """Implements :class:`Policies`, from :meth:`start` to :meth:`close`."""

    def __init__(self, settings: Settings) -> None:
        self._by_tenant: dict[str, TenantPolicy] = {}
        self._followed = Followed(settings, POLICIES, self._set)
        self._patience = settings.request_timeout_seconds
        self._is_settled = False

    async def start(self) -> None:
        """Begin; what was kept beside the data counts until the topic was read."""
        await self._followed.start(0.0)

    async def read_once(self) -> None:
        """Read the topic once instead of following it, or what was kept of it."""
        await self._followed.read_once(_SETTLING_SECONDS)
        self._is_settled = True

    async def close(self) -> None:
        """Follow no longer."""
        await self._followed.close()

    def of(self, tenant_id: str) -> TenantPolicy:
        """Return the latest known policy of a tenant."""
        return self._by_tenant.get(tenant_id, NO_POLICY)

    async def ready(self) -> None:
        """Return when the topic was read to its end once.

        Raises:
            DependencyUnavailable: it cannot be read yet, so nobody knows what must never be kept.
        """
        if not await self._followed.wait(self._patience):
            raise DependencyUnavailable("kafka", f"{POLICIES.topic} has not been read yet")

    async def settled(self) -> None:
        """Return when the topic was read once, or it was waited for that long enough.

        Readers go on without it: with Kafka down, what was kept beside the data counts.
        """
        if not self._is_settled:
            await self._followed.wait(_SETTLING_SECONDS)
            self._is_settled = True

    def _set(self, policies: Mapping[str, Policy]) -> None:
        known: dict[str, TenantPolicy] = {}
        for tenant_id, policy in policies.items():
            rules, before = rules_of(policy), self._by_tenant.get(tenant_id)
            if before is not None and before.rules == rules:
                known[tenant_id] = before
                continue
            try:
                known[tenant_id] = prepared(rules)
            except ConfigurationError as error:
                # Set past `switchboard policy set` and the API, which refuse it.
                log.error(
                    "a policy cannot be followed; the one before stays", tenant=tenant_id, error=str(error)
                )
                if before is not None:
                    known[tenant_id] = before
                continue
            log.info("policy", tenant=tenant_id, hash=known[tenant_id].hash)
        self._by_tenant = known


async def read_policies(settings: Settings) -> KnownPolicies:
    """Return the policies as they are now, for a command; with Kafka down as they were known here last."""
    policies = KnownPolicies(settings)
    await policies.read_once()
    return policies


async def open_policies(settings: Settings, resources: AsyncExitStack) -> KnownPolicies:
    """Return the policies, followed until ``resources`` are closed."""
    policies = KnownPolicies(settings)
    resources.push_async_callback(policies.close)
    await policies.start()
    return policies
