"""The code of docs/how-to/kafka.md runs as it stands, and the README names the defaults."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

from deploy.local.kafka import LocalKafka
from streams.admin.topics import admin
from streams.clients.catalog import load_catalog
from streams.config.settings import Settings

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "how-to" / "kafka.md").read_text()


def snippet(name: str, servers: str, prefix: str) -> str:
    code = re.search(rf"<!-- tested: {name} -->\n```python\n(.*?)```", PAGE, re.DOTALL)
    assert code is not None
    lines = [line for line in code[1].splitlines() if line.strip()]
    assert len(lines) <= 10
    return re.sub(
        r'"((?:chat|memory)\.[a-z.-]+\.v1)"', rf'"{prefix}\1"', code[1].replace("127.0.0.1:9092", servers)
    )


@pytest.mark.kafka
async def test_the_snippets_produce_and_consume(kafka: LocalKafka, topic_prefix: str) -> None:
    catalog = load_catalog(topic_prefix)
    await admin.apply(catalog, Settings(bootstrap_servers=kafka.bootstrap_servers))
    produce = snippet("produce", kafka.bootstrap_servers, topic_prefix)
    await asyncio.to_thread(subprocess.run, [sys.executable, "-c", produce], check=True, timeout=60)
    async with AIOKafkaConsumer(
        catalog.name("chat.messages.v1"),
        bootstrap_servers=kafka.bootstrap_servers,
        auto_offset_reset="earliest",
    ) as consumer:
        message = await asyncio.wait_for(consumer.getone(), 60)
    example = json.loads(message.value)
    assert (message.key, example["content"]) == (b"c-1", "I love blueberries.")

    facts = catalog.name("memory.facts.v1")
    async with AIOKafkaProducer(bootstrap_servers=kafka.bootstrap_servers) as producer:
        fact = {"statement": "loves blueberries", "status": "active"}
        await producer.send_and_wait(facts, json.dumps(fact).encode(), key=b"f", partition=0)
        await producer.send_and_wait(facts, None, key=b"f", partition=0)
    reader = await asyncio.create_subprocess_exec(
        *(sys.executable, "-uc", snippet("consume", kafka.bootstrap_servers, topic_prefix)),
        stdout=asyncio.subprocess.PIPE,
        env=os.environ,
    )
    assert reader.stdout is not None
    try:
        said = [await asyncio.wait_for(reader.stdout.readline(), 60) for _ in range(2)]
    finally:
        reader.kill()
        await reader.wait()
    assert said == [b"active loves blueberries\n", b"erased (erased)\n"]
