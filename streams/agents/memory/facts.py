"""memory/facts: the only writer of ``memory.facts.v1`` (requirement 3).

A record is decoded here, decided on, and written through :class:`.fact_store.FactStore`, which owns state and
outputs.  Candidates create facts, reinforce them, end them or complete partial ones (:mod:`.fact_candidates`);
steps merge facts (:mod:`.consolidating`) or correct one (:mod:`.fact_correcting`); records of the topic itself
erase (:mod:`.fact_erasing`).  Everything of one person lies in one partition, so a slot is folded in the order
of the log.  For each new fact a vector is asked for; whether it is stored is no part of the truth.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from models.consolidation import ConsolidationStep, Step
from models.errors import InvalidRecord
from models.facts import FactCandidate
from processors.facts.claims import claim_of
from processors.text.validation import decode
from streams.agents.memory import fact_candidates
from streams.agents.memory.consolidating import Consolidating, key_of
from streams.agents.memory.consolidation_records import CONSOLIDATION
from streams.agents.memory.fact_erasing import ErasureRecord, decode_erasure, fold_erasure
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
from streams.agents.memory.late_facts import FactHeader, erase_late_copy, read_header
from streams.agents.memory.sentence_vectors import PAGES, SENTENCE
from streams.agents.policy_stamping import PolicyStamps
from streams.agents.vectors.requests import EMBEDDINGS
from streams.clients.policies.known import NoPolicies, Policies
from streams.clients.records import SourceRecord
from streams.clients.topics import CANDIDATES, FACTS
from streams.config.settings import Settings
from streams.runtime.keyed import Run, Source, Work, keyed_stage
from streams.runtime.stage import Stage

__all__ = ["CANDIDATES", "ERASURE", "FACTS", "STATE", "Facts", "erasure_key"]


T = TypeVar("T")


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
                CANDIDATES: Source(
                    decode=_decode_candidate,
                    fold=_folding(fact_candidates.fold),
                    key=lambda said: claim_of(said).slot_id.encode(),
                    one_record_per_fold=True,
                ),
                FACTS: Source(
                    decode=_decode_erasure,
                    fold=_folding(self._fold_own),
                    key=lambda read: read.key,
                    one_record_per_fold=True,
                    seeks=_sought,
                ),
                EMBEDDINGS: Source(
                    decode=read_vector,
                    fold=_folding(self._consolidating.fold_vector),
                    key=lambda arrived: b"",
                    one_record_per_fold=True,
                ),
                CONSOLIDATION: Source(
                    decode=_decode_step,
                    fold=_folding(self._consolidating.fold_step),
                    key=key_of,
                    one_record_per_fold=True,
                ),
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

    def _fold_own(self, read: ErasureRecord | FactHeader, store: FactStore) -> None:
        if isinstance(read, FactHeader):
            erase_late_copy(read, store)
        else:
            fold_erasure(read, store, self._settings.decay_rates)


def _folding(decide: Callable[[T, FactStore], None]) -> Callable[[State | None, Run[T], Work], State | None]:
    """Return the fold of one record, which leaves the state of its key as ``decide`` has left it."""

    def fold(own: State | None, run: Run[T], work: Work) -> State | None:
        ((said, record),) = run.items
        store = FactStore(work, record, run.key, own)
        decide(said, store)
        return store.own

    return fold


def _decode_candidate(record: SourceRecord) -> FactCandidate:
    found = decode(FactCandidate, record.value)
    claim_of(found)  # what claims nothing that there is a slot for is refused here
    return found


def _decode_erasure(record: SourceRecord) -> ErasureRecord | FactHeader:
    if record.value is None:
        return decode_erasure(record)
    return read_header(record) or ErasureRecord(b"")


def _sought(read: ErasureRecord | FactHeader) -> tuple[bytes, ...]:
    return (read.erasing.named,) if isinstance(read, ErasureRecord) and read.erasing is not None else ()


def _decode_step(record: SourceRecord) -> ConsolidationStep:
    step = decode(ConsolidationStep, record.value)
    if step.step is Step.CONSOLIDATE:
        return step
    if step.step is Step.CORRECT:
        if not (step.user_id and step.fact_id and step.correction):
            raise InvalidRecord(
                "incomplete_step", "a step correct names user_id and fact_id, and has a correction"
            )
        return step
    is_about_one = step.step in (Step.DEPRECATE, Step.SEPARATE, Step.PASSES)
    if not (step.user_id and step.fact_id) or not (step.other_id or is_about_one):
        raise InvalidRecord("incomplete_step", f"a step {step.step} names user_id, fact_id and other_id")
    if step.fact_id == step.other_id:
        raise InvalidRecord("same_fact", f"a step {step.step} names one fact twice: {step.fact_id}")
    if step.step in (Step.SUPPORT, Step.ENDS, Step.REPLACES, Step.PASSES) and step.saying is None:
        raise InvalidRecord("incomplete_step", f"a step {step.step} says where it was said (saying)")
    return step
