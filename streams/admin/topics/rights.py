"""The least rights that each role needs at a broker that asks (``StandardAuthorizer`` and its like).

They follow from the catalog: who reads and who writes each topic.  ``switchboard topics acls`` prints them, and
a worker asks the broker for its own before it begins, so that one that is missing is named at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Literal, NamedTuple

from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import GroupAuthorizationFailedError, KafkaError

from models.errors import ConfigurationError
from streams.admin.topics.cluster import connected
from streams.clients import kafka
from streams.clients.catalog import Catalog
from streams.clients.kafka.operations import allowed_on_group, allowed_on_topics
from streams.clients.topic_spec import TopicSpec
from streams.config.settings import Settings
from streams.config.settings.services import SERVICES

_POLL_SECONDS = 0.1

#: Where a person is erased at once (:mod:`streams.queries.erasure.erasing`).
_ERASED_BY_SERVE = ("memory.facts.v1", "models.memo.v1")

#: Roles that read and write the topics that they own.
_OWNERS = ("token", "policy", "webhook")

#: What each role is for; the services run under theirs.
ROLES = {
    **{service: f"switchboard worker {service}" for service in SERVICES},
    "serve": "switchboard serve",
    "token": "switchboard token create, list and revoke",
    "policy": "switchboard policy set and show",
    "webhook": "switchboard webhook add, list, remove, deliver (and Read on groups switchboard-webhook-*)",
    "producer": "whoever sends messages and response chunks",
    "reader": "whoever reads what comes out",
    "apply": "switchboard topics apply and check",
    "operator": "switchboard status, doctor, tail, conversations, digest, replay switch and back",
    "reset": "switchboard state reset and rewind",
}


class Right(NamedTuple):
    """One operation, in Kafka's name, that is needed on one topic or group."""

    kind: Literal["topic", "group"]
    name: str
    operation: str


def rights_of(role: str, catalog: Catalog) -> list[Right]:
    """Return the rights that ``role`` (of :data:`ROLES`) needs; Describe only where nothing else implies it.

    Raises :class:`ConfigurationError` for a role that there is not.
    """
    if role in SERVICES:
        return _service(role, catalog)
    if role == "serve":
        return _serve(catalog)
    if role in _OWNERS:
        owned = [right for spec in catalog if spec.owner == role for right in _on(spec, "Read", "Write")]
        return owned + [right for spec in catalog if role in spec.looked_up_by for right in _on(spec, "Read")]
    if role == "producer":
        return [right for spec in catalog if spec.owner == "producers" for right in _on(spec, "Write")]
    if role == "reader":
        return [right for spec in catalog if "anyone" in spec.readers for right in _on(spec, "Read")]
    if role == "apply":
        operations = ("Create", "Describe", "DescribeConfigs", "AlterConfigs")
        return [right for spec in catalog for right in _on(spec, *operations)]
    if role == "operator":
        rights = [right for spec in catalog for right in _on(spec, "Read", "DescribeConfigs")]
        rights += [right for spec in catalog if spec.owner == "replay" for right in _on(spec, "Write")]
        return rights + [_group(service, catalog, "Describe") for service in SERVICES]
    if role == "reset":
        rights = [right for spec in catalog if not spec.dead_letter_of for right in _on(spec, "Read")]
        changelogs = [spec for spec in catalog if spec.is_changelog]
        on_changelog = ("Write", "Create", "Delete", "DescribeConfigs", "AlterConfigs")
        rights += [right for spec in changelogs for right in _on(spec, *on_changelog)]
        return rights + [_group(service, catalog, "Read") for service in SERVICES]
    raise ConfigurationError(f"no role is called {role!r}: choose among {', '.join(ROLES)}")


def _serve(catalog: Catalog) -> list[Right]:
    """It reads everything for everybody, writes as producers do, tries dead letters again, and erases."""
    rights = [_group(service, catalog, "Describe") for service in SERVICES]
    for spec in catalog:
        refused = spec.dead_letter or spec.dead_letter_of
        owned = spec.owner in ("producers", "serve") or "serve" in spec.writers
        writes = owned or refused or spec.contract_name in _ERASED_BY_SERVE
        rights += _on(spec, "Read", *(["Write"] if writes else []), "DescribeConfigs")
    return rights


def topics_of(service: str, catalog: Catalog) -> list[TopicSpec]:
    """Return every topic that ``service`` reads or writes."""
    names = {right.name for right in _service(service, catalog) if right.kind == "topic"}
    return [spec for spec in catalog if spec.name in names]


def _service(service: str, catalog: Catalog) -> list[Right]:
    rights = [_group(service, catalog, "Read")]
    for spec in catalog:
        reads = service in spec.readers
        # A record in a partition that its key does not hash to is written again, to the right one.
        misplaced = reads and spec.routed_by == spec.key and not spec.is_changelog
        operations = ["Read"] if reads or service in spec.looked_up_by else []
        if service in (spec.owner, *spec.writers) or misplaced or service in _readers_of_source(spec, catalog):
            operations.append("Write")
        if operations:
            rights += _on(spec, *operations, "DescribeConfigs")
    return rights


def _readers_of_source(spec: TopicSpec, catalog: Catalog) -> Sequence[str]:
    return catalog.get(spec.dead_letter_of).readers if spec.dead_letter_of else ()


def _on(spec: TopicSpec, *operations: str) -> list[Right]:
    return [Right("topic", spec.name, operation) for operation in operations]


def _group(service: str, catalog: Catalog, operation: str) -> Right:
    return Right("group", catalog.namespace.group(service), operation)


async def check_rights(role: str, catalog: Catalog, settings: Settings, *, timeout_seconds: float) -> None:
    """Ask the broker whether we have what ``role`` needs on topics that exist.

    Raises :class:`ConfigurationError`, one line that says which right is missing on what.
    """
    rights = rights_of(role, catalog)
    topics = sorted({right.name for right in rights if right.kind == "topic"})
    async with connected(settings, timeout_seconds) as admin:
        allowed = dict(await allowed_on_topics(admin, topics))
        for group in {right.name for right in rights if right.kind == "group"}:
            allowed[group] = await _allowed_on_group(admin, group)
    missing = [right for right in rights if right.operation not in allowed.get(right.name, frozenset())]
    if missing:
        raise ConfigurationError(
            f"{kafka.user_of(settings)} lacks {_in_words(missing)}; `switchboard topics acls {role}` prints "
            "all that it needs"
        )


async def _allowed_on_group(admin: AIOKafkaAdminClient, group: str) -> frozenset[str]:
    while True:
        try:
            return await allowed_on_group(admin, group)
        except GroupAuthorizationFailedError:
            return frozenset()
        except KafkaError as error:
            if not error.retriable:
                raise
            await asyncio.sleep(_POLL_SECONDS)  # a broker without any group yet makes room for them first


def _in_words(rights: Sequence[Right]) -> str:
    """Return "Read on the group g, Write on the topic a and 3 more"."""
    names: dict[tuple[str, str], list[str]] = {}
    for right in rights:
        names.setdefault((right.operation, right.kind), []).append(right.name)
    return ", ".join(
        f"{operation} on the {kind} {found[0]}" + (f" and {len(found) - 1} more" if len(found) > 1 else "")
        for (operation, kind), found in names.items()
    )
