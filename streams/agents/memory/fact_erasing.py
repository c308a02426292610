"""Erasure of facts, conversations and people in the facts stage.

A tombstone on ``memory.facts.v1``, which anybody may write, erases its fact.  So does the erasure of a
conversation or a person (:mod:`streams.clients.erasures`): what rests on any of it goes whole.
"""

from __future__ import annotations

from collections.abc import Mapping

from models.facts import Erasure
from models.statements import Kind
from models.vectors import VectorKind
from processors.facts.erasure import erase, unaware
from processors.facts.lines import Line
from processors.facts.merging.support import unsupported
from streams.agents.memory import sentence_vectors
from streams.agents.memory.fact_store import FactStore, erasure_key
from streams.agents.memory.fact_vectors import forget_person
from streams.agents.memory.graph import STATEMENTS as GRAPH_STATEMENTS
from streams.agents.memory.sentence_vectors import SENTENCE_SUFFIX
from streams.agents.memory.tombstones import Tombstone
from streams.clients import erasures
from streams.clients.erasures import Erasing

_SOURCE = "/switchboard/memory"


def erase_all(erasing: Erasing, store: FactStore, rates: Mapping[Kind, float]) -> None:
    """Erase every fact of the partition that rests on a conversation, or is of a person; remember it."""
    work, partition = store.work, store.partition
    erased = erasing.key(partition)
    before = store.erasure(erased)
    if before is not None and erasing.until <= before.until:
        work.skip("replayed")
        return
    erasure = Erasure(until=erasing.until)
    for key in work.holding(erasing.named):
        if key.endswith(SENTENCE_SUFFIX):
            sentence_vectors.forget_erased(key, erasing, partition, work)
        line_id = key.decode()
        line = None if "/" in line_id else store.line(line_id)
        if line is None:
            continue
        for fact in line.facts:
            if not erasing.covers(
                fact.tenant_id, fact.user_id, *(each.conversation_id for each in fact.provenance)
            ):
                continue
            erase_fact(Tombstone(fact.fact_id, erasure), store, marked=True)
            for part_id in _merged_into(fact.fact_id, line, store):
                erase_known(Tombstone(part_id, erasure), store)
        if erasing.conversation_id and (left := store.line(line_id)) is not None:
            whose = erasing.tenant_id, erasing.conversation_id, erasing.user_id
            left, changed = unsupported(left, *whose, erasing.until, rates)
            if changed:
                store.change(line_id, left, changed)
        for stub in line.stubs:
            if erasing.covers(stub.tenant_id, stub.user_id, *stub.conversation_ids):
                erase_known(Tombstone(stub.fact_id, erasure), store)
    # Graphs are in the same partitions, and hear of it from here.
    erasures.announce(work, GRAPH_STATEMENTS, erasing, partition, _SOURCE)
    if not erasing.conversation_id:
        forget_person(erasing.tenant_id, erasing.user_id, work)
        sentence_vectors.forget_person(erasing.tenant_id, erasing.user_id, work)
    # Last, as with a fact: that it is known says that it is done.
    store.put_erasure(erased, erasure, last=True)


def erase_known(tombstone: Tombstone, store: FactStore) -> None:
    """Erase what state knows of a fact: of what it has let go of, the topic is still to be read."""
    if store.state(tombstone.fact_id) is not None:
        erase_fact(tombstone, store)


def erase_fact(tombstone: Tombstone, store: FactStore, *, marked: bool = False) -> None:
    """Forget what was erased, and have the log end with what is left of it.

    The tombstone was written by somebody else, or by us for theirs; what this stage has published since
    stands behind it.
    """
    fact_id, asked = tombstone
    line_id = store.line_of(fact_id)
    line = store.line(line_id)
    fact = None if line is None else line.fact(fact_id)
    before = store.erasure(fact_id)
    done = erase(line, fact_id, before, asked.until, asked.version)
    if done.erasure is before and done.line is line:
        store.work.skip("replayed")
        return
    # First the lines of what it has ended: that the erasure is known says that they are done.
    _forget_elsewhere(fact_id, line_id, line, done.erasure, store)
    store.put_erasure(fact_id, done.erasure)
    if done.line is None or done.line.fact(fact_id) is None:
        store.forget_vector(VectorKind.FACT, fact_id)
    if done.is_gone:
        store.write_tombstone(fact_id, fact, done.erasure)
    store.publish(*done.changes)
    if done.line is line:
        return
    if line_id == fact_id:
        store.put(fact_id, done.line, marked=marked)
    else:
        # The line of a slot keeps its mark, empty or not.
        store.put(line_id, done.line or Line(line is not None and line.single))


def _forget_elsewhere(
    fact_id: str, line_id: str, line: Line | None, erasure: Erasure, store: FactStore
) -> None:
    """Remove the fact's name from what it has ended in other lines."""
    for other_id in _elsewhere(line_id, line, store):
        if (other := store.line(other_id)) is None:
            continue
        left, changes = unaware(other, fact_id, erasure.until)
        store.publish(*changes)
        if left is not other:
            store.put(other_id, left)
        for done in (erasure_key(fact_id), line_id.encode()):
            store.work.write_behind(done, other_id.encode())


def _elsewhere(line_id: str, line: Line | None, store: FactStore) -> list[str]:
    """Return the other lines in which a fact of a line may have ended something."""
    found = dict.fromkeys(() if line is None else line.ended)
    for other_id in tuple(found):
        other = store.line(other_id)
        for stub in () if other is None else other.stubs:
            if stub.into_line:  # what it has ended was merged
                found[stub.into_line] = None
    found.pop(line_id, None)
    return list(found)


def _merged_into(fact_id: str, line: Line, store: FactStore) -> list[str]:
    """Return the facts that were merged into one, and those that were merged into them."""
    found, waiting = list[str](), [(fact_id, line)]
    while waiting:
        into_id, into = waiting.pop()
        others = [store.line(each) for each in into.absorbed]
        for part in [into, *(other for other in others if other is not None)]:
            for stub in part.stubs:
                if stub.into == into_id and stub.fact_id not in found:
                    found.append(stub.fact_id)
                    waiting.append((stub.fact_id, part))
    return found
