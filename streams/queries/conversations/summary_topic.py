"""The summaries of a conversation, read from their topic: several of one, each under its own id."""

from __future__ import annotations

import msgspec

from models.summaries import Summary
from streams.clients.kafka.lookup import Lookup
from streams.clients.topics import SUMMARIES

_decode = msgspec.json.Decoder(Summary).decode


async def summaries_of(lookup: Lookup, tenant_id: str, conversation_id: str) -> list[Summary]:
    """Return the summaries of a conversation in the order in which they were made, without those erased.

    Raises:
        DependencyUnavailable: Kafka does not answer.
    """
    read = await lookup.find(SUMMARIES, conversation_id.encode())
    found: dict[bytes | None, Summary] = {}
    for record in read.records if read is not None else ():
        if record.value is None:
            found.pop(record.key, None)
            continue
        try:
            summary = _decode(record.value)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            continue  # the stage that reads the topic dead-letters it
        if (summary.tenant_id, summary.conversation_id) == (tenant_id, conversation_id):
            found[record.key] = summary
    return list(found.values())
