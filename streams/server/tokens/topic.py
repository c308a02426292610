"""Reading and writing ``access.tokens.v1``, outside of any consumer group."""

from __future__ import annotations

from models.access import Token
from streams.clients.kafka.keyed_topic import KeyedTopic

TOPIC = "access.tokens.v1"

TOKENS = KeyedTopic(TOPIC, Token, "tokens")

put, read_all, follow = TOKENS.put, TOKENS.read_all, TOKENS.follow
