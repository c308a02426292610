"""Sending commands (``memory.commands.v1``), each confirmed by the broker."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime

import msgspec

from models.commands import Command, CommandKind
from models.errors import ConfigurationError, NotFound
from models.facts import Fact, FactStatus
from models.ids import deterministic_id
from models.messages import DEFAULT_TENANT
from processors.facts.merged import is_kept_whole
from streams.clients import cloudevents, kafka
from streams.clients.catalog import catalog_for
from streams.clients.kafka import broker
from streams.clients.partitioner import partition_of
from streams.clients.topics import COMMANDS
from streams.config.settings import Settings

_SOURCE = "/switchboard/cli"

#: Where commands lie that are about no conversation.
_NO_CONVERSATION = "consolidation"


def closing(conversation_id: str, tenant_id: str = DEFAULT_TENANT) -> Command:
    """Return the command that closes a conversation now.

    Raises:
        ConfigurationError: what is given cannot be the id of a conversation or of a tenant.
    """
    return _command(CommandKind.CLOSE, conversation_id, tenant_id)


def erasing(conversation_id: str, tenant_id: str = DEFAULT_TENANT, user_id: str = "") -> Command:
    """Return the command that erases a conversation now, or what one person said in it.

    Raises:
        ConfigurationError: what is given cannot be the id of a conversation, a tenant or a person.
    """
    return _command(CommandKind.ERASE, conversation_id, tenant_id, user_id)


def consolidating(tenant_id: str = DEFAULT_TENANT, user_id: str = "", *, dry_run: bool = False) -> Command:
    """Return the command that looks through the facts about a person, or (``""``) about everybody, now.

    Raises:
        ConfigurationError: what is given cannot be the id of a tenant or a person.
    """
    command = _command(CommandKind.CONSOLIDATE, _NO_CONVERSATION, tenant_id, user_id)
    return msgspec.structs.replace(command, dry_run=dry_run)


def separating(fact: Fact) -> Command:
    """Return the command that brings back a fact that consolidation merged into another.

    Raises:
        ConfigurationError: there is nothing to bring back, and what else would help.
    """
    if fact.status is not FactStatus.MERGED_INTO:
        raise ConfigurationError(
            f"fact {fact.fact_id} is part of no other one ({fact.status}): there is nothing to bring back"
        )
    if not is_kept_whole(fact):
        raise ConfigurationError(
            f"fact {fact.fact_id} was completed by {fact.merged_into_id}, which says the same and more: if "
            f"that is wrong, correct it (switchboard correct {fact.merged_into_id} TEXT --user ...)"
        )
    command = _command(CommandKind.SEPARATE, _NO_CONVERSATION, fact.tenant_id, fact.user_id)
    return msgspec.structs.replace(command, fact_id=fact.fact_id)


def _command(kind: CommandKind, conversation_id: str, tenant_id: str, user_id: str = "") -> Command:
    now = datetime.now(UTC)
    made_of = (kind, tenant_id, conversation_id, user_id, now.isoformat())
    try:
        return msgspec.convert(
            {
                "command_id": deterministic_id("command", *made_of),
                "command": kind,
                "conversation_id": conversation_id,
                "issued_at": now,
                "tenant_id": tenant_id,
                "user_id": user_id,
            },
            Command,
        )
    except msgspec.ValidationError as error:
        raise ConfigurationError(f"{conversation_id[:80]!r} of tenant {tenant_id[:80]!r}: {error}") from None


async def send(settings: Settings, commands: Sequence[Command]) -> None:
    """Publish the commands in order, and wait until the broker has all of them.

    Raises:
        NotFound: the topic does not exist.
        DependencyUnavailable: the broker does not take them.
    """
    topic = catalog_for(settings).name(COMMANDS)
    partitions = (await broker.partitions_of(settings, [topic])).get(topic)
    if partitions is None:
        raise NotFound(
            f"{topic} does not exist at {settings.bootstrap_servers} yet: `switchboard topics apply` creates it"
        )
    client = kafka.make_producer(settings, "switchboard-cli")
    async with broker.answering(settings), kafka.connected(client, settings, broker.ANSWER_SECONDS) as producer:
        confirmations = []
        for command in commands:
            key = command.conversation_id.encode()
            headers = cloudevents.outgoing("memory.command.v1", _SOURCE, command.command_id)
            confirmations.append(
                await producer.send(
                    topic,
                    key=key,
                    value=msgspec.json.encode(command),
                    partition=partition_of(key, partitions),
                    headers=headers,
                )
            )
        async with asyncio.timeout(2 * broker.ANSWER_SECONDS):
            await asyncio.gather(*confirmations)
