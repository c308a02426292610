"""Kafka clients: made here and nowhere else (:mod:`.clients`); why a broker refuses (:mod:`.refusals`); reading
without a group, for one question (:mod:`.broker`).
"""

from streams.kafka.clients import (
    close,
    connect,
    connected,
    connection,
    make_admin,
    make_consumer,
    make_producer,
)
from streams.kafka.refusals import denied, hidden, refusal, user_of

__all__ = [
    "close",
    "connect",
    "connected",
    "connection",
    "denied",
    "hidden",
    "make_admin",
    "make_consumer",
    "make_producer",
    "refusal",
    "user_of",
]
