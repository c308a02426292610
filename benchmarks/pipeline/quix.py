"""Contender: quixstreams with its RocksDB state and changelog, at-least-once."""

from __future__ import annotations

import logging
import sys
import tempfile
import time
from typing import Any

from quixstreams import Application
from quixstreams.models import TopicAdmin, TopicManager

from benchmarks.pipeline.report import Stopwatch
from benchmarks.pipeline.workload import State, decode_message, decode_state, encode, fold

#: Seconds that a topic may take to be known everywhere after it was made.
_TOPIC_TIMEOUT = 120


class _PatientAdmin(TopicAdmin):
    """Returns when the topics that it made are there: quixstreams looks for its changelog once, at once."""

    def create_topics(self, topics: list[Any], *args: Any, **options: Any) -> None:
        super().create_topics(topics, *args, **options)
        deadline = time.monotonic() + _TOPIC_TIMEOUT
        while not all(self._is_there(topic.name) for topic in topics):
            if time.monotonic() > deadline:
                raise SystemExit(f"made, but not there: {[topic.name for topic in topics]}")
            time.sleep(0.1)

    def _is_there(self, name: str) -> bool:
        found = self.list_topics(timeout=_TOPIC_TIMEOUT).get(name)
        parts = found.partitions.values() if found is not None and found.error is None else ()
        return bool(parts) and all(part.leader >= 0 for part in parts)


def main(servers: str, source: str, target: str, count: int, whole: bool) -> None:
    """Process ``count`` records, then stop."""
    logging.disable(logging.WARNING)
    group = f"{target}-quix"
    with tempfile.TemporaryDirectory() as folder:
        app = Application(
            broker_address=servers,
            consumer_group=group,
            topic_manager=TopicManager(_PatientAdmin(servers), group),
            auto_offset_reset="earliest",
            state_dir=folder,
            commit_interval=1.0,
            use_changelog_topics=True,
            loglevel=None,
            producer_extra_config={"linger.ms": 20, "enable.idempotence": True, "acks": "all"},
        )
        incoming = app.topic(source, value_deserializer="bytes", key_deserializer="bytes")
        outgoing = app.topic(target, value_serializer="bytes", key_serializer="bytes")
        watch = Stopwatch(count)
        step = _whole_step if whole else _trivial_step

        def counted(value: bytes, state: Any) -> list[bytes]:
            outputs = step(value, state)
            if watch.add():
                app.stop()
            return outputs

        frame = app.dataframe(incoming)
        frame = frame.apply(counted, stateful=True, expand=True)
        frame.to_topic(outgoing)
        app.run()
        watch.report()


def _trivial_step(value: bytes, state: Any) -> list[bytes]:
    message = decode_message(value)
    stored = state.get_bytes("s")
    folded = decode_state(stored) if stored is not None else State()
    completed = fold(folded, message)
    state.set_bytes("s", encode(folded))
    return [encode(completed)] if completed is not None else []


def _whole_step(value: bytes, state: Any) -> list[bytes]:
    """The conversations stage's own work, a record at a time."""
    global _WHOLE
    if _WHOLE is None:
        from benchmarks.pipeline.whole import WholeStep

        _WHOLE = WholeStep()
    outputs: list[bytes]
    outputs, payload = _WHOLE.step(value, state.get_bytes("s"))
    state.set_bytes("s", payload)
    return outputs


_WHOLE: Any = None

if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), "--whole" in sys.argv)
