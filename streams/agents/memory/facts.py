"""memory/facts: the only writer of ``memory.facts.v1`` (seed 002).

Candidates create facts, reinforce them or complete partial ones; a tombstone on the topic itself, which anybody
may write, erases.  For each new text of a fact a vector is asked for; whether it is stored is no part of the
truth. State: the whole fact by ``fact_id``, and under a further key what is remembered of its erasure.  Both
sources are routed by person, so the changes of one person's facts stay in order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from models.errors import InvalidRecord
from models.facts import Erasure, Fact, FactCandidate, FactChange
from models.ids import fact_id
from models.vectors import VectorKind
from processors.embedding.wording import request_for_fact
from processors.facts.consolidation import consolidate
from processors.facts.erasure import erase
from processors.text.validation import decode
from streams import cloudevents, embedding_requests
from streams.agents.memory import tombstones
from streams.agents.memory.tombstones import Tombstone
from streams.runtime.codec import Codec
from streams.runtime.keyed import Run, Source, Work, keyed_stage
from streams.runtime.records import SourceRecord
from streams.runtime.stage import Stage
from streams.settings import Settings

CANDIDATES = "memory.fact-candidates.v1"
FACTS = "memory.facts.v1"

#: A fact under its id.  JSON, because what was stored must be published as what was just made: MessagePack
#: would turn the times into UTC.
FACT: Codec[Fact] = Codec("fact", Fact, form=msgspec.json)

#: What is remembered of the erasure of a fact, under :func:`erasure_key`; it stays when the fact is gone.
ERASURE: Codec[Erasure] = Codec("erasure", Erasure)

_encode = msgspec.json.Encoder().encode
_SOURCE = "/switchboard/memory"
_EVENT = "memory.fact.v1"


class _Heard(NamedTuple):
    """A record of the topic that the stage itself writes: a tombstone, or nothing that it does not know."""

    tombstone: Tombstone | None

    @property
    def key(self) -> bytes:
        return b"" if self.tombstone is None else _key(self.tombstone.fact_id)


class Facts:
    """What the stage does with candidates and tombstones; it needs nothing but its batch size."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def stage(self) -> Stage:
        """Return the stage."""
        return keyed_stage(
            name="facts",
            table="facts",
            codec=FACT,
            others=(ERASURE,),
            sources={
                CANDIDATES: Source(
                    decode=lambda record: decode(FactCandidate, record.value),
                    fold=self._fold_candidate,
                    key=lambda said: _key(fact_id(said.tenant_id, said.user_id, said.statement)),
                    each=True,
                ),
                FACTS: Source(
                    decode=lambda record: _Heard(tombstones.read(record)),
                    fold=self._fold_heard,
                    key=lambda heard: heard.key,
                    each=True,
                ),
            },
            batch_records=self._settings.batch_records,
        )

    def _fold_candidate(self, own: Fact | None, run: Run[FactCandidate], work: Work) -> Fact | None:
        ((candidate, record),) = run.items

        def known(wanted_id: str) -> Fact | None:
            """Hide what only later records made: a batch whose state was stored in part is read again."""
            later = work.mark(_key(wanted_id)) > run.next_offset
            return None if later else work.get(_key(wanted_id), FACT)

        if own is not None and _stands_for_folded(own, record, work):
            work.skip("replayed")
            return own
        for partial in filter(None, map(known, candidate.refines)):
            if (partial.tenant_id, partial.user_id) != (candidate.tenant_id, candidate.user_id):
                raise InvalidRecord(
                    "another_person", f"refines names fact {partial.fact_id}, which is about somebody else"
                )
        changes = consolidate(candidate, known, lambda wanted_id: _erasure(wanted_id, work))
        return self._take(changes, own, run, work)

    def _fold_heard(self, fact: Fact | None, run: Run[_Heard], work: Work) -> Fact | None:
        ((heard, record),) = run.items
        if heard.tombstone is None:
            return fact
        return self._erase(heard.tombstone, fact, record.partition, work)

    def _erase(self, tombstone: Tombstone, fact: Fact | None, partition: int, work: Work) -> Fact | None:
        """Forget what was erased, and have the log end with what is left of it.

        The tombstone was written by somebody else, or by us for theirs; what this stage has published since
        stands behind it.
        """
        asked, before = tombstone.erasure, _erasure(tombstone.fact_id, work)
        after, erasure = erase(fact, before, asked.until, asked.version)
        if erasure is before and after is fact:
            work.skip("replayed")
            return fact
        work.put(erasure_key(tombstone.fact_id), erasure, ERASURE)
        if after is None:
            embedding_requests.forget(work, VectorKind.FACT, tombstone.fact_id, partition, _SOURCE)
        if fact is not None and after is None:
            self._bury(fact, erasure, work)
        elif after is not None and after is not fact:
            self._publish(after, work)
        return after

    def _take(self, changes: Sequence[Fact], own: Fact | None, run: Run[Any], work: Work) -> Fact | None:
        """Publish the changes and store the last of each fact; return that of the run's own fact.

        A partial fact comes before the one that it was merged into, wherever that stood so far: if a crash
        parts the two, the replay finds the merge half done and completes it; the other way round it would find
        the mark of the complete fact, and the partial one would stay alive.
        """
        if not changes:
            work.skip("replayed")
        for fact in changes:
            self._publish(fact, work)
        latest = {_key(fact.fact_id): fact for fact in changes}
        for key, fact in latest.items():
            before = own if key == run.key else work.get(key, FACT)
            if before is None or before.statement != fact.statement:
                embedding_requests.ask(work, request_for_fact(fact), _SOURCE)
        after = latest.pop(run.key, own)
        for key, fact in sorted(latest.items(), key=lambda entry: entry[1].merged_into_id is None):
            work.put(key, fact, FACT, run.next_offset)
        return after

    @staticmethod
    def _publish(fact: Fact, work: Work) -> None:
        event_id = f"{fact.fact_id}/{fact.version}"
        work.emit(
            FACTS,
            _key(fact.fact_id),
            _encode(fact),
            cloudevents.outgoing(_EVENT, _SOURCE, event_id, subject=fact.user_id),
            route=fact.user_id.encode(),
        )
        work.count("facts_total", fact.category, fact.status, fact.change)

    @staticmethod
    def _bury(fact: Fact, erasure: Erasure, work: Work) -> None:
        event_id = f"{fact.fact_id}/{erasure.version}/erased"
        headers = cloudevents.outgoing(_EVENT, _SOURCE, event_id, subject=fact.user_id)
        work.emit(
            FACTS,
            _key(fact.fact_id),
            None,
            [*headers, *tombstones.headers(erasure)],
            route=fact.user_id.encode(),
        )
        work.count("facts_total", fact.category, fact.status, FactChange.ERASED)


def erasure_key(wanted_id: str) -> bytes:
    """Return the key of the state under which the erasure of a fact is remembered."""
    return f"{wanted_id}/erased".encode()


def _key(wanted_id: str) -> bytes:
    return wanted_id.encode()


def _erasure(wanted_id: str, work: Work) -> Erasure | None:
    return work.get(erasure_key(wanted_id), ERASURE)


def _stands_for_folded(fact: Fact, record: SourceRecord, work: Work) -> bool:
    """Whether what ``fact`` was merged into since has the candidate in ``record`` folded in."""
    into: Fact | None = fact
    while into is not None and into.merged_into_id is not None:
        if work.mark(_key(into.merged_into_id)) > record.offset:
            return True
        into = work.get(_key(into.merged_into_id), FACT)
    return False
