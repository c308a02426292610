"""Policies of tenants: what is noted, what never, and for how long notes are shown."""

from __future__ import annotations

from datetime import datetime

from models.errors import ConfigurationError
from models.messages import Identifier
from models.policies import GivenRules, Rules, rules_hash, rules_of
from streams.clients.policies.topic import PolicyStore
from streams.server.api.operations import Call, Parameters, Scope, operation
from streams.server.api.problems import INVALID_REQUEST, Problem


class PolicyParameters(Parameters, frozen=True, kw_only=True):
    """``tenant``: whose policy; whoever operates the deployment sees those of all."""

    tenant: Identifier


class PolicyAnswer(Rules, frozen=True, kw_only=True):
    """Rules of a tenant.  ``hash``: of the rules, ``""`` of none; ``set_at`` ``None``: there is no policy."""

    tenant_id: str
    hash: str
    set_at: datetime | None


@operation("GET", "/v1/policies/{tenant}", scope=Scope.OPERATE, example={"tenant": "default"})
async def get_policy(call: Call, wanted: PolicyParameters) -> PolicyAnswer:
    """The policy of a tenant; of one without any, empty rules."""
    store: PolicyStore = call.part("policies")
    policy = await store.get(wanted.tenant)
    return _answer(wanted.tenant, rules_of(policy), None if policy is None else policy.set_at)


@operation(
    "PUT",
    "/v1/policies/{tenant}",
    scope=Scope.OPERATE,
    example={"tenant": "default"},
    example_body={"never_kept": {"topics": ["diagnosis"]}, "expires_after": {"event": "90d"}},
)
async def put_policy(call: Call, wanted: PolicyParameters, body: GivenRules) -> PolicyAnswer:
    """Put a policy in the place of the tenant's; without rules it has none any more.

    Instructions, categories and what is never kept count for what is read from now on. `expires_after` counts
    for all notes, as soon as the services have read this: within a second.
    """
    store: PolicyStore = call.part("policies")
    try:
        policy = await store.set(wanted.tenant, body.rules())
    except ConfigurationError as error:
        raise Problem(INVALID_REQUEST, f"There can be no such policy: {error}.") from error
    return _answer(wanted.tenant, rules_of(policy), None if policy is None else policy.set_at)


def _answer(tenant_id: str, rules: Rules, set_at: datetime | None) -> PolicyAnswer:
    fields = {name: getattr(rules, name) for name in Rules.__struct_fields__}
    return PolicyAnswer(**fields, tenant_id=tenant_id, hash=rules_hash(rules), set_at=set_at)
