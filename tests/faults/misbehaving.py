"""The ingest service with a stage that misbehaves on command: ``python misbehaving.py HOW FOLDER``.

The real conversations stage does the work.  Around it, the step

* stands still while there is a file ``hang`` in FOLDER (and says so with a file ``hanging``),
* raises while there is a file ``defect``,
* raises on a record that holds ``POISON``, and emits an output that is too large on ``OVERSIZED``.

HOW ``fewer`` is the real stage, without its last source.  ``sync`` calls it on the event loop, as stages that
do not call out are; ``async`` as those that do, and then it also raises that a dependency is down while there
is a file ``down``, and hangs in a thread (in partition 0) while there is one ``stuck``.
"""

from __future__ import annotations

import asyncio
import dataclasses
import sys
import time
from contextlib import AsyncExitStack
from pathlib import Path

from models.errors import DependencyUnavailable
from streams.agents.ingest.conversations import Conversations
from streams.clients.records import RecordBatch
from streams.clients.topics import WINDOWS
from streams.config.settings import Settings, load_settings
from streams.llm.tokenizer import cl100k_counter
from streams.runtime.effects import Effects
from streams.runtime.stage import Stage, StateReader
from streams.server.process.services import Service
from streams.server.process.worker import run
from streams.telemetry.metrics import Metrics

POISON = b"POISON"
OVERSIZED = b"OVERSIZED"
DEPENDENCY = "testdb"


class Misbehaving:
    def __init__(self, inner: Stage, control: Path) -> None:
        self._inner = inner
        self._control = control

    def _is(self, what: str) -> bool:
        return (self._control / what).exists()

    def _raise_if_told_to(self, batch: RecordBatch) -> None:
        if self._is("defect"):
            raise RuntimeError("this step raises on everything")
        for record in batch.records:
            if record.value and POISON in record.value:
                raise ValueError("this step raises on some records")

    def _work(self, batch: RecordBatch, state: StateReader) -> Effects:
        assert self._inner.step is not None
        self._raise_if_told_to(batch)
        effects = self._inner.step(batch, state)
        for record in batch.records:
            if record.value and OVERSIZED in record.value:
                effects.emit(WINDOWS, record.key, bytes(3_000_000))
        return effects

    def step(self, batch: RecordBatch, state: StateReader) -> Effects:
        while self._is("hang"):
            (self._control / "hanging").touch()
            time.sleep(0.05)
        return self._work(batch, state)

    def _stand_still(self) -> None:
        while self._is("stuck"):
            (self._control / "hanging").touch()
            time.sleep(0.05)

    async def async_step(self, batch: RecordBatch, state: StateReader) -> Effects:
        while self._is("hang"):
            (self._control / "hanging").touch()
            await asyncio.sleep(0.05)
        if self._is("stuck") and batch.partition == 0:
            await asyncio.to_thread(self._stand_still)
        if self._is("down"):
            raise DependencyUnavailable(DEPENDENCY, "switched off by the test")
        return self._work(batch, state)


def main(how: str, control: Path) -> int:
    async def opener(name: str, settings: Settings, metrics: Metrics, resources: AsyncExitStack) -> Service:
        inner = Conversations(settings, cl100k_counter()).stage()
        outer = Misbehaving(inner, control)
        if how == "fewer":
            return Service([dataclasses.replace(inner, sources=inner.sources[:-1])])
        if how == "async":
            return Service([dataclasses.replace(inner, step=None, async_step=outer.async_step)])
        return Service([dataclasses.replace(inner, step=outer.step)])

    return run("ingest", load_settings(), opener)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2])))
