"""Permitted operations on topics and groups, checked before work begins.

A broker answers a forbidden fetch or produce only when it is tried, in the middle of the work; asked for the
*authorized operations* (KIP-430, Kafka 2.3), it says so beforehand.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import for_code
from aiokafka.protocol.api import Request, RequestStruct, Response
from aiokafka.protocol.types import Array, Boolean, Bytes, Int16, Int32, Schema, String

#: Kafka's codes of operations (``AclOperation``), which are also the bits of the answers.
OPERATIONS = {
    "Read": 3,
    "Write": 4,
    "Create": 5,
    "Delete": 6,
    "Describe": 8,
    "DescribeConfigs": 10,
    "AlterConfigs": 11,
}

_NO_ERROR, _GROUP_NOT_FOUND = 0, 69

#: What a broker answers that does not tell.
_UNKNOWN = -(2**31)

_ALL = frozenset(OPERATIONS)
_TEXT = String("utf-8")


class _TopicsResponse(Response):  # type: ignore[misc]
    API_KEY = 3
    API_VERSION = 8
    SCHEMA = Schema(
        ("throttle_time_ms", Int32),
        ("brokers", Array(("node_id", Int32), ("host", _TEXT), ("port", Int32), ("rack", _TEXT))),
        ("cluster_id", _TEXT),
        ("controller_id", Int32),
        (
            "topics",
            Array(
                ("error_code", Int16),
                ("topic", _TEXT),
                ("is_internal", Boolean),
                (
                    "partitions",
                    Array(
                        ("error_code", Int16),
                        ("partition", Int32),
                        ("leader", Int32),
                        ("leader_epoch", Int32),
                        ("replicas", Array(Int32)),
                        ("isr", Array(Int32)),
                        ("offline_replicas", Array(Int32)),
                    ),
                ),
                ("authorized_operations", Int32),
            ),
        ),
        ("cluster_authorized_operations", Int32),
    )


class _TopicsStruct(RequestStruct):  # type: ignore[misc]
    API_KEY = 3
    API_VERSION = 8
    RESPONSE_TYPE = _TopicsResponse
    SCHEMA = Schema(
        ("topics", Array(_TEXT)),
        ("allow_auto_topic_creation", Boolean),
        ("include_cluster_authorized_operations", Boolean),
        ("include_topic_authorized_operations", Boolean),
    )


class _Topics(Request[_TopicsStruct]):  # type: ignore[misc]
    API_KEY = 3

    def __init__(self, names: Iterable[str]) -> None:
        self._names = list(names)

    def build(self, request_struct_class: type[_TopicsStruct]) -> _TopicsStruct:
        return request_struct_class(self._names, False, False, True)


class _GroupsResponse(Response):  # type: ignore[misc]
    API_KEY = 15
    API_VERSION = 3
    SCHEMA = Schema(
        ("throttle_time_ms", Int32),
        (
            "groups",
            Array(
                ("error_code", Int16),
                ("group", _TEXT),
                ("state", _TEXT),
                ("protocol_type", _TEXT),
                ("protocol", _TEXT),
                (
                    "members",
                    Array(
                        ("member_id", _TEXT),
                        ("client_id", _TEXT),
                        ("client_host", _TEXT),
                        ("member_metadata", Bytes),
                        ("member_assignment", Bytes),
                    ),
                ),
                ("authorized_operations", Int32),
            ),
        ),
    )


class _GroupsStruct(RequestStruct):  # type: ignore[misc]
    API_KEY = 15
    API_VERSION = 3
    RESPONSE_TYPE = _GroupsResponse
    SCHEMA = Schema(("groups", Array(_TEXT)), ("include_authorized_operations", Boolean))


class _Groups(Request[_GroupsStruct]):  # type: ignore[misc]
    API_KEY = 15

    def __init__(self, names: Iterable[str]) -> None:
        self._names = list(names)

    def build(self, request_struct_class: type[_GroupsStruct]) -> _GroupsStruct:
        return request_struct_class(self._names, True)


async def allowed_on_topics(admin: AIOKafkaAdminClient, names: Iterable[str]) -> Mapping[str, frozenset[str]]:
    """Return the permitted :data:`OPERATIONS` on existing topics; all of them if the broker is too old.

    A topic that we may not see, or that does not exist, allows none.
    """
    try:
        response = await admin._send_request(_Topics(names))
    except NotImplementedError:
        return dict.fromkeys(names, _ALL)
    return {topic[1]: _allowed(topic[0], topic[4]) for topic in response.topics}


async def allowed_on_group(admin: AIOKafkaAdminClient, name: str) -> frozenset[str]:
    """Return the permitted :data:`OPERATIONS` on a consumer group, whether or not it exists yet.

    Raises what the broker raises for a group that we may not even look for.
    """
    try:
        response: Any = await admin._send_request(_Groups([name]), await admin.find_coordinator(name))
    except NotImplementedError:
        return _ALL
    [(code, *_, operations)] = response.groups
    if code not in (_NO_ERROR, _GROUP_NOT_FOUND):
        raise for_code(code)(name)
    return _allowed(_NO_ERROR, operations)


def _allowed(code: int, operations: int) -> frozenset[str]:
    if code != _NO_ERROR:
        return frozenset()
    if operations == _UNKNOWN:
        return _ALL
    return frozenset(name for name, bit in OPERATIONS.items() if operations & (1 << bit))
