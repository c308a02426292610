"""Messages that the log has not read yet, from the topic."""

from __future__ import annotations

import asyncio

from models.errors import DependencyUnavailable, InvalidRecord
from streams.agents.message_log import read_message
from streams.chat.events import TurnNames
from streams.clients.kafka.lookup import Lookup
from streams.clients.records import SourceRecord
from streams.clients.topics import MESSAGES
from streams.queries.conversations.erased import Erased, is_erased

#: How long (seconds), and among how many messages, the topic is looked at.
_LOOKUP_SECONDS, _LATEST = 3.0, 20


async def said_in_topic(lookup: Lookup, erased: Erased, names: TurnNames) -> bool | None:
    """Tell whether the topic has what was said in a turn; ``None``: it does not answer, or not in time.

    What was erased lies in the topic until its retention takes it, and was not said.

    Raises:
        DependencyUnavailable: what was erased cannot be told.
    """
    try:
        async with asyncio.timeout(_LOOKUP_SECONDS):
            found = await lookup.find(MESSAGES, names.conversation_id.encode(), newest=_LATEST)
    except (DependencyUnavailable, TimeoutError):
        return None  # what was read of it until now is not read again
    arrived = [record.timestamp for record in found.records if _says(record, names)] if found else []
    if not arrived:
        return False
    whose = names.tenant_id, names.user_id, names.conversation_id, names.message_id
    return not await is_erased(erased, *whose, max(arrived))


def _says(record: SourceRecord, names: TurnNames) -> bool:
    """Tell whether a record is what this person said in this turn."""
    try:
        said = read_message(record)
    except InvalidRecord:
        return False  # ingest dead-letters it
    whose = said.tenant_id, said.user_id, said.conversation_id, said.message_id
    return whose == (names.tenant_id, names.user_id, names.conversation_id, names.message_id)
