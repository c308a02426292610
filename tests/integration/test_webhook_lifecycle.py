"""Webhooks through Kafka: added by command, delivered to the receiver of the documentation."""

from __future__ import annotations

import asyncio
import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from serve_rig import ServeRig
from waiting import eventually

from deploy.local.ports import free_ports
from streams.clients import kafka
from streams.config import child_process

pytestmark = pytest.mark.kafka

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "webhooks.md"
ALLOWED = {"webhook_private_addresses": "allow"}


@contextmanager
def process(arguments: list[str], output: Path, env: dict[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    with output.open("ab") as file:
        running = child_process.spawn(arguments, output=file, env=env)
    try:
        yield running
    finally:
        running.terminate()
        running.wait(60)


def added(rig: ServeRig, url: str, *options: str) -> dict[str, str]:
    done = rig.command("webhook", "add", url, "--json", *options, **ALLOWED)
    assert done.returncode == 0, done.stderr
    told: dict[str, str] = json.loads(done.stdout)
    return told


def write(rig: ServeRig, *values: dict[str, Any]) -> None:
    async def send() -> None:
        client = kafka.make_producer(rig.settings, "test")
        async with kafka.connected(client, rig.settings, 30.0) as producer:
            for value in values:
                name = rig.catalog.name("memory.facts.v1")
                await producer.send_and_wait(name, json.dumps(value).encode(), key=b"f-1", partition=0)

    asyncio.run(send())


def numbers(output: Path) -> list[int]:
    found = re.findall(r"'number': (\d+)", output.read_text())
    return [*dict.fromkeys(map(int, found))]  # at least once: one may come again


def test_an_endpoint_gets_each_record_whatever_another_does(deployment: ServeRig, tmp_path: Path) -> None:
    assert "no public address" in deployment.command("webhook", "add", "http://127.0.0.1:1/").stderr
    write(deployment, {"number": 0})  # before there was an endpoint
    [port, metrics] = free_ports(2)
    hanging = socket.create_server(("127.0.0.1", 0))  # accepts, and never answers
    stuck = added(deployment, f"http://127.0.0.1:{hanging.getsockname()[1]}/")
    mine = added(deployment, f"http://127.0.0.1:{port}/hook", "--tenant", "acme")
    assert mine["secret"] not in deployment.command("webhook", "list").stdout

    [receiver] = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    output, log = tmp_path / "received", tmp_path / "log"
    secret = {"SECRET": mine["secret"], "PORT": str(port), "PATH": os.environ["PATH"]}
    deliver = [sys.executable, "-m", "streams.cli", "webhook", "deliver"]
    env = deployment.environment(metrics_port=metrics, webhook_timeout_seconds=2.0, **ALLOWED)

    def measured(name: str, webhook: str) -> float:
        try:
            text = httpx.get(f"http://127.0.0.1:{metrics}/metrics").text
        except httpx.TransportError:
            return -1.0  # it has just been started
        found = re.search(rf'^{name}{{[^}}]*webhook="{webhook}"}} (\S+)$', text, re.MULTILINE)
        return float(found[1]) if found else -1.0

    write(deployment, {"number": 1, "tenant_id": "acme"})  # nobody delivers yet
    with process(deliver, log, env):
        write(deployment, {"number": 2, "tenant_id": "acme"}, {"number": 3, "tenant_id": "umbrella"})
        oldest = "switchboard_webhook_oldest_undelivered_seconds"
        eventually(lambda: measured(oldest, mine["webhook_id"]) > 1, "the receiver is not there yet")
        with process([sys.executable, "-c", receiver], output, secret):
            eventually(lambda: numbers(output) == [1, 2], "what was waiting was delivered")
            eventually(lambda: measured(oldest, mine["webhook_id"]) == 0, "nothing waits any more")
            assert measured(oldest, stuck["webhook_id"]) > 1
    with process([sys.executable, "-c", receiver], output, secret), process(deliver, log, env):
        write(deployment, {"number": 4, "tenant_id": "acme"})
        eventually(lambda: 4 in numbers(output), "it goes on where it was")
        assert numbers(output) == [1, 2, 4]
        assert deployment.command("webhook", "remove", mine["webhook_id"]).returncode == 0
        eventually(lambda: mine["webhook_id"] not in deployment.command("webhook", "list").stdout, "it is gone")
    hanging.close()
    deployment.command("webhook", "remove", stuck["webhook_id"])
    assert "Traceback" not in log.read_text()
