"""From the message that crosses the token threshold to its summary being accepted into the token table."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from datetime import UTC, datetime

import msgspec
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

from models.messages import ChatMessage, Role
from processors.text.tokens import message_tokens
from streams.agents.ingest.conversations import STATE
from streams.clients.catalog import catalog_for
from streams.config.settings import load_settings
from streams.llm.tokenizer import cl100k_counter
from streams.runtime.marks import Layout

_PATIENCE = 60.0
_CHANGELOG = "switchboard-ingest-conversations-changelog"

#: Of the conversations stage.
_LAYOUT = Layout(("chat.messages.v1", "memory.summaries.v1", "memory.commands.v1"))

_SAID = (
    "I would like to plan the trip to Lisbon in June with my sister, and we decided to take the train. "
    "She does not eat nuts, so please remind me to ask the restaurant before we book the table for Friday. "
)


async def main(probes: int) -> None:
    """Send one conversation per probe and watch the state until it holds a summary; print percentiles."""
    settings = load_settings()
    catalog = catalog_for(settings)
    servers = settings.bootstrap_servers
    workers = [_start("ingest"), _start("memory")]
    producer = AIOKafkaProducer(bootstrap_servers=servers, acks="all")
    states = AIOKafkaConsumer(
        catalog.name(_CHANGELOG), bootstrap_servers=servers, auto_offset_reset="earliest", fetch_max_wait_ms=20
    )
    await producer.start()
    await states.start()
    seconds = []
    try:
        topic = catalog.name("chat.messages.v1")
        for n in range(-1, probes):
            took = await _probe(producer, states, topic, f"probe-{n}", settings.token_threshold)
            if n >= 0:  # the first waits for the workers
                seconds.append(took)
    finally:
        for worker in workers:
            worker.terminate()
        for worker in workers:
            worker.wait(timeout=40)
        await states.stop()
        await producer.stop()
    seconds.sort()
    figures = {f"p{p}": seconds[min(len(seconds) - 1, len(seconds) * p // 100)] for p in (50, 95)}
    print(json.dumps({**figures, "probes": probes}))


def _start(service: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "streams.cli", "worker", service],
        env={**os.environ, "SWITCHBOARD_API_PORT": "0"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


async def _probe(
    producer: AIOKafkaProducer, states: AIOKafkaConsumer, topic: str, name: str, threshold: int
) -> float:
    """Send messages until the threshold is crossed; return how long after the last one they are summarized."""
    count, tokens, turn, began = cl100k_counter(), 0, 0, 0.0
    while tokens <= threshold:
        message = ChatMessage(
            message_id=f"{name}-{turn}",
            conversation_id=name,
            user_id=name,
            role=Role.ASSISTANT if turn % 2 else Role.USER,
            content=f"Point {turn}. {_SAID}",
            sent_at=datetime.now(UTC),
        )
        began = time.perf_counter()
        await producer.send_and_wait(topic, msgspec.json.encode(message), name.encode())
        tokens += message_tokens(message.role, message.content, count)
        turn += 1
    async with asyncio.timeout(_PATIENCE):
        async for record in states:
            if record.key == name.encode():
                state = STATE.decode(_LAYOUT.payload(record.value) or b"")
                if state.tokens.summaries:
                    return time.perf_counter() - began
    raise AssertionError("the changelog has no end")


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))
