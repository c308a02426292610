"""Every part of Faust and aiokafka that the runtime leans on beyond their public interface.

Named in one place, so that an upgrade that breaks one says which: ``tests/unit/test_faust_internals.py``
checks each entry of :data:`ASSUMPTIONS`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

from aiokafka import AIOKafkaConsumer
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
from faust.app.base import App
from faust.assignor.client_assignment import ClientAssignment
from faust.assignor.partition_assignor import PartitionAssignor
from faust.tables.base import Collection
from faust.tables.manager import TableManager
from faust.tables.recovery import RebalanceAgain, Recovery, ServiceStopped
from faust.tables.table import Table
from faust.transport.conductor import Conductor
from faust.transport.consumer import Consumer as BaseConsumer
from faust.transport.drivers.aiokafka import (
    AIOKafkaConsumerThread,
    Consumer,
    Transport,
    ensure_aiokafka_TP,
)
from faust.types import TP
from faust.types.tuples import ConsumerMessage, Message, ack_lock
from mode import Service
from mode.utils.queues import FlowControlEvent

__all__ = [
    "ASSUMPTIONS",
    "TP",
    "AIOKafkaConsumerThread",
    "App",
    "Array",
    "Assumption",
    "Bytes",
    "ClientAssignment",
    "Consumer",
    "ConsumerMessage",
    "ConsumerStoppedError",
    "DefaultRecordBatchBuilder",
    "FetchRequest",
    "HeartbeatRequest",
    "Int32",
    "JoinGroupRequest",
    "MemoryRecords",
    "Message",
    "PartitionAssignor",
    "ProduceRequest",
    "RebalanceAgain",
    "Recovery",
    "RequestStruct",
    "Schema",
    "Service",
    "ServiceStopped",
    "Table",
    "TableManager",
    "Transport",
    "ack_lock",
    "calc_crc32c",
    "ensure_aiokafka_TP",
]


class Assumption(NamedTuple):
    """What the runtime expects of the code it stands on: a sentence, and a check of it."""

    says: str
    holds: Callable[[], bool]


def _mentions(thing: Any, *words: str) -> Callable[[], bool]:
    return lambda: all(word in inspect.getsource(thing) for word in words)


def _parameters(thing: Any, *names: str) -> Callable[[], bool]:
    return lambda: [*inspect.signature(thing).parameters][: len(names)] == [*names]


def _round_trip() -> tuple[Any, ...]:
    builder = DefaultRecordBatchBuilder(2, 0, 0, -1, -1, -1, 0)
    builder.append(0, 1, b"k", None, [("h", None)])
    [record] = MemoryRecords(bytes(builder.build())).next_batch()
    return record.key, record.value, record.headers


ASSUMPTIONS = [
    Assumption(
        "the consumer drains through _drain_messages(fetcher), which we replace",
        _parameters(BaseConsumer._drain_messages, "self", "fetcher"),
    ),
    Assumption(
        "the fetcher service calls consumer._drain_messages",
        _mentions(inspect.getmodule(BaseConsumer), "await consumer._drain_messages(self)"),
    ),
    Assumption(
        "the scheduler is made once, without arguments, and kept as consumer.scheduler",
        _mentions(BaseConsumer.__init__, "self.scheduler = self.app.conf.ConsumerScheduler()"),
    ),
    Assumption(
        "a message is made by _to_message(tp, record) and stamped with the app's generation",
        _mentions(Consumer._to_message, "tp,", "generation_id=self.app.consumer_generation_id"),
    ),
    Assumption(
        "revoke and shutdown stop the flow first and then wait for consumer.wait_empty()",
        _mentions(App._on_partitions_revoked, "consumer.stop_flow", "_consumer_wait_empty"),
    ),
    Assumption(
        "shutdown stops the flow and waits for consumer.wait_empty()",
        _mentions(App._stop_consumer, "consumer.stop_flow()", "_consumer_wait_empty"),
    ),
    Assumption(
        "the app makes its tables with the class of a setting, and they make their recovery on first use",
        _mentions(TableManager, "self._recovery = Recovery("),
    ),
    Assumption(
        "recovery is asked for by a signal that each assignment sets, in a task that we replace",
        _mentions(Recovery.on_rebalance, "self.signal_recovery_start.set()"),
    ),
    Assumption(
        "recovery waits through _wait, which ends early with RebalanceAgain or ServiceStopped",
        _mentions(Recovery._wait, "raise ServiceStopped()", "raise RebalanceAgain()"),
    ),
    Assumption(
        "what Faust does when recovery is over is what we do",
        _mentions(
            Recovery.on_recovery_completed,
            "on_rebalance_complete.send()",
            "self.completed.set()",
            "flow_control.resume()",
            "consumer.resume_flow()",
            "_fetcher.maybe_start()",
            "on_actives_ready()",
            "on_standbys_ready()",
            "on_rebalance_end()",
        ),
    ),
    Assumption(
        "a service's tasks are looked up by name, so that a subclass replaces them",
        _mentions(Service._get_tasks, "getattr(self, attr_name)"),
    ),
    Assumption(
        "resuming the flow empties the queues that were filled before",
        _mentions(FlowControlEvent.resume, "self.clear()"),
    ),
    Assumption(
        "commits go through force_commit(topics, start_new_transaction)",
        _parameters(BaseConsumer.force_commit, "self", "topics", "start_new_transaction"),
    ),
    Assumption(
        "acks that are not inlined end in consumer.ack(message)",
        _mentions(ConsumerMessage.on_final_ack, "consumer.ack(self)"),
    ),
    Assumption(
        "active partitions are a set that pausing and resuming edit",
        _mentions(BaseConsumer.pause_partitions, "_get_active_partitions().difference_update"),
    ),
    Assumption(
        "the thread makes its consumer in _create_worker_consumer(transport)",
        _parameters(AIOKafkaConsumerThread._create_worker_consumer, "self", "transport"),
    ),
    Assumption(
        "aiokafka's fetcher hands over what it fetched through fetched_records(partitions, timeout, records)",
        _parameters(AIOKafkaFetcher.fetched_records, "self", "partitions", "timeout", "max_records"),
    ),
    Assumption(
        "what was fetched waits in _records, and each record of it is made by _consumer_record(tp, record)",
        lambda: (
            _mentions(AIOKafkaFetcher._proc_fetch_request, "self._records[tp] = FetchResult(")()
            and _mentions(FetchResult.getall, "for msg in self._partition_records:")()
            and _mentions(PartitionRecords._unpack_records, "= self._consumer_record(tp, record)")()
        ),
    ),
    Assumption(
        "a seek drops what aiokafka's fetcher holds of the partition",
        _mentions(AIOKafkaFetcher.seek_to, "self._subscriptions.seek(tp, offset)", "del self._records[tp]"),
    ),
    Assumption(
        "without a timeout fetched_records awaits nothing but the end of a reassignment",
        _mentions(AIOKafkaFetcher.fetched_records, "reassignment_in_progress", "if drained or not timeout:"),
    ),
    Assumption(
        "a fetch waiter is woken by what comes after it was made, and may be cancelled",
        _mentions(AIOKafkaFetcher._create_fetch_waiter, "add_done_callback", "waiters.remove(f)"),
    ),
    Assumption(
        "an empty set of partitions means all of them to aiokafka's fetcher",
        _mentions(AIOKafkaFetcher.fetched_records, "if partitions and tp not in partitions"),
    ),
    Assumption(
        "the fetcher asks through client.send(node, FetchRequest) and reads the answer's topics",
        _mentions(
            AIOKafkaFetcher._proc_fetch_request,
            "response = await self._client.send(node_id, request)",
            "for topic, partitions in response.topics:",
        ),
    ),
    Assumption(
        "the last field of a partition in a fetch's answer is its batches, and it may hold none",
        _mentions(
            AIOKafkaFetcher._proc_fetch_request,
            "for partition, error_code, highwater, *part_data in partitions:",
            "records = MemoryRecords(part_data[-1])",
            "elif records.size_in_bytes() > 0:",
        ),
    ),
    Assumption(
        "the consumer's client is made with the consumer, and its fetcher asks through it",
        _mentions(AIOKafkaConsumer.__init__, "self._client = AIOKafkaClient("),
    ),
    Assumption(
        "records of a batch are counted by its header: the next fetch begins after its last offset",
        _mentions(PartitionRecords._unpack_records, "self.next_fetch_offset = next_batch.next_offset"),
    ),
    Assumption(
        "DefaultRecordBatchBuilder and MemoryRecords write and read a record batch without a connection",
        lambda: _round_trip() == (b"k", None, [("h", None)]),
    ),
    Assumption(
        "the app makes its transport in _new_transport()",
        _parameters(App._new_transport, "self"),
    ),
    Assumption(
        "partitions are assigned by the leader in _perform_assignment(cluster, member_metadata)",
        _parameters(PartitionAssignor._perform_assignment, "self", "cluster", "member_metadata"),
    ),
    Assumption(
        "what a member is told is made by _protocol_assignments, with its address from _update_member_urls",
        lambda: (
            _parameters(
                PartitionAssignor._protocol_assignments,
                *("self", "assignments", "cl_distribution", "tp_distribution", "topic_groups"),
            )()
            and _mentions(PartitionAssignor._protocol_assignments, "url=self._member_urls[client]")()
        ),
    ),
    Assumption(
        "a member learns what the group reads from the topics' groups, and its own part from _active_tps",
        _mentions(
            PartitionAssignor.on_assignment, "self._topic_groups = dict(metadata.topic_groups)", "_active_tps"
        ),
    ),
    Assumption(
        "topics that acks are enabled for are those with an acking channel",
        _mentions(Conductor._update_indices, "if channel.acks:", "_acking_topics.add"),
    ),
    Assumption(
        "a table hears of lost partitions through on_rebalance(assigned, revoked, newly_assigned)",
        _parameters(Collection.on_rebalance, "self", "assigned", "revoked", "newly_assigned"),
    ),
    Assumption(
        "the changelog topic of a table is <app id>-<table>-changelog",
        _mentions(Collection._changelog_topic_name, "{self.app.conf.id}-{self.name}-changelog"),
    ),
    Assumption(
        "the group's coordinator sends every request, heartbeats too, through _send_req(request)",
        _mentions(GroupCoordinator._do_heartbeat, "HeartbeatRequest(", "resp = await self._send_req(request)"),
    ),
    Assumption(
        "joining the group is asked through _send_req(request), too, and tried again when that fails",
        _mentions(
            CoordinatorGroupRebalance.perform_group_join,
            "request = JoinGroupRequest(",
            "response = await self._coordinator._send_req(request)",
            "except Errors.KafkaError:",
        ),
    ),
    Assumption(
        "a member that the group no longer knows calls coordinator.reset_generation()",
        _mentions(GroupCoordinator._do_heartbeat, "UnknownMemberIdError", "self.reset_generation()"),
    ),
    Assumption(
        "errors of the coordinator wait for somebody who calls check_errors()",
        _mentions(GroupCoordinator._push_error_to_user, "self._pending_exception = exc"),
    ),
    Assumption(
        "the producer sends its batches through client.send(node, ProduceRequest)",
        _mentions(SendProduceReqHandler, "request = ProduceRequest(", "self._client.send(node_id, request)"),
    ),
    Assumption(
        "a connection asks a request's struct for its bytes, and the struct asks its schema",
        lambda: (
            _mentions(AIOKafkaConnection.send, "request.prepare(", "request_struct.encode()")()
            and _mentions(RequestStruct.encode, "self.SCHEMA.encode(")()
        ),
    ),
    Assumption(
        "a batch waits in the producer until the one before it left, and its future is shielded",
        _mentions(MessageAccumulator.add_batch, "wait_drain", "asyncio.shield(batch.future)"),
    ),
]
