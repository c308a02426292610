"""Facts that appear after their erasure on ``memory.facts.v1``.

A worker that was taken for dead may write one there, and so may one that dies: outputs are written before
state, so nobody knows of them when the erasure is read.  Compaction keeps the last record of a key: the
erasure would be gone, and the fact be found again by whoever fills an index anew.  So the stage reads what is
on its own topic, and erases it once more.
"""

from __future__ import annotations

from datetime import datetime

import msgspec

from models.errors import InvalidRecord
from models.facts import Erasure, Fact, FactChange
from models.messages import DEFAULT_TENANT
from processors.facts.erasure import outlives
from processors.facts.lines import Cause, recorded, with_fact
from processors.text.validation import decode
from streams.agents.memory.fact_erasing import erase_known
from streams.agents.memory.fact_store import FactStore
from streams.agents.memory.tombstones import Tombstone


class _Evidence(msgspec.Struct, frozen=True, gc=False):
    conversation_id: str


class FactHeader(msgspec.Struct, frozen=True):
    """Header of a fact on the topic."""

    fact_id: str
    user_id: str
    provenance: tuple[_Evidence, ...]
    tenant_id: str = DEFAULT_TENANT


def erase_late_copy(written: FactHeader, store: FactStore) -> None:
    """Erase a fact again if it rests on what was erased; what was said of it since is written behind it."""
    conversations = {said.conversation_id for said in written.provenance}
    known = (store.erased_until(each, written) for each in conversations)
    if store.erasure(written.fact_id) is None and all(each is None for each in known):
        return
    try:
        copy = decode(Fact, store.record.value)
    except InvalidRecord:
        return  # the index dead-letters it
    until = _erased(copy, store)
    if until is None:
        return
    store.work.skip("erased")
    before = store.erasure(copy.fact_id)
    erasure = Erasure(until=until, version=max(copy.version, 0 if before is None else before.version))
    living = store.find(copy.fact_id)
    if living is None:
        store.erase_unknown(copy.fact_id, erasure)
    elif _erased(living.fact, store) is not None:  # the table was begun with the copy
        erase_known(Tombstone(copy.fact_id, erasure), store)
    elif living.fact.version > copy.version:
        store.publish(living.fact)
    else:
        cause = Cause("", until)
        newer = recorded(living.fact, FactChange.ERASED, cause, living.fact, copy.version + 1)
        store.change(living.line_id, with_fact(living.line, newer), [newer])


def _erased(fact: Fact, store: FactStore) -> datetime | None:
    """Up to which arrival a fact was erased, by itself or with what it rests on; ``None``: it stays."""
    found = []
    own = store.erasure(fact.fact_id)
    if own is not None and (fact.version <= own.version or not outlives(fact, own.until)):
        found.append(own.until)
    for said in fact.provenance:
        until = store.erased_until(said.conversation_id, fact)
        if until is not None and said.arrived_at <= until:
            found.append(until)
    return max(found, default=None)
