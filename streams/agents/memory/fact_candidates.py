"""memory/facts, the fold of a candidate: the fact it is evidence of, the facts it changes and those it ends.

An extractor that gets known facts may name one that the statement repeats, replaces, ends or corrects
(:class:`models.statements.Change`).  It may be wrong, or the fact gone by now: a fact of another person is left
alone, and the statement is learned all the same.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from models.consolidation import Step
from models.facts import Fact, FactCandidate, FactChange, FactStatus, Provenance
from models.statements import Assertion, Change
from processors.facts.claims import Claim, claim_of
from processors.facts.consolidation import Consolidation
from processors.facts.evidence import latest
from processors.facts.lines import Place
from processors.text.validation import decode
from streams.agents.memory.consolidation_records import emit_end
from streams.agents.memory.fact_store import FactStore
from streams.clients.records import SourceRecord

_STEPS = {Change.ENDS: Step.ENDS, Change.REPLACES: Step.REPLACES, Change.CORRECTS: Step.REPLACES}


class Claimed(NamedTuple):
    """A candidate, and what it claims, however often it was said."""

    said: FactCandidate
    claim: Claim


def decode_candidate(record: SourceRecord) -> Claimed:
    """Return the candidate of a record.

    Raises:
        InvalidRecord: it is none, or claims nothing that there is a slot for.
    """
    found = decode(FactCandidate, record.value)
    return Claimed(found, claim_of(found))


def fold(candidate: Claimed, store: FactStore) -> None:
    """Fold a candidate into the slot that it is about, once for each time that it was said."""
    for said in _each_evidence(candidate.said):
        evidence = said.provenance
        until = store.erased_until(evidence.conversation_id, said)
        if until is not None and evidence.arrived_at <= until:
            store.work.skip("erased")
            store.erase_if_unknown(candidate.claim.fact_id, until)
            continue
        meant = _as_meant(said, store)
        _fold_evidence(meant, candidate.claim if meant is said else claim_of(meant), store)


def _each_evidence(candidate: FactCandidate) -> list[FactCandidate]:
    """Return a candidate for each time that it was said, in the order of its evidence."""
    if not candidate.also:
        return [candidate]
    return [
        msgspec.structs.replace(candidate, provenance=each, source_message_ids=each.message_ids, also=())
        for each in (candidate.provenance, *candidate.also)
    ]


def _as_meant(said: FactCandidate, store: FactStore) -> FactCandidate:
    """Return the candidate as evidence of the fact that it repeats, or as a correction in that fact's slot."""
    fact = _meant(said, store)
    if fact is None:
        return said
    if said.change is Change.AGAIN:
        claimed = ("kind", "subject", "attribute", "value", "polarity", "event_at", "event_precision")
        again = msgspec.structs.replace(
            said,
            **{name: getattr(fact, name) for name in claimed},
            statement=said.statement if fact.attribute else fact.statement,
            assertion=Assertion.HOLDS,
        )
        return again if claim_of(again).fact_id == fact.fact_id else said
    claim = claim_of(said)
    is_rival = claim.slot_id == fact.slot_id and claim.fact_id != fact.fact_id
    if said.change is Change.CORRECTS and is_rival:
        return msgspec.structs.replace(said, assertion=Assertion.CORRECTED, corrects=fact.fact_id)
    return said


def _fold_evidence(said: FactCandidate, claim: Claim, store: FactStore) -> None:
    slot_id = claim.slot_id
    if slot_id.encode() != store.key and store.is_folded(slot_id):
        store.work.skip("replayed")
        return
    before = store.find_in(claim.line_id, claim.fact_id)
    done = Consolidation(said, claim, store.line(slot_id), store)
    _write(done, store)
    # Behind the others, for its mark says that they are done; it moves on, whatever changed.
    slot = msgspec.structs.replace(done.slot)
    after = (
        slot.fact(claim.fact_id) if claim.line_id == slot_id else store.find_in(claim.line_id, claim.fact_id)
    )
    if after is not None:
        _replace_again(before, after, said.provenance, store)
        _end_known(said, after, store)
    store.put(slot_id, slot, marked=True)


def _write(done: Consolidation, store: FactStore) -> None:
    """Publish the facts that a candidate changed, and store the lines that they are in, but for the slot's."""
    if not done.changes:
        store.work.skip("replayed")
    for fact in done.changes:
        line_id = claim_of(fact).line_id
        old = store.find_in(line_id, fact.fact_id)
        store.publish(fact)
        is_back = old is None and fact.change is FactChange.KEPT  # its vector was let go of with it
        if is_back or (old is not None and old.statement != fact.statement):
            store.ask_vector(fact)
        if line_id != fact.fact_id and store.state(fact.fact_id) is None:
            store.put(fact.fact_id, Place(line_id), first=True)
    for line_id, line in done.lines.items():
        store.put(line_id, line, marked=True)
        # Behind those that its facts were merged into, or released from at this position: it does not hold any
        # more what they inherited, and stored without them, that would be lost.
        for stub in line.stubs:
            released = [led.into_line for led in stub.led if led.until == store.position]
            for other_id in filter(None, (stub.into_line, *released)):
                store.write_behind(line_id, other_id)


def _replace_again(before: Fact | None, after: Fact, evidence: Provenance, store: FactStore) -> None:
    """Write the step by which a fact that another had ended, and that is said again, replaces the other."""
    if before is None or before.superseded_by is None or after.status is not FactStatus.ACTIVE:
        return
    if before.status not in (FactStatus.ENDED, FactStatus.SUPERSEDED):
        return
    stands = store.standing(before.superseded_by)
    if stands is None or (after.attribute and stands.fact.slot_id == after.slot_id):
        return  # the slot decides
    emit_end(store.work, after, stands.fact, evidence, Step.REPLACES)


def _end_known(said: FactCandidate, learned: Fact, store: FactStore) -> None:
    """Write the step that ends the fact that a candidate names, if it was said after that."""
    step, fact = _STEPS.get(said.change), _meant(said, store)
    if step is None or fact is None or learned.fact_id == fact.fact_id or said.corrects:
        return
    claim = claim_of(fact)
    if claim.single and claim.slot_id == learned.slot_id:
        return  # the slot decides
    if said.provenance.sent_at > latest(fact).sent_at:
        emit_end(store.work, learned, fact, said.provenance, step, by=said.extractor)


def _meant(said: FactCandidate, store: FactStore) -> Fact | None:
    """Return the fact that stands by now for the one that was shown, if it is the person's."""
    if not said.known or said.change is Change.NEW:
        return None
    found = store.standing(said.known, said)
    return None if found is None else found.fact
