"""memory/facts: the only writer of ``memory.facts.v1`` (requirement 3).

A record is decoded here, decided on, and written through :class:`.fact_store.FactStore`, which owns state and
outputs.  Candidates create facts, reinforce them, end them or complete partial ones (:mod:`.fact_candidates`);
steps merge facts (:mod:`.consolidating`) or correct one (:mod:`.fact_correcting`); records of the topic itself
erase (:mod:`.fact_erasing`).  Everything of one person lies in one partition, so a slot is folded in the order
of the log.  For each new fact a vector is asked for; whether it is stored is no part of the truth.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

from models.errors import InvalidRecord
from processors.text.validation import decode
from streams.agents.memory import fact_candidates, tombstones
from streams.agents.memory.consolidating import Consolidating
from streams.agents.memory.consolidation_records import CONSOLIDATION
from streams.agents.memory.fact_erasing import erase_all, erase_fact
from streams.agents.memory.fact_store import ERASURE, STATE, FactStore, State, erasure_key
from streams.agents.memory.fact_vectors import (
    PAGE,
    PERSON,
    PLANS,
    SPOKEN,
    VECTOR,
    read_vector,
    timer_at,
)
from streams.agents.memory.late_facts import FactHeader, erase_late_copy
from streams.agents.memory.sentence_vectors import PAGES, SENTENCE
from streams.agents.memory.steps import decode_step, key_of
from streams.agents.memory.tombstones import Tombstone
from streams.agents.policy_stamping import PolicyStamps
from streams.agents.vectors.requests import EMBEDDINGS
from streams.clients import erasures
from streams.clients.erasures import Erasing
from streams.clients.policies.known import NoPolicies, Policies
from streams.clients.records import SourceRecord
from streams.clients.topics import CANDIDATES, FACTS
from streams.config.settings import Settings
from streams.runtime.keyed import Run, Source, Work, keyed_stage
from streams.runtime.stage import Stage

__all__ = ["CANDIDATES", "ERASURE", "FACTS", "STATE", "Facts", "erasure_key"]


T = TypeVar("T")


class OwnRecord(NamedTuple):
    """A record of the topic that the stage itself writes; ``key``: of the state that it is folded into.

    A fact has none, for most of them change nothing.
    """

    key: bytes
    says: FactHeader | Erasing | Tombstone | None


class Facts:
    """Handlers of candidates and tombstones."""

    def __init__(self, settings: Settings, policies: Policies | None = None) -> None:
        self._settings = settings
        self._stamps = PolicyStamps(
            "facts", settings.chosen("merge_similarity", "support_similarity", "recurring_fact_similarity")
        )
        self._consolidating = Consolidating(settings, policies or NoPolicies(), self._stamps)

    def stage(self) -> Stage:
        """Return the stage."""
        return keyed_stage(
            name="facts",
            table="facts",
            codec=STATE,
            others=(ERASURE, VECTOR, PERSON, PAGE, PLANS, SPOKEN, SENTENCE, PAGES),
            sources={
                CANDIDATES: _source(
                    fact_candidates.decode_candidate,
                    fact_candidates.fold,
                    lambda candidate: candidate.claim.slot_id.encode(),
                ),
                FACTS: _source(_decode_own, self._fold_own, lambda read: read.key, _sought),
                EMBEDDINGS: _source(read_vector, self._consolidating.fold_vector, lambda arrived: b""),
                CONSOLIDATION: _source(decode_step, self._consolidating.fold_step, key_of),
            },
            on_timer=self._consolidating.on_timer,
            timer_at=timer_at,
            batch_records=self._settings.batch_records,
            # The indexes answer for what is wrong with facts, tombstones and vectors: they read all of them.
            observes_only_of=(FACTS, EMBEDDINGS),
            # Consolidation compares all facts of a person, a new vector the latest; an erasure scans the whole
            # partition.
            in_thread=(FACTS, CONSOLIDATION, EMBEDDINGS),
            decided_by=self._stamps.decided_by,
        )

    def _fold_own(self, read: OwnRecord, store: FactStore) -> None:
        match read.says:
            case FactHeader():
                erase_late_copy(read.says, store)
            case Erasing():
                erase_all(read.says, store, self._settings.decay_rates)
            case Tombstone():
                erase_fact(read.says, store)


def _source(
    decode: Callable[[SourceRecord], T],
    decide: Callable[[T, FactStore], None],
    key: Callable[[T], bytes],
    seeks: Callable[[T], Sequence[bytes]] | None = None,
) -> Source[State, T]:
    """Return a source whose records are folded alone, and leave the state of their key as ``decide`` does."""

    def fold(own: State | None, run: Run[T], work: Work) -> State | None:
        ((said, record),) = run.items
        store = FactStore(work, record, run.key, own)
        decide(said, store)
        return store.own

    return Source(decode=decode, fold=fold, key=key, one_record_per_fold=True, seeks=seeks)


def _decode_own(record: SourceRecord) -> OwnRecord:
    try:
        if record.value is not None:
            return OwnRecord(b"", decode(FactHeader, record.value))
        if (erasing := erasures.read(record)) is not None:
            return OwnRecord(record.key or b"", erasing)
        tombstone = tombstones.read(record)
    except InvalidRecord:
        return OwnRecord(b"", None)  # the index dead-letters it
    return OwnRecord(b"" if tombstone is None else tombstone.fact_id.encode(), tombstone)


def _sought(read: OwnRecord) -> tuple[bytes, ...]:
    return (read.says.named,) if isinstance(read.says, Erasing) else ()
