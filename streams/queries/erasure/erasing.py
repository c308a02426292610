"""Forgetting a conversation or a person: what is asked of the services, and what is erased at once."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import NamedTuple

import structlog

from models.errors import ConfigurationError
from streams.clients import cloudevents, commands, erasure_ledger
from streams.clients.catalog import catalog_for
from streams.clients.erasures import EVENT, Erasing
from streams.clients.kafka import broker
from streams.clients.kafka.lookup import Lookup
from streams.config.background import in_own_loop
from streams.config.printing import printable
from streams.config.settings import Settings
from streams.llm.erasure_answers import forget_answers
from streams.queries.conversations import states as conversation_states
from streams.queries.erasure.generations import ErasureRecord, write_everywhere
from streams.stores.turn_topic import TurnTopic

log = structlog.get_logger("streams.queries.erasure")

_SOURCE = "/switchboard/cli"
_CLIENT = "switchboard-cli"


class Remaining(NamedTuple):
    """How long what was erased can still be read, by whoever reads the topics.

    ``compacted``: until when it is in the files of compacted topics; ``kept``: until when in others, by name.
    """

    compacted: datetime
    kept: dict[str, datetime]


def remaining(settings: Settings, now: datetime) -> Remaining:
    """Return until when what is erased now remains where, as the topics' retention says."""
    compacted, kept = now, {}
    for spec in catalog_for(settings):
        if (until := spec.gone_by(now)) is None:
            continue
        if spec.is_compacted:
            compacted = max(compacted, until)
        else:
            kept[spec.name] = until
    return Remaining(compacted, kept)


async def erase_conversation(
    settings: Settings, tenant: str, conversation_id: str, user_id: str = ""
) -> tuple[conversation_states.Stored | None, int]:
    """Ask for a conversation to be forgotten, or what one person said in it.

    Returns its state, ``None`` if nothing of it was processed by now, and how many answers of language models
    are erased.

    Raises:
        ConfigurationError: it belongs to another tenant: nothing was erased.
        DependencyUnavailable: the broker does not answer.
    """
    command = commands.erasing(conversation_id, tenant, user_id)
    stored = await conversation_states.find(Lookup(settings), conversation_id)
    if stored is not None and stored.state.tenant_id != tenant:
        raise ConfigurationError(
            f"conversation {printable(conversation_id)!r} belongs to another tenant than "
            f"{printable(tenant)!r}: nothing was erased; give its own with --tenant"
        )
    await commands.send(settings, [command])
    answers = await forget_answers(
        settings,
        [Erasing(tenant, conversation_id, user_id, datetime.now(UTC))],
        lambda memo, _: (memo.tenant_id, memo.conversation_id) == (tenant, conversation_id),
        _CLIENT,
        now=True,
    )
    return stored, answers


async def erase_person(settings: Settings, tenant: str, user_id: str) -> tuple[dict[str, bool], int]:
    """Ask for a person to be forgotten.

    Returns the person's conversations, and of each whether nobody else takes part in it; and how many answers
    of language models are erased.

    Raises:
        DependencyUnavailable: the broker does not answer; asked again, nothing is done twice.  Nothing is
            erased unless the list of conversations is whole.
    """
    at = datetime.now(UTC)
    # All that is known of anybody is read: not on the event loop of those who are answered meanwhile.
    found = await in_own_loop(lambda: _conversations_of(settings, tenant, user_id))
    asked = [commands.erasing(name, tenant, "" if alone else user_id) for name, alone in found.items()]
    try:
        await erasure_ledger.note(settings, tenant, user_id, at)
    except ConfigurationError as error:
        # They are erased in any case; what is sent again later is not known to be theirs.
        log.error("an erasure is not in the ledger", error=str(error))
    # First, so that nothing new is learned from what is still on its way.
    await _forget_facts(settings, Erasing(tenant, "", user_id, datetime.now(UTC)))
    await commands.send(settings, asked)
    now = datetime.now(UTC)
    answers = await forget_answers(
        settings,
        [Erasing(tenant, name, "" if alone else user_id, now) for name, alone in found.items()],
        # In a conversation with others their words may stand in an answer about somebody else.
        lambda memo, _: memo.tenant_id == tenant and (memo.user_id == user_id or memo.conversation_id in found),
        _CLIENT,
        now=True,
    )
    return found, answers


async def _conversations_of(settings: Settings, tenant: str, user_id: str) -> dict[str, bool]:
    """Return a person's conversations, and of each whether nobody else takes part in it."""
    found = await TurnTopic(settings).conversations(tenant, user_id)
    return {**dict.fromkeys(await conversation_states.of_person(settings, tenant, user_id), True), **found}


async def _forget_facts(settings: Settings, erasing: Erasing) -> None:
    """Have all facts about a person erased that rest on what has arrived by now, by the broker's clock."""

    def record(partition: int) -> ErasureRecord:
        key = erasing.key(partition)
        event = cloudevents.outgoing(EVENT, _SOURCE, f"{key}/{erasing.until.isoformat()}")
        return ErasureRecord(key.encode(), [*event, *erasing.headers_now()])

    await write_everywhere(settings, erasing.user_id, record, _CLIENT, broker.ANSWER_SECONDS)
