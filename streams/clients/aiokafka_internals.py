"""Every part of aiokafka that the runtime leans on beyond its public interface.

Named in one place, as those of Faust are in :mod:`streams.runtime.faust_internals`; and apart from them, since
what only reads or writes records (the API, the command line) does without Faust, which takes long to import.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

from aiokafka import AIOKafkaConsumer
from aiokafka.client import AIOKafkaClient
from aiokafka.conn import AIOKafkaConnection
from aiokafka.consumer.fetcher import Fetcher as AIOKafkaFetcher
from aiokafka.consumer.fetcher import FetchResult, PartitionRecords
from aiokafka.consumer.group_coordinator import CoordinatorGroupRebalance, GroupCoordinator
from aiokafka.errors import ConsumerStoppedError
from aiokafka.producer.message_accumulator import MessageAccumulator
from aiokafka.producer.sender import SendProduceReqHandler
from aiokafka.protocol.api import RequestStruct
from aiokafka.protocol.fetch import FetchRequest
from aiokafka.protocol.group import HeartbeatRequest, JoinGroupRequest
from aiokafka.protocol.produce import ProduceRequest
from aiokafka.protocol.types import Array, Bytes, Int32, Schema
from aiokafka.record.default_records import DefaultRecordBatchBuilder
from aiokafka.record.memory_records import MemoryRecords
from aiokafka.record.util import calc_crc32c

__all__ = [
    "ASSUMPTIONS",
    "Array",
    "Assumption",
    "Bytes",
    "ConsumerStoppedError",
    "DefaultRecordBatchBuilder",
    "FetchRequest",
    "HeartbeatRequest",
    "Int32",
    "JoinGroupRequest",
    "MemoryRecords",
    "ProduceRequest",
    "RequestStruct",
    "Schema",
    "calc_crc32c",
    "mentions",
    "parameters",
]


class Assumption(NamedTuple):
    """Assumption of the runtime about its dependencies: a sentence, and a check of it."""

    says: str
    holds: Callable[[], bool]


def mentions(thing: Any, *words: str) -> Callable[[], bool]:
    """Return a check that the source of ``thing`` has these words."""
    return lambda: all(word in inspect.getsource(thing) for word in words)


def parameters(thing: Any, *names: str) -> Callable[[], bool]:
    """Return a check that the parameters of ``thing`` begin with these."""
    return lambda: [*inspect.signature(thing).parameters][: len(names)] == [*names]


def _round_trip() -> tuple[Any, ...]:
    builder = DefaultRecordBatchBuilder(2, 0, 0, -1, -1, -1, 0)
    builder.append(0, 1, b"k", None, [("h", None)])
    [record] = MemoryRecords(bytes(builder.build())).next_batch()
    return record.key, record.value, record.headers


ASSUMPTIONS = [
    Assumption(
        "aiokafka's fetcher hands over what it fetched through fetched_records(partitions, timeout, records)",
        parameters(AIOKafkaFetcher.fetched_records, "self", "partitions", "timeout", "max_records"),
    ),
    Assumption(
        "what was fetched waits in _records, and each record of it is made by _consumer_record(tp, record)",
        lambda: (
            mentions(AIOKafkaFetcher._proc_fetch_request, "self._records[tp] = FetchResult(")()
            and mentions(FetchResult.getall, "for msg in self._partition_records:")()
            and mentions(PartitionRecords._unpack_records, "= self._consumer_record(tp, record)")()
        ),
    ),
    Assumption(
        "topics added to a client together are asked for together; offsets look for one at a time",
        lambda: (
            mentions(AIOKafkaClient.add_topic, "self.force_metadata_update()", "self._topics.add(topic)")()
            and mentions(AIOKafkaFetcher._proc_offset_requests, "raise Errors.StaleMetadata(partition)")()
        ),
    ),
    Assumption(
        "a seek drops what aiokafka's fetcher holds of the partition",
        mentions(AIOKafkaFetcher.seek_to, "self._subscriptions.seek(tp, offset)", "del self._records[tp]"),
    ),
    Assumption(
        "without a timeout fetched_records awaits nothing but the end of a reassignment",
        mentions(AIOKafkaFetcher.fetched_records, "reassignment_in_progress", "if drained or not timeout:"),
    ),
    Assumption(
        "a fetch waiter is woken by what comes after it was made, and may be cancelled",
        mentions(AIOKafkaFetcher._create_fetch_waiter, "add_done_callback", "waiters.remove(f)"),
    ),
    Assumption(
        "an empty set of partitions means all of them to aiokafka's fetcher",
        mentions(AIOKafkaFetcher.fetched_records, "if partitions and tp not in partitions"),
    ),
    Assumption(
        "the fetcher asks through client.send(node, FetchRequest) and reads the answer's topics",
        mentions(
            AIOKafkaFetcher._proc_fetch_request,
            "response = await self._client.send(node_id, request)",
            "for topic, partitions in response.topics:",
        ),
    ),
    Assumption(
        "the fetcher asks for what _get_actions_per_node(assignment) says, again after the time that it says",
        mentions(
            AIOKafkaFetcher._fetch_requests_routine,
            "fetch_requests,\n                    reset_requests,\n                    timeout,",
            "= self._get_actions_per_node(assignment)",
            "timeout=timeout,",
        ),
    ),
    Assumption(
        "how long a fetch may wait at the broker is read for each",
        mentions(
            AIOKafkaFetcher._get_actions_per_node,
            "req = FetchRequest(\n                self._fetch_max_wait_ms,",
        ),
    ),
    Assumption(
        "the last field of a partition in a fetch's answer is its batches, and it may hold none",
        mentions(
            AIOKafkaFetcher._proc_fetch_request,
            "for partition, error_code, highwater, *part_data in partitions:",
            "records = MemoryRecords(part_data[-1])",
            "elif records.size_in_bytes() > 0:",
        ),
    ),
    Assumption(
        "the consumer's client is made with the consumer, and its fetcher asks through it",
        mentions(AIOKafkaConsumer.__init__, "self._client = AIOKafkaClient("),
    ),
    Assumption(
        "records of a batch are counted by its header: the next fetch begins after its last offset",
        mentions(PartitionRecords._unpack_records, "self.next_fetch_offset = next_batch.next_offset"),
    ),
    Assumption(
        "DefaultRecordBatchBuilder and MemoryRecords write and read a record batch without a connection",
        lambda: _round_trip() == (b"k", None, [("h", None)]),
    ),
    Assumption(
        "the group's coordinator sends every request, heartbeats too, through _send_req(request)",
        mentions(GroupCoordinator._do_heartbeat, "HeartbeatRequest(", "resp = await self._send_req(request)"),
    ),
    Assumption(
        "joining the group is asked through _send_req(request), too, and tried again when that fails",
        mentions(
            CoordinatorGroupRebalance.perform_group_join,
            "request = JoinGroupRequest(",
            "response = await self._coordinator._send_req(request)",
            "except Errors.KafkaError:",
        ),
    ),
    Assumption(
        "a member that the group no longer knows calls coordinator.reset_generation()",
        mentions(GroupCoordinator._do_heartbeat, "UnknownMemberIdError", "self.reset_generation()"),
    ),
    Assumption(
        "errors of the coordinator wait for somebody who calls check_errors()",
        mentions(GroupCoordinator._push_error_to_user, "self._pending_exception = exc"),
    ),
    Assumption(
        "the producer sends its batches through client.send(node, ProduceRequest)",
        mentions(SendProduceReqHandler, "request = ProduceRequest(", "self._client.send(node_id, request)"),
    ),
    Assumption(
        "a connection asks a request's struct for its bytes, and the struct asks its schema",
        lambda: (
            mentions(AIOKafkaConnection.send, "request.prepare(", "request_struct.encode()")()
            and mentions(RequestStruct.encode, "self.SCHEMA.encode(")()
        ),
    ),
    Assumption(
        "a batch waits in the producer until the one before it left, and its future is shielded",
        mentions(MessageAccumulator.add_batch, "wait_drain", "asyncio.shield(batch.future)"),
    ),
]
