"""State and outputs of the facts stage, as one record of the log finds and leaves them.

Under a ``slot_id``: the line of a slot (:mod:`processors.facts.lines`).  Under a ``fact_id``: the line of a
value of a slot that holds many, or the place of a fact in another line.  Under ``<id>/erased``: the erasure of
a fact, a conversation or a person.

A record is folded into one key.  The state of that key is written after everything else that the record
changes: its mark says that the record is done.  Other keys have marks of their own
(:meth:`FactStore.is_folded`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from functools import lru_cache
from typing import NamedTuple, Protocol

import msgspec

from models import ids
from models.facts import Erasure, Fact, FactChange
from models.vectors import VectorKind
from processors.facts.lines import Line, LocatedFact, Place
from processors.facts.stubs import Stub
from processors.retrieval.embedding.wording import request_for_fact
from streams.agents.emitting import emit, emit_tombstone
from streams.agents.memory import tombstones
from streams.agents.vectors import requests as embedding_requests
from streams.clients.records import SourceRecord
from streams.runtime.codec import Codec
from streams.runtime.keyed import Work

#: State of a key.  JSON, because what was stored must be published as what was just made: MessagePack would
#: turn the times into UTC.
State = Line | Place


def _read_first(body: bytes) -> State:
    """Read version 1: marks had one field more, and preferences were known by their names."""
    found = msgspec.json.decode(body)
    if found["type"] == "preferences":
        return Line(False)
    for marks in (
        found.get("marks", ()),
        *(stub[_MARKS] for stub in found.get("stubs", ()) if len(stub) > _MARKS),
    ):
        for mark in marks:
            del mark[_IS_NONE]
    line: State = msgspec.convert(found, State)
    return line


#: Where these stand in a stub and in a mark of version 1.
_MARKS, _IS_NONE = 11, 5
STATE: Codec[State] = Codec("facts", State, version=2, older={1: _read_first}, form=msgspec.json)

#: Erasures, under :func:`erasure_key`; they stay when the fact is gone.
ERASURE: Codec[Erasure] = Codec("erasure", Erasure)
ERASED_SUFFIX = b"/erased"

#: How often a fact may have been merged into another that was merged itself.
CHAIN = 64

#: More versions than what is in flight at once can have published of one fact: what is said of it later must be
#: newer than any of them.
_UNKNOWN_VERSIONS = 1_000

_SOURCE = "/switchboard/memory"


class Owned(Protocol):
    """Something of one person: a candidate, a step, a fact."""

    @property
    def tenant_id(self) -> str: ...
    @property
    def user_id(self) -> str: ...


class Passed(NamedTuple):
    """A line on the way to the fact that stands: with that fact, or the stub that points on, or nothing."""

    line_id: str
    line: Line
    fact: Fact | None
    stub: Stub | None


class FactStore:
    """Lines, stubs, places, erasures and marks of a partition, and the records that the stage writes.

    ``own``: the state of ``key``, into which ``record`` is folded.  ``position``: the offset behind the record,
    the mark of state that it is folded into.
    """

    __slots__ = ("key", "own", "partition", "position", "record", "work")

    def __init__(self, work: Work, record: SourceRecord, key: bytes = b"", own: State | None = None) -> None:
        self.work = work
        self.record = record
        self.partition = record.partition
        self.position = record.offset + 1
        self.key = key
        self.own = own

    # -- reading --------------------------------------------------------------------------------------------

    def state(self, state_id: str) -> State | None:
        """Return the state under an id, as this batch has left it so far."""
        key = state_id.encode()
        return self.own if key == self.key else self.work.get(key, STATE)

    def line(self, line_id: str) -> Line | None:
        """Return a line."""
        found = self.state(line_id)
        return found if isinstance(found, Line) else None

    def line_of(self, fact_id: str) -> str:
        """Return the id of the line that a fact is in."""
        found = self.state(fact_id)
        return found.line_id if isinstance(found, Place) else fact_id

    def find_in(self, line_id: str, fact_id: str) -> Fact | None:
        """Return a fact of a line."""
        line = self.line(line_id)
        return None if line is None else line.fact(fact_id)

    def find(self, fact_id: str) -> LocatedFact | None:
        """Return a fact; ``None`` if it is not there, or was merged or corrected."""
        line_id = self.line_of(fact_id)
        line = self.line(line_id)
        fact = None if line is None else line.fact(fact_id)
        return None if line is None or fact is None else LocatedFact(line_id, line, fact)

    def trail(self, fact_id: str) -> Iterator[Passed]:
        """Yield what is known of a fact, then of the one that it was merged into, to the one that stands."""
        for _ in range(CHAIN):
            line_id = self.line_of(fact_id)
            line = self.line(line_id)
            if line is None:
                return
            fact, stub = line.fact(fact_id), line.stub(fact_id)
            yield Passed(line_id, line, fact, stub)
            if fact is not None or stub is None or not stub.into:
                return
            fact_id = stub.into

    def standing(self, fact_id: str, whose: Owned | None = None) -> LocatedFact | None:
        """Return the fact that stands for one by now; ``None`` if none does, or one of another person."""
        for line_id, line, fact, _ in self.trail(fact_id):
            if fact is not None:
                return LocatedFact(line_id, line, fact) if whose is None or is_of(fact, whose) else None
        return None

    def is_folded(self, line_id: str) -> bool:
        """Say whether the record was folded into a line before a crash."""
        return self.work.mark(line_id.encode()) >= self.position

    def erasure(self, erased_id: str) -> Erasure | None:
        """Return the erasure of a fact, or of what :func:`models.ids.erasure_id` names."""
        return self.work.get(erasure_key(erased_id), ERASURE)

    def erased_until(self, conversation_id: str, of: Owned) -> datetime | None:
        """Up to which arrival a conversation, its person, or both were erased; ``None``: never."""
        return erased_until(conversation_id, of, self.partition, self.work)

    def is_erased(self, conversation_id: str, arrived_at: datetime, of: Owned) -> bool:
        """Return whether a message was erased with its conversation or its person."""
        until = self.erased_until(conversation_id, of)
        return until is not None and arrived_at <= until

    # -- writing --------------------------------------------------------------------------------------------

    def put(self, state_id: str, state: State | None, *, marked: bool = False, first: bool = False) -> None:
        """Store the state under an id; ``None`` removes it.

        ``marked``: the record is folded into it (the runtime marks the record's own key).  ``first``: before
        anything that is not.
        """
        key = state_id.encode()
        if key == self.key:
            self.own = state
        elif state is None:
            self.work.remove(key, self.position if marked else None)
        else:
            self.work.put(key, state, STATE, self.position if marked else None, first=first)

    def put_erasure(self, erased_id: str, erasure: Erasure, *, last: bool = False) -> None:
        """Remember an erasure."""
        self.work.put(erasure_key(erased_id), erasure, ERASURE, last=last)

    def write_behind(self, state_id: str, other_id: str) -> None:
        """Write one state behind another, whatever else the batch changes of either."""
        self.work.write_behind(state_id.encode(), other_id.encode())

    def publish(self, *facts: Fact) -> None:
        """Publish facts after a change; for a new one, ask for its vector."""
        for fact in facts:
            emit(self.work, fact, f"{fact.fact_id}/{fact.version}")
            self.work.count("facts_total", fact.kind, fact.status, fact.change)
            if fact.change is FactChange.CREATED:
                self.ask_vector(fact)

    def change(
        self, line_id: str, line: Line, facts: Iterable[Fact], *, marked: bool = False, first: bool = False
    ) -> None:
        """Publish the facts that changed with a line, and store it as :meth:`put` does."""
        self.publish(*facts)
        self.put(line_id, line, marked=marked, first=first)

    def write_tombstone(self, fact_id: str, fact: Fact | None, erasure: Erasure) -> None:
        """Write the tombstone of a fact.

        ``fact``: ``None`` if only a stub of it is left, which does not name its person.
        """
        user_id = None if fact is None else fact.user_id
        emit_tombstone(
            self.work,
            Fact,
            fact_id,
            f"{fact_id}/{erasure.version}/erased",
            tombstones.headers(erasure),
            subject=user_id,
            route=user_id,
            partition=self.partition if user_id is None else None,
        )
        if fact is not None:
            self.work.count("facts_total", fact.kind, fact.status, FactChange.ERASED)

    def erase_unknown(self, fact_id: str, erasure: Erasure) -> None:
        """Erase what may be on the topic of a fact that state knows nothing of."""
        if erasure != self.erasure(fact_id):
            self.put_erasure(fact_id, erasure)
        self.forget_vector(VectorKind.FACT, fact_id)
        self.write_tombstone(fact_id, None, erasure)

    def erase_if_unknown(self, fact_id: str, until: datetime) -> None:
        """Erase what may have been published of a fact whose candidate is passed over because of an erasure."""
        if self.erasure(fact_id) is None and self.state(fact_id) is None:
            self.erase_unknown(fact_id, Erasure(until=until, version=_UNKNOWN_VERSIONS))

    def ask_vector(self, fact: Fact) -> None:
        """Ask for the vector of a fact's text."""
        embedding_requests.ask(self.work, request_for_fact(fact), _SOURCE)

    def forget_vector(self, kind: VectorKind, erased_id: str) -> None:
        """Have a vector forgotten."""
        embedding_requests.forget(self.work, kind, erased_id, self.partition, _SOURCE)


def is_of(fact: Owned, whose: Owned) -> bool:
    """Return whether two things are of the same person."""
    return (fact.tenant_id, fact.user_id) == (whose.tenant_id, whose.user_id)


def erasure_key(erased_id: str) -> bytes:
    """Return the key under which the erasure of a fact, a conversation or a person is remembered."""
    return erased_id.encode() + ERASED_SUFFIX


def erased_until(conversation_id: str, of: Owned, partition: int, work: Work) -> datetime | None:
    """Up to which arrival a conversation, its person, or both were erased; ``None``: never."""
    names = _erasures_of(of.tenant_id, conversation_id, of.user_id, partition)
    erased = [work.get(erasure_key(name), ERASURE) for name in names]
    return max([each.until for each in erased if each is not None], default=None)


@lru_cache(maxsize=4_096)
def _erasures_of(tenant_id: str, conversation_id: str, user_id: str, partition: int) -> tuple[str, ...]:
    """Return the ids of what erases something that a person said in a conversation.

    Kept for a while: each fact on the topic is asked about, and those of a person come together.
    """
    names = ((conversation_id, ""), (conversation_id, user_id), ("", user_id))
    return tuple(ids.erasure_id(tenant_id, *name, partition) for name in names)
