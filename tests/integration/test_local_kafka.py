"""``deploy.local.kafka``: the broker that the demo and the other tests stand on."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from deploy.local.kafka import LocalKafka
from models.errors import DependencyUnavailable

pytestmark = pytest.mark.kafka

PATIENCE = 60.0


async def create_topic(kafka: LocalKafka, topic: str) -> None:
    admin = AIOKafkaAdminClient(bootstrap_servers=kafka.bootstrap_servers)
    await admin.start()
    try:
        await admin.create_topics([NewTopic(topic, num_partitions=1, replication_factor=1)])
    finally:
        await admin.close()


async def produce(kafka: LocalKafka, topic: str, *values: bytes) -> None:
    async with AIOKafkaProducer(bootstrap_servers=kafka.bootstrap_servers, acks="all") as producer:
        for value in values:
            await producer.send_and_wait(topic, value)


async def consume(kafka: LocalKafka, topic: str, count: int) -> list[bytes]:
    async with AIOKafkaConsumer(
        bootstrap_servers=kafka.bootstrap_servers, auto_offset_reset="earliest", enable_auto_commit=False
    ) as consumer:
        consumer.assign([TopicPartition(topic, 0)])
        async with asyncio.timeout(PATIENCE):
            return [(await consumer.getone()).value for _ in range(count)]


def wait_for(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, f"waited in vain: {what}"
        time.sleep(0.02)


def is_alive(pid: int) -> bool:
    """Whether the process runs: one that has ended but was not yet collected by its parent does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


async def test_data_and_address_survive_restart_kill_and_pause(broker, topic_prefix):
    topic = f"{topic_prefix}letters"
    await create_topic(broker, topic)
    await produce(broker, topic, b"a")
    address, first = broker.bootstrap_servers, broker.pid

    broker.restart()
    assert (broker.bootstrap_servers, broker.pid == first) == (address, False)
    await produce(broker, topic, b"b")

    broker.kill()
    assert not broker.running
    broker.start()
    assert broker.bootstrap_servers == address
    assert await consume(broker, topic, 2) == [b"a", b"b"]

    async with AIOKafkaProducer(bootstrap_servers=address) as producer:
        broker.pause()
        waiting = asyncio.ensure_future(producer.send_and_wait(topic, b"c"))
        done, _ = await asyncio.wait({waiting}, timeout=0.5)
        assert not done, "a paused broker has answered"
        broker.resume()
        async with asyncio.timeout(PATIENCE):
            assert (await waiting).offset == 2

    broker.pause()
    broker.stop()
    assert not broker.running
    with pytest.raises(DependencyUnavailable, match=r"call start\(\) first"):
        broker.pause()


def test_the_broker_does_not_outlive_a_killed_parent(tmp_path):
    program = (
        "import sys, threading\n"
        "from deploy.local.kafka import LocalKafka\n"
        "node = LocalKafka(sys.argv[1])\n"
        # Started by a thread that ends: the broker belongs to the process, not to that thread.
        "starter = threading.Thread(target=node.start)\n"
        "starter.start(); starter.join()\n"
        "print(node.pid, flush=True)\n"
        "threading.Event().wait()\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", program, tmp_path], stdout=subprocess.PIPE, text=True)
    try:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        assert is_alive(pid)
    finally:
        parent.kill()
        parent.communicate()
    try:
        wait_for(lambda: not is_alive(pid), "the broker ends with its parent")
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def test_in_the_foreground_ctrl_c_stops_it_in_order(tmp_path):
    command = [sys.executable, "-m", "deploy.local.kafka", "--port", "0", "--data-dir", tmp_path / "data"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as person:
        try:
            assert person.stdout is not None
            assert "answers on 127.0.0.1:" in person.stdout.readline()
            person.send_signal(signal.SIGINT)
            assert person.wait(PATIENCE) == 0
        finally:
            person.kill()
    assert "shut down completed" in (tmp_path / "data" / "kafka.log").read_text()
