"""Every part of Faust that the runtime leans on beyond its public interface.

Named in one place, so that an upgrade that breaks one says which: ``tests/unit/test_faust_internals.py``
checks each entry of :data:`ASSUMPTIONS`, and of those about aiokafka.
"""

from __future__ import annotations

import inspect

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

from streams.clients.aiokafka_internals import Assumption, mentions, parameters

__all__ = [
    "ASSUMPTIONS",
    "TP",
    "AIOKafkaConsumerThread",
    "App",
    "ClientAssignment",
    "Consumer",
    "ConsumerMessage",
    "Message",
    "PartitionAssignor",
    "RebalanceAgain",
    "Recovery",
    "Service",
    "ServiceStopped",
    "Table",
    "TableManager",
    "Transport",
    "ack_lock",
    "ensure_aiokafka_TP",
]

ASSUMPTIONS = [
    Assumption(
        "the consumer drains through _drain_messages(fetcher), which we replace",
        parameters(BaseConsumer._drain_messages, "self", "fetcher"),
    ),
    Assumption(
        "the fetcher service calls consumer._drain_messages",
        mentions(inspect.getmodule(BaseConsumer), "await consumer._drain_messages(self)"),
    ),
    Assumption(
        "the scheduler is made once, without arguments, and kept as consumer.scheduler",
        mentions(BaseConsumer.__init__, "self.scheduler = self.app.conf.ConsumerScheduler()"),
    ),
    Assumption(
        "a message is made by _to_message(tp, record) and stamped with the app's generation",
        mentions(Consumer._to_message, "tp,", "generation_id=self.app.consumer_generation_id"),
    ),
    Assumption(
        "revoke and shutdown stop the flow first and then wait for consumer.wait_empty()",
        mentions(App._on_partitions_revoked, "consumer.stop_flow", "_consumer_wait_empty"),
    ),
    Assumption(
        "shutdown stops the flow and waits for consumer.wait_empty()",
        mentions(App._stop_consumer, "consumer.stop_flow()", "_consumer_wait_empty"),
    ),
    Assumption(
        "the app makes its tables with the class of a setting, and they make their recovery on first use",
        mentions(TableManager, "self._recovery = Recovery("),
    ),
    Assumption(
        "the tables update their channels and start their recovery, a second later, for more tables",
        mentions(
            TableManager.on_start,
            "await self.sleep(1.0)",
            "await self._update_channels()",
            "await self.recovery.start()",
        ),
    ),
    Assumption(
        "recovery is asked for by a signal that each assignment sets, in a task that we replace",
        mentions(Recovery.on_rebalance, "self.signal_recovery_start.set()"),
    ),
    Assumption(
        "recovery waits through _wait, which ends early with RebalanceAgain or ServiceStopped",
        mentions(Recovery._wait, "raise ServiceStopped()", "raise RebalanceAgain()"),
    ),
    Assumption(
        "what Faust does when recovery is over is what we do",
        mentions(
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
        mentions(Service._get_tasks, "getattr(self, attr_name)"),
    ),
    Assumption(
        "resuming the flow empties the queues that were filled before",
        mentions(FlowControlEvent.resume, "self.clear()"),
    ),
    Assumption(
        "commits go through force_commit(topics, start_new_transaction)",
        parameters(BaseConsumer.force_commit, "self", "topics", "start_new_transaction"),
    ),
    Assumption(
        "acks that are not inlined end in consumer.ack(message)",
        mentions(ConsumerMessage.on_final_ack, "consumer.ack(self)"),
    ),
    Assumption(
        "active partitions are a set that pausing and resuming edit",
        mentions(BaseConsumer.pause_partitions, "_get_active_partitions().difference_update"),
    ),
    Assumption(
        "the thread makes its consumer in _create_worker_consumer(transport)",
        parameters(AIOKafkaConsumerThread._create_worker_consumer, "self", "transport"),
    ),
    Assumption(
        "the app makes its transport in _new_transport()",
        parameters(App._new_transport, "self"),
    ),
    Assumption(
        "partitions are assigned by the leader in _perform_assignment(cluster, member_metadata)",
        parameters(PartitionAssignor._perform_assignment, "self", "cluster", "member_metadata"),
    ),
    Assumption(
        "what a member is told is made by _protocol_assignments, with its address from _update_member_urls",
        lambda: (
            parameters(
                PartitionAssignor._protocol_assignments,
                *("self", "assignments", "cl_distribution", "tp_distribution", "topic_groups"),
            )()
            and mentions(PartitionAssignor._protocol_assignments, "url=self._member_urls[client]")()
        ),
    ),
    Assumption(
        "a member learns what the group reads from the topics' groups, and its own part from _active_tps",
        mentions(
            PartitionAssignor.on_assignment, "self._topic_groups = dict(metadata.topic_groups)", "_active_tps"
        ),
    ),
    Assumption(
        "topics that acks are enabled for are those with an acking channel",
        mentions(Conductor._update_indices, "if channel.acks:", "_acking_topics.add"),
    ),
    Assumption(
        "a table hears of lost partitions through on_rebalance(assigned, revoked, newly_assigned)",
        parameters(Collection.on_rebalance, "self", "assigned", "revoked", "newly_assigned"),
    ),
    Assumption(
        "the changelog topic of a table is <app id>-<table>-changelog",
        mentions(Collection._changelog_topic_name, "{self.app.conf.id}-{self.name}-changelog"),
    ),
]
