"""memory/facts: the only writer of ``memory.facts.v1`` (seed 002).

Candidates create facts, reinforce them, end them or complete partial ones; a tombstone on the topic itself,
which anybody may write, erases.  So does the erasure of a conversation or a person (:mod:`streams.erasures`):
what rests on any of it goes whole.  Everything of one person lies in one partition, so that what was said of a
slot is folded in the order of the log.  For each new fact a vector is asked for; whether it is stored is no
part of the truth.

State: :mod:`.fact_state`.  The slot's own line is stored last: it carries the mark
that says whether a candidate was folded in, and of the others each says so for itself.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from models import ids
from models.consolidation import ConsolidationStep, Step
from models.errors import InvalidRecord
from models.facts import Erasure, Fact, FactCandidate
from models.vectors import VectorKind
from processors.embedding.wording import request_for_fact
from processors.facts.claims import claim_of
from processors.facts.consolidation import Consolidation
from processors.facts.erasure import erase, is_erased, slot_of, unaware
from processors.facts.lines import Line, Place
from processors.text.validation import decode
from streams import embedding_requests, erasures
from streams.agents.memory import tombstones
from streams.agents.memory.consolidating import CONSOLIDATION, Consolidating, key_of
from streams.agents.memory.fact_state import (
    ERASURE,
    STATE,
    State,
    as_known_before,
    erasure_key,
    erasure_of,
    line_of,
    remember,
)
from streams.agents.memory.fact_vectors import (
    PAGE,
    PERSON,
    VECTOR,
    Arrived,
    forget_person,
    read_vector,
    timer_at,
)
from streams.agents.memory.fact_writing import FACTS, KnownLines, bury, publish
from streams.agents.memory.graph import STATEMENTS as GRAPH_STATEMENTS
from streams.agents.memory.tombstones import Tombstone
from streams.erasures import Erasing
from streams.runtime.keyed import Run, Source, Work, keyed_stage
from streams.runtime.records import SourceRecord
from streams.runtime.stage import Stage
from streams.settings import Settings

__all__ = ["CANDIDATES", "ERASURE", "FACTS", "STATE", "Facts", "erasure_key"]

CANDIDATES = "memory.fact-candidates.v1"
EMBEDDINGS = "memory.embeddings.v1"

_SOURCE = "/switchboard/memory"


class _Heard(NamedTuple):
    """A record of the topic that the stage itself writes: an erasure, or nothing that it does not know.

    ``key``: the fact's, or the record's own.
    """

    key: bytes
    tombstone: Tombstone | None = None
    erasing: Erasing | None = None


class Facts:
    """What the stage does with candidates and tombstones; it needs nothing but its batch size."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._consolidating = Consolidating(settings)

    def stage(self) -> Stage:
        """Return the stage."""
        return keyed_stage(
            name="facts",
            table="facts",
            codec=STATE,
            others=(ERASURE, VECTOR, PERSON, PAGE),
            sources={
                CANDIDATES: Source(
                    decode=_decode_candidate,
                    fold=self._fold_candidate,
                    key=lambda said: claim_of(said).slot_id.encode(),
                    each=True,
                ),
                FACTS: Source(
                    decode=_decode_heard,
                    fold=self._fold_heard,
                    key=lambda heard: heard.key,
                    each=True,
                ),
                EMBEDDINGS: Source(
                    decode=_decode_vector,
                    fold=self._consolidating.fold_vector,
                    key=lambda arrived: b"",
                    each=True,
                ),
                CONSOLIDATION: Source(
                    decode=_decode_step,
                    fold=self._consolidating.fold_step,
                    key=key_of,
                    each=True,
                ),
            },
            on_timer=self._consolidating.on_timer,
            timer_at=timer_at,
            batch_records=self._settings.batch_records,
            # The indexes answer for what is wrong with facts, tombstones and vectors: they read all of them.
            bystander_of=(FACTS, EMBEDDINGS),
            decided_by=self._settings.chosen("merge_similarity"),
        )

    def _fold_candidate(self, slot: State | None, run: Run[FactCandidate], work: Work) -> State | None:
        ((candidate, record),) = run.items
        assert slot is None or isinstance(slot, Line)
        if _is_erased(candidate, record.partition, work):
            work.skip("erased")
            return slot
        said = as_known_before(candidate, run.next_offset, work)
        slot_id = claim_of(said).slot_id
        if slot_id.encode() == run.key:
            return self._consolidate(said, slot, run, work)
        if KnownLines(run.next_offset, work).is_folded(slot_id):
            work.skip("replayed")
            return slot
        other = self._consolidate(said, line_of(slot_id, work), run, work)
        work.put(slot_id.encode(), other, STATE, run.next_offset)
        return slot

    def _consolidate(self, candidate: FactCandidate, slot: Line | None, run: Run[Any], work: Work) -> Line:
        """Fold a candidate into its slot, and return it: it is to be stored last."""
        done = Consolidation(candidate, slot, KnownLines(run.next_offset, work))
        remember(candidate, run.next_offset, work)
        if not done.changes:
            work.skip("replayed")
        for fact in done.changes:
            key, line_id = fact.fact_id.encode(), claim_of(fact).line_id
            known = line_of(line_id, work)
            old = None if known is None else known.fact(fact.fact_id)
            publish(fact, work)
            if old is not None and old.statement != fact.statement:
                embedding_requests.ask(work, request_for_fact(fact), _SOURCE)
            if line_id != fact.fact_id and work.get(key, STATE) is None:
                work.put(key, Place(line_id), STATE, first=True)
        for line_id, line in done.lines.items():
            # A line is stored before those whose facts were merged into it: they hold them no more.
            work.put(line_id.encode(), line, STATE, run.next_offset, first=not any(s.into for s in line.stubs))
        return msgspec.structs.replace(done.slot)  # its mark moves on, whatever changed

    def _fold_heard(self, own: State | None, run: Run[_Heard], work: Work) -> State | None:
        ((heard, record),) = run.items
        if heard.erasing is not None:
            self._erase_all(heard.erasing, run, work)
        if heard.tombstone is None:
            return own
        return self._erase(heard.tombstone, own, record.partition, work)

    def _erase_all(self, erasing: Erasing, run: Run[_Heard], work: Work) -> None:
        """Erase every fact of the partition that rests on a conversation, or is of a person; remember it."""
        partition = run.last.partition
        erased = erasing.key(partition)
        before = erasure_of(erased, work)
        if before is not None and erasing.until <= before.until:
            work.skip("replayed")
            return
        named = msgspec.json.encode(erasing.conversation_id or erasing.user_id)
        for key in work.holding(named):
            line = None if b"/" in key else line_of(key.decode(), work)
            for fact in line.facts if line is not None else ():
                if not _rests_on(fact, erasing):
                    continue
                fact_key = fact.fact_id.encode()
                own = work.get(fact_key, STATE)
                asked = Tombstone(fact.fact_id, Erasure(until=erasing.until))
                after = self._erase(asked, own, partition, work)
                if after is None:
                    work.remove(fact_key, run.next_offset)
                elif after is not own:
                    work.put(fact_key, after, STATE, run.next_offset)
                assert line is not None
                for part_id in _merged_into(fact.fact_id, line, work):
                    self._erase_part(part_id, erasing, partition, work)
        # Graphs are in the same partitions, and hear of it from here.
        erasures.announce(work, GRAPH_STATEMENTS, erasing, partition, _SOURCE)
        if not erasing.conversation_id:
            forget_person(erasing.tenant_id, erasing.user_id, work)
        # Last, as with a fact: that it is known says that it is done.
        work.put(erasure_key(erased), Erasure(until=erasing.until), ERASURE)

    def _erase_part(self, fact_id: str, erasing: Erasing, partition: int, work: Work) -> None:
        """Erase what was merged into an erased fact, and is still to be read on the topic."""
        own = work.get(fact_id.encode(), STATE)
        if own is None:
            return
        after = self._erase(Tombstone(fact_id, Erasure(until=erasing.until)), own, partition, work)
        if after is None:
            work.remove(fact_id.encode())
        elif after is not own:
            work.put(fact_id.encode(), after, STATE)

    def _erase(self, tombstone: Tombstone, own: State | None, partition: int, work: Work) -> State | None:
        """Forget what was erased, and have the log end with what is left of it.

        The tombstone was written by somebody else, or by us for theirs; what this stage has published since
        stands behind it.
        """
        fact_id, asked = tombstone
        line_id = own.line_id if isinstance(own, Place) else fact_id
        line = line_of(line_id, work)
        fact = None if line is None else line.fact(fact_id)
        before = erasure_of(fact_id, work)
        done = erase(line, fact_id, before, asked.until, asked.version)
        if done.erasure is before and done.line is line:
            work.skip("replayed")
            return own
        # First the other lines of its slot: that the erasure is known says that they are done.
        self._forget_elsewhere(fact_id, slot_of(line, fact_id), line_id, done.erasure, work)
        work.put(erasure_key(fact_id), done.erasure, ERASURE)
        if done.line is None or done.line.fact(fact_id) is None:
            embedding_requests.forget(work, VectorKind.FACT, fact_id, partition, _SOURCE)
        if done.is_gone:
            bury(fact_id, fact, done.erasure, partition, work)
        for changed in done.changes:
            publish(changed, work)
        if line_id == fact_id:
            return done.line
        if done.line is not line:
            # The line of a slot keeps its mark, empty or not.
            work.put(line_id.encode(), done.line or Line(line is not None and line.single), STATE)
        return own

    def _forget_elsewhere(self, fact_id: str, slot_id: str, line_id: str, erasure: Erasure, work: Work) -> None:
        """Where a slot holds many values, what was said of one ends others: they must not name it any more."""
        slot = line_of(slot_id, work) if slot_id else None
        if slot is None or slot.single:
            return
        others = slot.values if line_id == slot_id else (slot_id,)
        for other_id in others:
            if (other := line_of(other_id, work)) is None:
                continue
            left, changes = unaware(other, fact_id, erasure.until)
            for changed in changes:
                publish(changed, work)
            if left is not other:
                work.put(other_id.encode(), left, STATE)


def _rests_on(fact: Fact, erasing: Erasing) -> bool:
    if fact.tenant_id != erasing.tenant_id or erasing.user_id not in ("", fact.user_id):
        return False
    return not erasing.conversation_id or any(
        said.conversation_id == erasing.conversation_id for said in fact.provenance
    )


def _merged_into(fact_id: str, line: Line, work: Work) -> list[str]:
    """Return the facts that were merged into one, and those that were merged into them."""
    found, waiting = list[str](), [(fact_id, line)]
    while waiting:
        into_id, into = waiting.pop()
        others = [line_of(each, work) for each in into.absorbed]
        for part in [into, *(other for other in others if other is not None)]:
            for stub in part.stubs:
                if stub.into == into_id and stub.fact_id not in found:
                    found.append(stub.fact_id)
                    waiting.append((stub.fact_id, part))
    return found


def _is_erased(candidate: FactCandidate, partition: int, work: Work) -> bool:
    """Whether what a candidate rests on was erased with its conversation or its person."""
    said, tenant_id, user_id = candidate.provenance, candidate.tenant_id, candidate.user_id
    names = ((said.conversation_id, ""), (said.conversation_id, user_id), ("", user_id))
    erased = (erasure_of(ids.erasure_id(tenant_id, *name, partition), work) for name in names)
    return any(is_erased(said, each) for each in erased)


def _decode_heard(record: SourceRecord) -> _Heard:
    try:
        if (erasing := erasures.read(record)) is not None:
            return _Heard(record.key or b"", erasing=erasing)
        tombstone = tombstones.read(record)
    except InvalidRecord:
        return _Heard(b"")  # the index dead-letters it
    return _Heard(b"" if tombstone is None else tombstone.fact_id.encode(), tombstone)


def _decode_candidate(record: SourceRecord) -> FactCandidate:
    found = decode(FactCandidate, record.value)
    claim_of(found)  # what claims nothing that there is a slot for is refused here
    return found


def _decode_vector(record: SourceRecord) -> Arrived:
    try:
        return read_vector(record)
    except InvalidRecord:
        return Arrived()  # whoever keeps the indexes dead-letters it


def _decode_step(record: SourceRecord) -> ConsolidationStep:
    step = decode(ConsolidationStep, record.value)
    if step.step is not Step.CONSOLIDATE and not (step.user_id and step.fact_id and step.other_id):
        raise InvalidRecord("incomplete_step", f"a step {step.step} names user_id, fact_id and other_id")
    if step.step is not Step.CONSOLIDATE and step.fact_id == step.other_id:
        raise InvalidRecord("same_fact", f"a step {step.step} names one fact twice: {step.fact_id}")
    return step
