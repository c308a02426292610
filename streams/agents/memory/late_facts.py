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
from models.facts import Erasure, Fact, FactCandidate, FactChange
from models.messages import DEFAULT_TENANT
from models.vectors import VectorKind
from processors.facts.claims import claim_of
from processors.facts.erasure import outlives
from processors.facts.lines import Cause, Place, recorded, with_fact
from processors.text.validation import decode
from streams.agents.memory.fact_erasing import erase_known, erased_until
from streams.agents.memory.fact_state import ERASURE, STATE, erasure_key, erasure_of, line_of
from streams.agents.memory.fact_writing import publish, write_tombstone
from streams.agents.memory.tombstones import Tombstone
from streams.agents.vectors import requests as embedding_requests
from streams.clients.records import SourceRecord
from streams.runtime.keyed import Work

_SOURCE = "/switchboard/memory"

#: More versions than what is in flight at once can have published of one fact: what is said of it later must be
#: newer than any of them.
_UNKNOWN_VERSIONS = 1_000


class _Evidence(msgspec.Struct, frozen=True, gc=False):
    conversation_id: str


class FactHeader(msgspec.Struct, frozen=True):
    """Header of a fact on the topic."""

    fact_id: str
    user_id: str
    provenance: tuple[_Evidence, ...]
    tenant_id: str = DEFAULT_TENANT

    @property
    def key(self) -> bytes:
        """The key of the state that it is folded into: none, for most of them change nothing."""
        return b""


def read_header(record: SourceRecord) -> FactHeader | None:
    """Return the header of a fact; ``None`` for an invalid record, which the index dead-letters."""
    try:
        return decode(FactHeader, record.value)
    except InvalidRecord:
        return None


def erase_late_copy(written: FactHeader, record: SourceRecord, work: Work) -> None:
    """Erase a fact again if it rests on what was erased; what was said of it since is written behind it."""
    partition = record.partition
    conversations = {said.conversation_id for said in written.provenance}
    known = (erased_until(each, written, partition, work) for each in conversations)
    if erasure_of(written.fact_id, work) is None and all(each is None for each in known):
        return
    try:
        copy = decode(Fact, record.value)
    except InvalidRecord:
        return  # the index dead-letters it
    until = _erased(copy, partition, work)
    if until is None:
        return
    work.skip("erased")
    before = erasure_of(copy.fact_id, work)
    erasure = Erasure(until=until, version=max(copy.version, 0 if before is None else before.version))
    place = work.get(copy.fact_id.encode(), STATE)
    line_id = place.line_id if isinstance(place, Place) else copy.fact_id
    line = line_of(line_id, work)
    living = None if line is None else line.fact(copy.fact_id)
    if line is None or living is None:
        _bury(copy.fact_id, erasure, partition, work)
    elif _erased(living, partition, work) is not None:  # the table was begun with the copy
        erase_known(Tombstone(copy.fact_id, erasure), partition, work)
    elif living.version > copy.version:
        publish(living, work)
    else:
        cause = Cause("", until)
        newer = recorded(living, FactChange.ERASED, copy.version + 1, cause, living.confidence)
        work.put(line_id.encode(), with_fact(line, newer), STATE)
        publish(newer, work)


def erase_unknown(candidate: FactCandidate, until: datetime, partition: int, work: Work) -> None:
    """Erase what may have been published of a candidate that is passed over because of an erasure."""
    fact_id = claim_of(candidate).fact_id
    if erasure_of(fact_id, work) is None and work.get(fact_id.encode(), STATE) is None:
        _bury(fact_id, Erasure(until=until, version=_UNKNOWN_VERSIONS), partition, work)


def _bury(fact_id: str, erasure: Erasure, partition: int, work: Work) -> None:
    if erasure != erasure_of(fact_id, work):
        work.put(erasure_key(fact_id), erasure, ERASURE)
    embedding_requests.forget(work, VectorKind.FACT, fact_id, partition, _SOURCE)
    write_tombstone(fact_id, None, erasure, partition, work)


def _erased(fact: Fact, partition: int, work: Work) -> datetime | None:
    """Up to which arrival a fact was erased, by itself or with what it rests on; ``None``: it stays."""
    found = []
    own = erasure_of(fact.fact_id, work)
    if own is not None and (fact.version <= own.version or not outlives(fact, own.until)):
        found.append(own.until)
    for said in fact.provenance:
        until = erased_until(said.conversation_id, fact, partition, work)
        if until is not None and said.arrived_at <= until:
            found.append(until)
    return max(found, default=None)
