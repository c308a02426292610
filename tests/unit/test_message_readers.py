"""Whoever reads the log of messages reads the same of a message that another client has sent."""

from __future__ import annotations

import json

from models import ids
from models.messages import ChatMessage
from streams.agents.message_log import decode_item, read_message
from streams.clients.records import Record
from streams.clients.topics import MESSAGES
from streams.queries.conversations import exporting, unread
from streams.queries.live import records as live

ARRIVED = 1_793_527_200_000
RECORD = Record(
    json.dumps(
        {
            "conversation_id": -12,
            "user_id": 7,
            "role": "model",
            "content": [{"type": "text", "text": "Hi."}],
            "sent_at": ARRIVED,
            "metadata": None,
        }
    ).encode(),
    b"-12",
    41,
    MESSAGES,
    3,
    ARRIVED,
)
WHOSE = ("default", "-12", "7", ids.message_id(f"{MESSAGES}-3", 41))


def test_every_reader_of_the_log_names_it_alike() -> None:
    seen = live.read(RECORD, MESSAGES, lambda text: len(text.split()))
    assert seen is not None
    found = [
        read_message(RECORD),
        decode_item(RECORD, 65_536),
        seen.event.value,
        unread._read(RECORD),
    ]
    assert [(each.tenant_id, each.conversation_id, each.user_id, each.message_id) for each in found] == [
        WHOSE
    ] * 4
    assert isinstance(found[0], ChatMessage) and found[0].content == "Hi."
    assert (seen.user_id, seen.conversations) == ("7", frozenset({"-12"}))
    exported = exporting._read(RECORD)
    assert exported is not None and (exported.message_id, exported.metadata) == (WHOSE[3], {})
