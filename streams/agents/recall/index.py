"""recall/index: keeps the index of facts a view of ``memory.facts.v1``.

Every fact is stored at once, so it is found by its words; its vector comes from another topic
(:mod:`.vectors`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from models.errors import InvalidRecord
from models.facts import Fact
from models.index import FactIndex
from processors.facts.erasure import outlives
from processors.text.validation import decode
from streams.agents.memory import tombstones
from streams.agents.memory.tombstones import Tombstone
from streams.clients import erasures
from streams.clients.records import RecordBatch
from streams.clients.topics import FACTS
from streams.config.settings import Settings
from streams.runtime.effects import Effects
from streams.runtime.stage import Stage, StateReader
from streams.stores.dual_write_index import each_of


class Index:
    """The step around a fact index."""

    def __init__(self, settings: Settings, index: FactIndex) -> None:
        self._settings = settings
        self._index = index

    def stage(self) -> Stage:
        """Return the stage."""
        return Stage(
            name="index",
            sources=(FACTS,),
            async_step=self.step,
            batch_records=8 * self._settings.call_batch_records,
            view_marks=self._index.marks,
        )

    async def step(self, batch: RecordBatch, state: StateReader) -> Effects:
        """Store the latest version of each fact of the batch; erase what was erased."""
        effects = Effects()
        latest: dict[str, Fact] = {}
        erased: dict[str, int] = {}
        stored = await self._known(batch)
        for record in batch.records:
            try:
                if erasures.read(record) is not None:
                    continue  # each fact that it erases has a tombstone of its own
                if (tombstone := tombstones.read(record)) is not None:
                    self._erase(tombstone, latest, stored, erased)
                    continue
                fact = decode(Fact, record.value)
                known = latest.get(tombstones.checked_id(fact.fact_id))
            except InvalidRecord as error:
                effects.dead_letter(record, error)
                continue
            # After a crash, or from a worker that was taken for dead, older versions follow newer ones.
            if known is None or known.version < fact.version:
                latest[fact.fact_id] = fact
        if erased:
            await self._index.erase(erased)
        if latest:
            await self._index.upsert(list(latest.values()))
        await self._index.set_mark((batch.source, batch.partition), batch.next_position)
        return effects

    async def _known(self, batch: RecordBatch) -> Mapping[str, Sequence[Fact]]:
        """Return the facts known to each index for the batch's tombstones."""
        keys = [record.key for record in batch.records if record.value is None and record.key is not None]
        ids = [key.decode(errors="replace") for key in keys]
        found: defaultdict[str, list[Fact]] = defaultdict(list)
        for index in each_of(self._index) if ids else ():
            for fact in await index.get(ids):
                found[fact.fact_id].append(fact)
        return found

    @staticmethod
    def _erase(
        tombstone: Tombstone,
        latest: dict[str, Fact],
        stored: Mapping[str, Sequence[Fact]],
        erased: dict[str, int],
    ) -> None:
        """Note up to which version a fact is erased.

        When a topic is read again, tombstones come by that are older than what is stored.
        """
        fact_id, erasure = tombstone
        known = [*stored.get(fact_id, ()), *([latest[fact_id]] if fact_id in latest else ())]
        gone = [fact.version for fact in known if not outlives(fact, erasure.until)]
        version = max([erasure.version, erased.get(fact_id, 0), *gone])
        if version:
            erased[fact_id] = version
        if fact_id in latest and latest[fact_id].version <= version:
            del latest[fact_id]
