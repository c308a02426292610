"""Reading and writing ``memory.policies.v1``, outside of any consumer group."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import msgspec

from models.errors import ConfigurationError
from models.policies import NO_RULES, Policy, Rules, check, rules_of
from streams.clients.kafka.keyed_topic import KeyedTopic
from streams.config.settings import Settings

TOPIC = "memory.policies.v1"

POLICIES = KeyedTopic(TOPIC, Policy, "policies")


class PolicyStore:
    """Policies as an operator reads and sets them."""

    def __init__(self, settings: Settings, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._settings = settings
        self._clock = clock

    async def get(self, tenant_id: str) -> Policy | None:
        """Return the policy of a tenant; ``None``: it has none.

        Raises:
            DependencyUnavailable: the broker does not answer.
        """
        return (await POLICIES.read_all(self._settings)).get(tenant_id)

    async def set(self, tenant_id: str, rules: Rules) -> Policy | None:
        """Put rules in the place of those that a tenant has; return the policy, ``None`` if there are none.

        Raises:
            ConfigurationError: they cannot be followed (:func:`models.policies.check`).
            DependencyUnavailable: the broker does not answer.
        """
        check(rules)
        named = {name: getattr(rules, name) for name in Rules.__struct_fields__}
        try:
            policy = msgspec.convert(
                msgspec.to_builtins({**named, "tenant_id": tenant_id, "set_at": self._clock()}), Policy
            )
        except msgspec.ValidationError as error:
            raise ConfigurationError(f"there can be no such policy: {error}") from None
        kept = None if rules_of(policy) == NO_RULES else policy
        await POLICIES.put(self._settings, tenant_id, kept)
        return kept
