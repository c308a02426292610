"""Whole logs through a stage, in batches and with crashes that chance decides on: for properties.

Whatever happens, outputs and state must be those of a run that nothing disturbed::

    calm = Trial(stage, log, Random(0))
    calm.run()
    trial = Trial(stage, log, Random(seed))
    for _ in range(crashes):
        trial.run(actions=10)  # and then it is killed
    trial.run()
    assert trial.state() == calm.state()
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from random import Random
from typing import Any, NamedTuple

from streams.clients.catalog import load_catalog
from streams.clients.records import Record, RecordBatch
from streams.runtime.deadletters import DLQ_SUFFIX, to_outputs
from streams.runtime.effects import Effects, Output
from streams.runtime.stage import Stage, TimerContext
from streams.runtime.testing import PARTITION, START, Changelog, recovered, restored_timers, set_timers


class _Call(NamedTuple):
    """Recorded call of a stage.  ``source`` and ``end``: of its batch; timers have none."""

    outputs: list[Output]
    changes: Changelog
    at: float
    source: str = ""
    end: int = 0


class Trial:
    """A log that one worker after the other reads; each may be killed at any moment.

    The runtime's promises are played: outputs are written before state, state before the ack, both in order;
    nothing that follows a timer's call leaves before the call's state is stored; a commit may lag behind.  A
    crash keeps any beginning of what was under way, as far as these allow.

    ``log``: records of all sources; within a source in the order of their offsets, which begin at 0 and have no
    holes, and of their timestamps.  ``latencies`` (seconds): how long after its arrival a record may be
    fetched.  What was acked ``committed_seconds`` ago is committed.  Sources are read in any order or, if
    ``causal``, the others never before what the first one held when they were written: they answer it.
    Everything else is up to ``chance``.

    ``outputs`` collects what was written, dead letters included; ``changelog`` likewise.
    """

    def __init__(
        self,
        stage: Stage,
        log: Sequence[Record],
        chance: Random,
        *,
        latencies: Sequence[float] = (0.0, 0.003, 0.02),
        batches: Sequence[int] = (1, 2, 5, 100),
        committed_seconds: float = 30.0,
        causal: bool = False,
    ) -> None:
        self.stage = stage
        self.partition = log[0].partition if log else PARTITION
        self.chance = chance
        self.batches = batches
        self.logs = {source: [record for record in log if record.topic == source] for source in stage.sources}
        self.fetched_at: dict[str, list[float]] = {source: [] for source in stage.sources}
        for source, records in self.logs.items():
            known_from = self.fetched_at[source]
            for record in records:
                fetched = record.timestamp / 1000 + chance.choice(latencies)
                known_from.append(max([fetched, *known_from[-1:]]))
        self.clock = min((record.timestamp / 1000 for record in log), default=START.timestamp())
        self.committed = dict.fromkeys(stage.sources, 0)
        self.changelog: Changelog = []
        self.outputs: list[Output] = []
        self.causal = causal
        self._committed_seconds = committed_seconds

    def run(self, actions: int | None = None) -> None:
        """Run a worker until nothing is left to do; or kill it after so many ``actions``, each a batch or a
        tick."""
        life = _Life(self)
        left = actions
        while left is None or left > 0:
            if not life.act():
                break
            left = left if left is None else left - 1
        if actions is None:
            for call in life.calls:
                self.outputs += call.outputs
                self.changelog += call.changes
        else:
            self._kill(life.calls)

    def state(self) -> dict[bytes, bytes]:
        """Return the changelog's contents: the payload of each key."""
        return dict(recovered(self.stage, self.changelog).items())

    def _kill(self, calls: list[_Call]) -> None:
        """Keep, of what the calls wanted, as much as may have been written."""
        chance = self.chance
        stored = chance.randint(0, len(calls))
        confirmed = chance.randint(stored, len(calls))
        for index in range(stored, confirmed):
            if calls[index].changes and not calls[index].source:
                confirmed = index + 1
                break
        for call in calls[:confirmed]:
            self.outputs += call.outputs
        if all(call.source or not call.changes for call in calls[stored:confirmed]):
            rest = calls[confirmed].outputs if confirmed < len(calls) else []
            self.outputs += chance.sample(rest, chance.randint(0, len(rest)))
        for call in calls[:stored]:
            self.changelog += call.changes
        if stored < confirmed:
            changes = calls[stored].changes
            self.changelog += changes[: chance.randint(0, len(changes))]
        for source in self.stage.sources:
            acked = [call for call in calls[:stored] if call.source == source]
            long_ago = [call.end for call in acked if call.at < self.clock - self._committed_seconds]
            least = max([self.committed[source], *long_ago])
            self.committed[source] = chance.choice([least, *(call.end for call in acked if call.end > least)])
        self.clock += chance.choice((0.0, 0.3, 8.0))


class _Life:
    """One worker: its unconfirmed state, its timers, its place in the log."""

    def __init__(self, trial: Trial) -> None:
        self.trial = trial
        self.state = recovered(trial.stage, trial.changelog)
        self.timers = restored_timers(trial.stage, self.state)
        self.positions = dict(trial.committed)
        self.ends = {
            source: sum(record.timestamp / 1000 <= trial.clock for record in records)
            for source, records in trial.logs.items()
        }
        self.log_times: dict[str, float] = {}
        self.calls: list[_Call] = []

    def act(self) -> bool:
        """Do one thing; ``False`` when there is nothing left to do."""
        trial, chance, clock = self.trial, self.trial.chance, self.trial.clock
        arrived = {
            source: max(self.ends[source], sum(at <= clock for at in fetched))
            for source, fetched in trial.fetched_at.items()
        }
        if trial.causal:
            self._hold_back_answers(arrived)
        unread = [source for source, end in arrived.items() if self.positions[source] < end]
        due = [key for key, at in self.timers.items() if at <= clock]
        if due and (not unread or chance.random() < 0.5):
            self._fire(due, caught_up=not unread)
        elif unread:
            source = chance.choice(unread)
            self._read(source, min(arrived[source], self.positions[source] + chance.choice(trial.batches)))
        else:
            following = [fetched for source, end in arrived.items() for fetched in self._fetched(source, end)]
            times = [*self.timers.values(), *following]
            if not times:
                return False
            trial.clock = max(clock, min(times)) + chance.choice((0.0, 0.01, 0.2))
        return True

    def _hold_back_answers(self, arrived: dict[str, int]) -> None:
        first, *others = arrived
        asking = self.trial.logs[first][self.positions[first] :]
        for source in others if asking else ():
            answers = self.trial.logs[source][: arrived[source]]
            arrived[source] = sum(each.timestamp < asking[0].timestamp for each in answers)

    def _fetched(self, source: str, number: int) -> list[float]:
        return self.trial.fetched_at[source][number : number + 1]

    def _read(self, source: str, end: int) -> None:
        stage = self.trial.stage
        records = self.trial.logs[source][self.positions[source] : end]
        self.positions[source] = end
        index = self.state.source_index = stage.sources.index(source)
        batch = RecordBatch(records, source=source, source_index=index)
        if stage.step is not None:
            effects = stage.step(batch, self.state)
        else:
            assert stage.async_step is not None
            effects = asyncio.run(_awaited(stage.async_step(batch, self.state)))
        if end >= self.ends[source]:
            self.log_times[source] = records[-1].timestamp / 1000
        limit = load_catalog().get(source + DLQ_SUFFIX).max_message_bytes
        letters = [
            output
            for letter in effects.dead_letters
            for output in to_outputs(letter, source=source, stage=stage.name, limit=limit)
        ]
        self._take(effects, letters, source, records[-1].offset + 1)

    def _fire(self, due: list[bytes], *, caught_up: bool) -> None:
        for key in due:
            del self.timers[key]
        assert self.trial.stage.on_timer is not None
        self.state.source_index = 0
        read_to_ends = all(self.positions[source] >= end for source, end in self.ends.items())
        log_time = min(self.log_times.values(), default=0.0) if read_to_ends else 0.0
        context = TimerContext(self.trial.partition, self.trial.clock, caught_up, log_time)
        self._take(self.trial.stage.on_timer(due, context, self.state), [], "", 0)

    def _take(self, effects: Effects, letters: list[Output], source: str, end: int) -> None:
        changes = self.state.store(effects.changes)
        if self.trial.stage.on_timer is not None:
            set_timers(self.timers, effects.timers)
        outputs = effects.outputs + letters
        self.calls.append(_Call(outputs, list(changes.items()), self.trial.clock, source, end))


async def _awaited(result: Any) -> Any:
    return await result
