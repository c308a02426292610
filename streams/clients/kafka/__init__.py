"""Kafka clients: made here and nowhere else (:mod:`.clients`); why a broker refuses (:mod:`.refusals`); which
topics there are (:mod:`.topics`); reading without a group, for one question (:mod:`.broker`).
"""

from streams.clients.kafka.clients import (
    client_id,
    close,
    connect,
    connected,
    connection,
    make_admin,
    make_consumer,
    make_producer,
    namespace_of,
)
from streams.clients.kafka.refusals import denied, refusal, user_of
from streams.clients.kafka.topics import described

__all__ = [
    "client_id",
    "close",
    "connect",
    "connected",
    "connection",
    "denied",
    "described",
    "make_admin",
    "make_consumer",
    "make_producer",
    "namespace_of",
    "refusal",
    "user_of",
]
