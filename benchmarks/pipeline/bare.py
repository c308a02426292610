"""Contender: a bare aiokafka loop that consumes, folds and produces.  No durable state at all."""

from __future__ import annotations

import asyncio
import sys

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

from benchmarks.pipeline.report import Stopwatch
from benchmarks.pipeline.workload import State, decode_message, encode, fold


async def main(servers: str, source: str, target: str, count: int) -> None:
    """Process ``count`` records: send without waiting, commit once a second.  A crash loses what is unsent."""
    consumer = AIOKafkaConsumer(
        source,
        bootstrap_servers=servers,
        group_id=f"{target}-group",
        auto_offset_reset="earliest",
        enable_auto_commit=True,
        auto_commit_interval_ms=1000,
        fetch_max_wait_ms=50,
        session_timeout_ms=60_000,  # it may be frozen while the topic is filled
    )
    producer = AIOKafkaProducer(
        bootstrap_servers=servers, acks="all", enable_idempotence=True, max_batch_size=1_000_000
    )
    await producer.start()
    await consumer.start()
    states: dict[str, State] = {}
    watch, pending, done = Stopwatch(count), [], False
    while not done:
        for records in (await consumer.getmany(timeout_ms=1000, max_records=8000)).values():
            for record in records:
                message = decode_message(record.value)
                window = fold(states.setdefault(message.conversation_id, State()), message)
                if window is not None:
                    pending.append(await producer.send(target, encode(window), key=record.key))
            done = watch.add(len(records))
        pending = [future for future in pending if not future.done()]
    await asyncio.gather(*pending)
    watch.report()
    await consumer.stop()
    await producer.stop()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])))
