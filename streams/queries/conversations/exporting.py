"""A conversation as lines: its messages with their tokens, whether a summary covers them, and its summaries.

One JSON object per line, ``type`` ``message`` or ``summary``.  Messages are
those of ``memory.turns.v1`` (kept for a year, masked); their ``metadata`` stands in ``chat.messages.v1`` only,
as it was said: it is masked here, and empty once that has let go of them.  ``switchboard import jsonl`` reads
what this writes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from models.errors import InvalidRecord
from models.messages import DEFAULT_TENANT, ChatMessage
from models.summaries import Summary
from models.turns import Turn
from processors.retrieval.recall.masking import Mask
from processors.text.tokens import TokenCounter, message_tokens
from streams.agents.masking import mask_of, masked_values
from streams.agents.message_log import read_message
from streams.clients.kafka.lookup import Lookup
from streams.clients.records import SourceRecord
from streams.clients.topics import MESSAGES
from streams.config.settings import Settings
from streams.llm.tokenizer import open_counter
from streams.queries.conversations.summary_topic import summaries_of
from streams.stores.turn_topic import TurnTopic


class ExportedMessage(msgspec.Struct, frozen=True, kw_only=True, tag="message"):
    """One message of an export.  ``masked``: passages of text and metadata that are not kept verbatim."""

    message_id: str
    conversation_id: str
    user_id: str
    tenant_id: str
    role: str
    content: str
    sent_at: str
    index: int
    token_count: int
    is_summarized: bool
    metadata: dict[str, Any]
    masked: int = 0


class ExportedSummary(msgspec.Struct, frozen=True, kw_only=True, tag="summary"):
    """One summary of an export; ``summary`` as in ``memory.summaries.v1``."""

    summary_id: str
    conversation_id: str
    from_index: int
    to_index: int
    tokens: int
    created_at: str
    summary: Any
    replaces: tuple[str, ...] = ()


Exported = ExportedMessage | ExportedSummary


class _Known(msgspec.Struct, frozen=True):
    message_id: str
    conversation_id: str
    tenant_id: str = DEFAULT_TENANT
    metadata: dict[str, Any] = {}


_decode = msgspec.json.Decoder(_Known).decode


async def export_conversation(
    settings: Settings, lookup: Lookup, tenant_id: str, conversation_id: str
) -> list[Exported]:
    """Return the lines of a conversation, messages by index and then summaries; none if nobody knows it.

    Raises :class:`DependencyUnavailable` when the broker does not answer.
    """
    turns = await TurnTopic(settings, lookup).turns(tenant_id, conversation_id)
    if not turns:
        return []
    summaries = await summaries_of(lookup, tenant_id, conversation_id)
    metadata = await _metadata(lookup, tenant_id, conversation_id)
    return lines(turns, summaries, metadata, open_counter(settings.tokenizer), mask_of(settings))


def lines(
    turns: Iterable[Turn],
    summaries: Iterable[Summary],
    metadata: dict[str, dict[str, Any]],
    count: TokenCounter,
    mask: Mask,
) -> list[Exported]:
    """Return the lines of one conversation."""
    turns = list(turns)
    found = [each for each in summaries if turns and each.created_at >= turns[0].began_at]
    covered = {index for each in found for index in range(each.from_index, each.to_index + 1)}
    told = {turn.message_id: masked_values(metadata.get(turn.message_id, {}), mask) for turn in turns}
    messages: list[Exported] = [
        ExportedMessage(
            message_id=turn.message_id,
            conversation_id=turn.conversation_id,
            user_id=turn.user_id,
            tenant_id=turn.tenant_id,
            role=turn.role,
            content=turn.text,
            sent_at=turn.sent_at.isoformat(),
            index=turn.index,
            token_count=message_tokens(turn.role, turn.text, count),
            is_summarized=turn.index in covered,
            metadata=told[turn.message_id][0],
            masked=turn.masked + told[turn.message_id][1].total(),
        )
        for turn in turns
    ]
    written: list[Exported] = [
        ExportedSummary(
            summary_id=each.summary_id,
            conversation_id=each.conversation_id,
            from_index=each.from_index,
            to_index=each.to_index,
            tokens=each.tokens,
            created_at=each.created_at.isoformat(),
            summary=msgspec.to_builtins(each.summary),
            replaces=each.replaces,
        )
        for each in sorted(found, key=lambda each: (each.from_index, each.created_at))
    ]
    return messages + written


def _read(record: SourceRecord) -> _Known | ChatMessage | None:
    try:
        return _decode(record.value or b"")
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        pass  # as another client has it
    try:
        return read_message(record)
    except InvalidRecord:
        return None


async def _metadata(lookup: Lookup, tenant_id: str, conversation_id: str) -> dict[str, dict[str, Any]]:
    """Return the metadata of a conversation's messages, by message."""
    read = await lookup.find(MESSAGES, conversation_id.encode())
    found = {}
    for record in read.records if read is not None else ():
        known = _read(record)
        if known is None:
            continue  # no message: a punctuation, or what the services dead-letter
        if (known.tenant_id, known.conversation_id) == (tenant_id, conversation_id):
            found[known.message_id] = known.metadata
    return found
