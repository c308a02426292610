"""Contender: Faust as its documentation shows it: an agent, a table, an awaited send per window."""

from __future__ import annotations

import os
import sys
from typing import Any

import faust

from benchmarks.pipeline.report import Stopwatch
from benchmarks.pipeline.workload import State, decode_message, decode_state, encode, fold


def make_app(servers: str, source: str, target: str, count: int) -> faust.App:
    """Return the app; it ends the process after ``count`` records."""
    app = faust.App(
        f"{target}-faust",
        broker=f"kafka://{servers}",
        store="memory://",
        web_enabled=False,
        topic_disable_leader=True,
        topic_partitions=8,
        topic_replication_factor=1,
    )
    messages = app.topic(source, key_serializer="raw", value_serializer="raw")
    windows = app.topic(target, key_serializer="raw", value_serializer="raw")
    states = app.Table("states", key_type=bytes, value_type=bytes, partitions=8)
    watch = Stopwatch(count)

    @app.agent(messages)
    async def window(stream: Any) -> None:
        async for event in stream.events():
            message = decode_message(event.value)
            state = decode_state(states[event.key]) if event.key in states else State()
            completed = fold(state, message)
            if completed is not None:
                await windows.send(key=event.key, value=encode(completed))
            states[event.key] = encode(state)
            if watch.add():
                await app.producer.flush()
                watch.report()
                os._exit(0)

    return app


if __name__ == "__main__":
    app = make_app(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]))
    sys.argv = ["faust", "worker", "-l", "error"]
    app.main()
