"""The configuration of one Kafka node that is broker and controller at once (KRaft)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from deploy.local.ports import LOOPBACK


def server_properties(
    data_dir: Path, broker_port: int, controller_port: int, overrides: Mapping[str, str] | None = None
) -> str:
    """The text of ``server.properties``.  ``overrides`` win over what is decided here."""
    settings = {
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.quorum.voters": f"1@{LOOPBACK}:{controller_port}",
        "listeners": f"PLAINTEXT://{LOOPBACK}:{broker_port},CONTROLLER://{LOOPBACK}:{controller_port}",
        "advertised.listeners": f"PLAINTEXT://{LOOPBACK}:{broker_port}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "controller.listener.names": "CONTROLLER",
        "inter.broker.listener.name": "PLAINTEXT",
        "log.dirs": str(data_dir / "log"),
        # Topics come from schemas/topics/ alone; a typing error must not make one.
        "auto.create.topics.enable": "false",
        # One node: nothing can be replicated.
        "default.replication.factor": "1",
        "min.insync.replicas": "1",
        "offsets.topic.replication.factor": "1",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
        "share.coordinator.state.topic.replication.factor": "1",
        "share.coordinator.state.topic.min.isr": "1",
        # A handful of groups, not thousands: fewer partitions start and recover faster.
        "offsets.topic.num.partitions": "4",
        "transaction.state.log.num.partitions": "4",
        "share.coordinator.state.topic.num.partitions": "1",
        # A group of one or two workers need not wait for more of them.
        "group.initial.rebalance.delay.ms": "0",
        # After a kill, the controller refuses the node until its old session has ended (9 s by default).
        "broker.session.timeout.ms": "3000",
        "broker.heartbeat.interval.ms": "500",
        # Tests that kill workers use short sessions.
        "group.min.session.timeout.ms": "1000",
        # A small heap (the cleaner alone takes 128 MB by default) and few cores.
        "log.cleaner.dedupe.buffer.size": str(16 * 1024 * 1024),
        "num.network.threads": "2",
        "num.io.threads": "4",
        "background.threads": "2",
        # Compaction, retention and deletion happen while somebody watches.
        "log.cleaner.backoff.ms": "2000",
        "log.initial.task.delay.ms": "5000",
        "log.retention.check.interval.ms": "30000",
        "log.segment.delete.delay.ms": "1000",
    }
    settings.update(overrides or {})
    return "".join(f"{name}={value}\n" for name, value in settings.items())


def logging_configuration(log_file: Path) -> str:
    """The text of ``log4j2.yaml``: one file that cannot fill the disk.

    Milestones (started, recovered, stopped) are at INFO; what each partition and each client does is not.
    """
    return f"""\
Configuration:
  status: WARN
  Appenders:
    RollingFile:
      name: file
      fileName: "{log_file}"
      filePattern: "{log_file}.%i"
      PatternLayout:
        pattern: "%d{{ISO8601}} %-5p %c{{1.}} %m%n"
      Policies:
        SizeBasedTriggeringPolicy:
          size: 10MB
      DefaultRolloverStrategy:
        max: 2
  Loggers:
    Root:
      level: WARN
      AppenderRef:
        - ref: file
    Logger:
      - name: kafka.server.KafkaRaftServer
        level: INFO
      - name: kafka.server.BrokerServer
        level: INFO
      - name: org.apache.kafka.coordinator.group
        level: INFO
"""
