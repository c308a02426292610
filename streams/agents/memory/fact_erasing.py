"""Erasure of facts, conversations and people in the facts stage.

A tombstone on ``memory.facts.v1``, which anybody may write, erases its fact.  So does the erasure of a
conversation or a person (:mod:`streams.clients.erasures`): what rests on any of it goes whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache
from typing import NamedTuple, Protocol

from models import ids
from models.consolidation import ConsolidationStep
from models.errors import InvalidRecord
from models.facts import Erasure, Fact, FactCandidate
from models.statements import Kind
from models.vectors import EmbeddingResult, VectorKind
from processors.facts.confidence import RATES
from processors.facts.erasure import erase, slot_of, unaware
from processors.facts.lines import Line, Place
from processors.facts.merging.support import unsupported
from processors.facts.stubs import Stub
from streams.agents.memory import sentence_vectors, tombstones
from streams.agents.memory.fact_state import ERASURE, STATE, State, erasure_key, erasure_of, line_of
from streams.agents.memory.fact_vectors import forget_person
from streams.agents.memory.fact_writing import publish, write_tombstone
from streams.agents.memory.graph import STATEMENTS as GRAPH_STATEMENTS
from streams.agents.memory.sentence_vectors import SENTENCE_SUFFIX
from streams.agents.memory.tombstones import Tombstone
from streams.agents.vectors import requests as embedding_requests
from streams.clients import erasures
from streams.clients.erasures import Erasing
from streams.clients.records import SourceRecord
from streams.runtime.keyed import Work

_SOURCE = "/switchboard/memory"


class _OfSomebody(Protocol):
    """Keys of a person's or conversation's data."""

    @property
    def tenant_id(self) -> str: ...
    @property
    def user_id(self) -> str: ...


class ErasureRecord(NamedTuple):
    """A record of the topic that the stage itself writes: an erasure, or nothing that it does not know.

    ``key``: the fact's, or the record's own.
    """

    key: bytes
    tombstone: Tombstone | None = None
    erasing: Erasing | None = None


def fold_erasure(
    own: State | None,
    read: ErasureRecord,
    record: SourceRecord,
    work: Work,
    rates: Mapping[Kind, float] = RATES,
) -> State | None:
    """Erase what is asked for; ``rates``: how fast facts fade."""
    if read.erasing is not None:
        _erase_all(read.erasing, record, work, rates)
    if read.tombstone is None:
        return own
    return _erase(read.tombstone, own, record.partition, work)


def _erase_all(erasing: Erasing, record: SourceRecord, work: Work, rates: Mapping[Kind, float]) -> None:
    """Erase every fact of the partition that rests on a conversation, or is of a person; remember it."""
    partition = record.partition
    erased = erasing.key(partition)
    before = erasure_of(erased, work)
    if before is not None and erasing.until <= before.until:
        work.skip("replayed")
        return
    for key in work.holding(erasing.named):
        if key.endswith(SENTENCE_SUFFIX):
            sentence_vectors.forget_erased(key, erasing, partition, work)
        line = None if b"/" in key else line_of(key.decode(), work)
        for fact in line.facts if line is not None else ():
            if not _rests_on(fact, erasing):
                continue
            fact_key = fact.fact_id.encode()
            own = work.get(fact_key, STATE)
            asked = Tombstone(fact.fact_id, Erasure(until=erasing.until))
            after = _erase(asked, own, partition, work)
            if after is None:
                work.remove(fact_key, record.offset + 1)
            elif after is not own:
                work.put(fact_key, after, STATE, record.offset + 1)
            assert line is not None
            for part_id in _merged_into(fact.fact_id, line, work):
                _erase_part(part_id, erasing, partition, work)
        if line is not None and erasing.conversation_id:
            _forget_support(key, erasing, work, rates)
        for stub in line.stubs if line is not None else ():
            if _is_left_of(stub, erasing):
                _erase_part(stub.fact_id, erasing, partition, work)
    # Graphs are in the same partitions, and hear of it from here.
    erasures.announce(work, GRAPH_STATEMENTS, erasing, partition, _SOURCE)
    if not erasing.conversation_id:
        forget_person(erasing.tenant_id, erasing.user_id, work)
        sentence_vectors.forget_person(erasing.tenant_id, erasing.user_id, work)
    # Last, as with a fact: that it is known says that it is done.
    work.put(erasure_key(erased), Erasure(until=erasing.until), ERASURE, last=True)


def _forget_support(key: bytes, erasing: Erasing, work: Work, rates: Mapping[Kind, float]) -> None:
    """Remove support that came from an erased conversation."""
    if (line := line_of(key.decode(), work)) is None:
        return
    whose = erasing.tenant_id, erasing.conversation_id, erasing.user_id
    left, changed = unsupported(line, *whose, erasing.until, rates)
    for fact in changed:
        publish(fact, work)
    if changed:
        work.put(key, left, STATE)


def _erase_part(fact_id: str, erasing: Erasing, partition: int, work: Work) -> None:
    """Erase what state has let go of, and is still to be read on the topic."""
    erase_known(Tombstone(fact_id, Erasure(until=erasing.until)), partition, work)


def erase_known(tombstone: Tombstone, partition: int, work: Work) -> None:
    """Erase what state knows of a fact, if it knows anything."""
    key = tombstone.fact_id.encode()
    own = work.get(key, STATE)
    if own is None:
        return
    after = _erase(tombstone, own, partition, work)
    if after is None:
        work.remove(key)
    elif after is not own:
        work.put(key, after, STATE)


def _erase(tombstone: Tombstone, own: State | None, partition: int, work: Work) -> State | None:
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
    # First the other lines of its slot and of what it has ended: that the erasure is known says that they are
    # done.
    _forget_elsewhere(fact_id, line_id, line, done.erasure, work)
    work.put(erasure_key(fact_id), done.erasure, ERASURE)
    if done.line is None or done.line.fact(fact_id) is None:
        embedding_requests.forget(work, VectorKind.FACT, fact_id, partition, _SOURCE)
    if done.is_gone:
        write_tombstone(fact_id, fact, done.erasure, partition, work)
    for changed in done.changes:
        publish(changed, work)
    if line_id == fact_id:
        return done.line
    if done.line is not line:
        # The line of a slot keeps its mark, empty or not.
        work.put(line_id.encode(), done.line or Line(line is not None and line.single), STATE)
    return own


def _forget_elsewhere(fact_id: str, line_id: str, line: Line | None, erasure: Erasure, work: Work) -> None:
    """Remove the fact's name from what it has ended, in its slot where that holds many values or elsewhere."""
    for other_id in _elsewhere(line_id, line, slot_of(line, fact_id), work):
        if (other := line_of(other_id, work)) is None:
            continue
        left, changes = unaware(other, fact_id, erasure.until)
        for changed in changes:
            publish(changed, work)
        if left is not other:
            work.put(other_id.encode(), left, STATE)
        for done in (erasure_key(fact_id), line_id.encode()):
            work.write_behind(done, other_id.encode())


def _elsewhere(line_id: str, line: Line | None, slot_id: str, work: Work) -> list[str]:
    """Return the other lines in which a fact of a line may have ended something."""
    slot = line_of(slot_id, work) if slot_id else None
    found = dict.fromkeys(() if line is None else line.ended)
    if slot is not None and not slot.single:
        found |= dict.fromkeys(slot.values if line_id == slot_id else (slot_id,))
    for other_id in tuple(found):
        other = line_of(other_id, work)
        for stub in () if other is None else other.stubs:
            if stub.into_line:  # what it has ended was merged
                found[stub.into_line] = None
    found.pop(line_id, None)
    return list(found)


def _rests_on(fact: Fact, erasing: Erasing) -> bool:
    if fact.tenant_id != erasing.tenant_id or erasing.user_id not in ("", fact.user_id):
        return False
    return not erasing.conversation_id or any(
        said.conversation_id == erasing.conversation_id for said in fact.provenance
    )


def _is_left_of(stub: Stub, erasing: Erasing) -> bool:
    if stub.tenant_id != erasing.tenant_id or erasing.user_id not in ("", stub.user_id):
        return False
    return not erasing.conversation_id or erasing.conversation_id in stub.conversation_ids


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


def is_erased(
    conversation_id: str,
    arrived_at: datetime,
    of: FactCandidate | ConsolidationStep | EmbeddingResult,
    partition: int,
    work: Work,
) -> bool:
    """Return whether a message was erased with its conversation or its person."""
    until = erased_until(conversation_id, of, partition, work)
    return until is not None and arrived_at <= until


def erased_until(conversation_id: str, of: _OfSomebody, partition: int, work: Work) -> datetime | None:
    """Up to which arrival a conversation, its person, or both were erased; ``None``: never."""
    names = _erasures_of(of.tenant_id, conversation_id, of.user_id, partition)
    erased = [erasure_of(name, work) for name in names]
    return max([each.until for each in erased if each is not None], default=None)


@lru_cache(maxsize=4_096)
def _erasures_of(tenant_id: str, conversation_id: str, user_id: str, partition: int) -> tuple[str, ...]:
    """Return the ids of what erases something that a person said in a conversation.

    Kept for a while: each fact on the topic is asked about, and those of a person come together.
    """
    names = ((conversation_id, ""), (conversation_id, user_id), ("", user_id))
    return tuple(ids.erasure_id(tenant_id, *name, partition) for name in names)


def decode_erasure(record: SourceRecord) -> ErasureRecord:
    """Return the decoded record, for the stage that writes the topic."""
    try:
        if (erasing := erasures.read(record)) is not None:
            return ErasureRecord(record.key or b"", erasing=erasing)
        tombstone = tombstones.read(record)
    except InvalidRecord:
        return ErasureRecord(b"")  # the index dead-letters it
    return ErasureRecord(b"" if tombstone is None else tombstone.fact_id.encode(), tombstone)
