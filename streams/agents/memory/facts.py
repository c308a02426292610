"""memory/facts: the only writer of ``memory.facts.v1`` (requirement 3).

Candidates create facts, reinforce them, end them or complete partial ones; steps merge facts
(:mod:`.consolidating`) or put one right (:mod:`.fact_correcting`); what is written on the topic itself erases
(:mod:`.fact_erasing`).  Everything of one person lies in one partition, so that what was said of a
slot is folded in the order of the log.  For each new fact a vector is asked for; whether it is stored is no
part of the truth.

State: :mod:`.fact_state`.  The slot's own line is stored last: it carries the mark
that says whether a candidate was folded in, and of the others each says so for itself.
"""

from __future__ import annotations

from models.consolidation import ConsolidationStep, Step
from models.errors import InvalidRecord
from models.facts import Fact, FactCandidate
from processors.facts.candidates import each_evidence
from processors.facts.claims import claim_of
from processors.facts.lines import Line
from processors.text.validation import decode
from streams.agents.memory.consolidating import Consolidating, key_of
from streams.agents.memory.consolidation_records import CONSOLIDATION
from streams.agents.memory.ending import said_again
from streams.agents.memory.fact_erasing import ErasureRecord, decode_erasure, erased_until, fold_erasure
from streams.agents.memory.fact_state import (
    ERASURE,
    STATE,
    State,
    as_known_before,
    erasure_key,
    line_of,
    remember,
)
from streams.agents.memory.fact_vectors import (
    PAGE,
    PERSON,
    PLANS,
    SPOKEN,
    VECTOR,
    Arrived,
    read_vector,
    timer_at,
)
from streams.agents.memory.fact_writing import FACTS, KnownLines, fold_in
from streams.agents.memory.known_facts import as_meant, end_known
from streams.agents.memory.late_facts import FactHeader, erase_late_copy, erase_unknown, read_header
from streams.agents.memory.sentence_vectors import PAGES, SENTENCE
from streams.agents.policy_stamping import PolicyStamps
from streams.agents.vectors.requests import EMBEDDINGS
from streams.clients.policies.known import NoPolicies, Policies
from streams.clients.records import SourceRecord
from streams.config.settings import Settings
from streams.runtime.keyed import Run, Source, Work, keyed_stage
from streams.runtime.stage import Stage

__all__ = ["CANDIDATES", "ERASURE", "FACTS", "STATE", "Facts", "erasure_key"]

CANDIDATES = "memory.fact-candidates.v1"


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
                    fold=_fold_candidate,
                    key=lambda said: claim_of(said).slot_id.encode(),
                    one_record_per_fold=True,
                ),
                FACTS: Source(
                    decode=_decode_erasure,
                    fold=self._fold_own,
                    key=lambda read: read.key,
                    one_record_per_fold=True,
                    seeks=_sought,
                ),
                EMBEDDINGS: Source(
                    decode=_decode_vector,
                    fold=self._consolidating.fold_vector,
                    key=lambda arrived: b"",
                    one_record_per_fold=True,
                ),
                CONSOLIDATION: Source(
                    decode=_decode_step,
                    fold=self._consolidating.fold_step,
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

    def _fold_own(self, own: State | None, run: Run[ErasureRecord | FactHeader], work: Work) -> State | None:
        ((read, record),) = run.items
        if isinstance(read, FactHeader):
            erase_late_copy(read, record, work)
            return own
        return fold_erasure(own, read, record, work, self._settings.decay_rates)


def _fold_candidate(slot: State | None, run: Run[FactCandidate], work: Work) -> State | None:
    ((candidate, _),) = run.items
    for said in each_evidence(candidate):
        slot = _fold_evidence(said, slot, run, work)
    return slot


def _fold_evidence(
    candidate: FactCandidate, slot: State | None, run: Run[FactCandidate], work: Work
) -> State | None:
    assert slot is None or isinstance(slot, Line)
    said, record = candidate.provenance, run.last
    until = erased_until(said.conversation_id, candidate, record.partition, work)
    if until is not None and said.arrived_at <= until:
        work.skip("erased")
        erase_unknown(candidate, until, record.partition, work)
        return slot
    lines = KnownLines(run.next_offset, work)
    found = as_meant(as_known_before(candidate, run.next_offset, work), lines, work)
    slot_id = claim_of(found).slot_id
    if slot_id.encode() == run.key:
        before = _fact_of(found, slot_id, slot, work)
        after = fold_in(found, slot, lines, work)
        _follow(found, before, _fact_of(found, slot_id, after, work), lines, work)
        remember(found, run.next_offset, work)
        return after
    if lines.is_folded(slot_id):
        work.skip("replayed")
        return slot
    slot_line = line_of(slot_id, work)
    before = _fact_of(found, slot_id, slot_line, work)
    other = fold_in(found, slot_line, lines, work)
    _follow(found, before, _fact_of(found, slot_id, other, work), lines, work)
    remember(found, run.next_offset, work)
    work.put(slot_id.encode(), other, STATE, run.next_offset)
    return slot


def _follow(
    said: FactCandidate, before: Fact | None, after: Fact | None, lines: KnownLines, work: Work
) -> None:
    """Write which facts end, now that a candidate was folded in."""
    said_again(before, after, said.provenance, work)
    end_known(said, after, lines, work)


def _fact_of(said: FactCandidate, slot_id: str, slot: Line | None, work: Work) -> Fact | None:
    """Return the fact that a candidate is about, as it is now."""
    claim = claim_of(said)
    line = slot if claim.line_id == slot_id else line_of(claim.line_id, work)
    return None if line is None else line.fact(claim.fact_id)


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


def _decode_vector(record: SourceRecord) -> Arrived:
    try:
        return read_vector(record)
    except InvalidRecord:
        return Arrived()  # whoever keeps the indexes dead-letters it


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
