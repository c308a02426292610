"""Topic metadata by name: of these topics alone (a cluster may have thousands); none is created."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import (
    InvalidTopicError,
    LeaderNotAvailableError,
    TopicAuthorizationFailedError,
    UnknownTopicOrPartitionError,
    for_code,
)
from aiokafka.protocol.metadata import MetadataRequest

_THERE = (0, LeaderNotAvailableError.errno)
_MISSING = (UnknownTopicOrPartitionError.errno, InvalidTopicError.errno)


class Described(NamedTuple):
    """Topics that there are, by name, as the protocol describes them; and those that we may not even see."""

    found: dict[str, dict[str, Any]]
    hidden: set[str]


async def described(admin: AIOKafkaAdminClient, names: Collection[str]) -> Described:
    """Describe those of ``names`` that exist.

    Raises what the client library does, also for a topic that the broker cannot describe.
    """
    found: dict[str, dict[str, Any]] = {}
    hidden: set[str] = set()
    if not names:
        return Described(found, hidden)  # to ask for no name may mean to ask for all
    response = await admin._send_request(MetadataRequest(list(names), allow_auto_topic_creation=False))
    for topic in response.to_object()["topics"]:
        code, name = topic["error_code"], topic["topic"]
        if code in _THERE:
            found[name] = topic
        elif code == TopicAuthorizationFailedError.errno:
            hidden.add(name)
        elif code not in _MISSING:
            raise for_code(code)(f"the broker cannot describe {name}")
    return Described(found, hidden)
