"""Data that a reset of ``memory`` keeps: facts and erasures.

``memory.facts.v1`` is the truth and keeps every fact for ever; the windows and candidates that they came
from are kept for days.  A facts table that began empty would make version 1 of a fact that the topic has
as version 7.  That would replace the truth, no view would take it for newer, and what was erased would come
back from an old candidate.  So the table begins with what the topic holds, and with the erasures that the topic
and the table itself know of, as they were before any candidate: without a high-water mark.  Every candidate is
then read again, and evidence that a fact has already is not counted twice (:mod:`processors.facts.evidence`).
"""

from __future__ import annotations

from itertools import groupby
from typing import NamedTuple

from models.errors import ConsistencyError, InvalidRecord
from models.facts import Erasure, Fact
from processors.facts.claims import claim_of
from processors.facts.erasure import erase
from processors.facts.lines import Line
from processors.facts.rebuilding import rebuilt
from processors.text.validation import decode
from streams.admin.topics import reset_log
from streams.admin.topics.reset_log import Placed
from streams.agents.memory import tombstones
from streams.agents.memory.fact_store import ERASURE, STATE, State, erasure_key
from streams.agents.memory.facts import FACTS, Facts
from streams.clients import erasures
from streams.clients.catalog import Catalog
from streams.clients.partitioner import partition_of
from streams.clients.records import SourceRecord
from streams.clients.topic_spec import TopicSpec
from streams.config.settings import Settings
from streams.runtime.marks import Layout


class Kept(NamedTuple):
    """How many facts the table begins with, and how many records could not be read as facts."""

    facts: int
    unreadable: int


class FactsState(NamedTuple):
    """Initial contents of the facts table by key, and their place."""

    values: dict[bytes, Placed]
    changelog: TopicSpec
    kept: Kept


async def read(catalog: Catalog, settings: Settings) -> FactsState:
    """Return the latest state of every fact of the topic, and what is known to be erased."""
    facts, changelog = await _read(catalog, settings)
    values: dict[bytes, Placed] = {}
    known = facts.known()
    for user, of_user in groupby(sorted(known, key=_person), key=_person):
        partition = partition_of(user[1].encode(), changelog.partitions)
        for key, value in rebuilt(of_user).items():
            values[key.encode()] = Placed(partition, facts.seal(STATE.encode(value)))
    kept = Kept(len(known), facts.unreadable)
    return FactsState(values | facts.erased(), changelog, kept)


async def read_erased(catalog: Catalog, settings: Settings) -> tuple[dict[bytes, Placed], TopicSpec]:
    """Return the erasures of facts, as the table stores it, and the changelog of the table."""
    facts, changelog = await _read(catalog, settings)
    return facts.erased(), changelog


async def _read(catalog: Catalog, settings: Settings) -> tuple[_Facts, TopicSpec]:
    stage = Facts(settings).stage()
    topic, changelog = catalog.get(FACTS), catalog.get(f"switchboard-memory-{stage.table}-changelog")
    facts = _Facts(Layout(stage.sources))
    await reset_log.read(settings, topic, facts.note)
    await reset_log.read(settings, changelog, facts.note_stored)
    return facts, changelog


class _Facts:
    """Facts and erasures from the topic, then from the table."""

    def __init__(self, layout: Layout) -> None:
        self.unreadable = 0
        self.erasures: dict[bytes, tuple[int, Erasure]] = {}
        self._latest: dict[bytes, bytes] = {}
        self._layout = layout

    def note(self, record: SourceRecord) -> None:
        """Note a record of the topic; whatever cannot be read was dead-lettered by whoever read it before."""
        if record.key is None:
            return
        if record.value is not None:
            self._latest[record.key] = record.value
            return
        try:
            if (erasing := erasures.read(record)) is not None:
                # What it erased has tombstones of its own.
                self._erase(record.key, record.partition, Erasure(until=erasing.until))
                return
            tombstone = tombstones.read(record)
        except InvalidRecord:
            self.unreadable += 1
            return
        assert tombstone is not None
        self._erase(
            record.key, record.partition, tombstone.erasure, self._decoded(self._latest.pop(record.key, b""))
        )

    def note_stored(self, record: SourceRecord) -> None:
        """Note a value of the table: of facts, the topic knows best, but not of every erasure any more."""
        if record.key is None or not record.value:
            return
        fact_id = record.key.removesuffix(erasure_key(""))
        try:
            payload = self._layout.payload(self._layout.adopt(record.value))
            if payload is None:
                return
            if fact_id != record.key:
                self._erase(fact_id, record.partition, ERASURE.decode(payload))
            else:
                self._note_line(STATE.decode(payload), record.partition)
        except ConsistencyError:
            return  # what cannot be read is forgotten, as all of the table is

    def _note_line(self, line: State, partition: int) -> None:
        """Note the facts of a line that a tombstone was written for.

        If the stage had not learned of it, only the table may know how far it had counted.
        """
        for fact in line.facts if isinstance(line, Line) else ():
            fact_id = fact.fact_id.encode()
            if fact_id in self.erasures and fact_id not in self._latest:
                self._erase(fact_id, partition, self.erasures[fact_id][1], fact)

    def _erase(self, fact_id: bytes, partition: int, erasure: Erasure, fact: Fact | None = None) -> None:
        before = self.erasures.get(fact_id)
        version = max(erasure.version, fact.version if fact is not None else 0)
        merged = erase(None, fact_id.decode(), before[1] if before else None, erasure.until, version)
        self.erasures[fact_id] = partition, merged.erasure

    def erased(self) -> dict[bytes, Placed]:
        """Return the erasures as the table stores them."""
        return {
            erasure_key(fact_id.decode()): Placed(partition, self.seal(ERASURE.encode(erasure)))
            for fact_id, (partition, erasure) in self.erasures.items()
        }

    def known(self) -> list[Fact]:
        """Return the facts; counts those that cannot be read."""
        found = [self._decoded(value) for value in self._latest.values()]
        self.unreadable += found.count(None)
        return [fact for fact in found if fact is not None]

    @staticmethod
    def _decoded(value: bytes) -> Fact | None:
        try:
            fact = decode(Fact, value)
            claim_of(fact)
        except InvalidRecord:
            return None
        return fact

    def seal(self, payload: bytes) -> bytes:
        """Return a value as the stage would have stored it before any record."""
        return self._layout.seal(None, payload, 0, None)


def _person(fact: Fact) -> tuple[str, str]:
    return fact.tenant_id, fact.user_id
