"""Memory of many live conversations: the state alone, as the table keeps it."""

from __future__ import annotations

import gc
import json
import sys
from pathlib import Path

from benchmarks.pipeline.workload import chat_message
from streams.agents.ingest.conversations import Conversations
from streams.clients.records import Record, RecordBatch
from streams.config.settings import load_settings
from streams.llm.tokenizer import cl100k_counter
from streams.runtime.stage import TimerContext
from streams.runtime.stored import StoredPartition
from streams.runtime.table import PartitionState

#: Messages per conversation: past the first window, below the first summary, as most conversations are.
TURNS = 12

TOPIC = "chat.messages.v1"

#: When the messages come, and when every conversation has gone idle (epoch seconds).
NOW = 1_772_400_000
LATER = NOW + 3600


def resident_bytes() -> int:
    """Return the resident memory of this process."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise OSError("/proc/self/status names no VmRSS")


def main(conversations: int) -> None:
    """Fold ``TURNS`` messages into each conversation, let all go idle, and print the growth."""
    stage = Conversations(load_settings(), cl100k_counter()).stage()
    assert stage.step is not None
    assert stage.on_timer is not None
    state = PartitionState(StoredPartition(stage.sources))
    gc.collect()
    before = resident_bytes()
    for first in range(0, conversations, 100):
        count = min(100, conversations - first)
        records: list[Record] = []
        keys = []
        for number in range(first, first + count):
            for turn in range(TURNS):
                key, value = chat_message(turn * conversations + number, conversations)
                records.append(Record(value, key, len(records), TOPIC, 0, timestamp=NOW * 1000))
            keys.append(key)
        effects = stage.step(RecordBatch(records, source=TOPIC), state)
        state.confirm(state.store(effects.changes))
        ticks = [
            Record(output.value, output.key, len(records) + n, TOPIC, 0, LATER * 1000, output.headers)
            for n, output in enumerate(
                stage.on_timer(keys, TimerContext(0, LATER, caught_up=True), state).outputs
            )
        ]
        assert len(ticks) == count, "each has gone idle"
        effects = stage.step(RecordBatch(ticks, source=TOPIC), state)
        state.confirm(state.store(effects.changes))
    gc.collect()
    grown = resident_bytes() - before
    print(json.dumps({"conversations": conversations, "bytes": grown * 100_000 / conversations}))


if __name__ == "__main__":
    main(int(sys.argv[1]))
