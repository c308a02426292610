"""memory/facts, what it does with a candidate whose extractor was shown a fact and says what it means for that.

A model that is shown what is known says ``again``, ``replaces``, ``ends`` or ``corrects``, and of which fact
(:class:`models.statements.Change`).  It may be wrong, or the fact gone by now: a fact of somebody else is left
alone, and what is said is learned all the same.
"""

from __future__ import annotations

import msgspec

from models.consolidation import Step
from models.facts import Fact, FactCandidate
from models.statements import Assertion, Change
from processors.facts.claims import claim_of
from processors.facts.ending import latest
from streams.agents.memory.consolidation_records import emit_step
from streams.agents.memory.ending import ended_by
from streams.agents.memory.fact_writing import KnownLines, standing
from streams.runtime.keyed import Work

_STEPS = {Change.ENDS: Step.ENDS, Change.REPLACES: Step.REPLACES, Change.CORRECTS: Step.REPLACES}


def as_meant(said: FactCandidate, lines: KnownLines, work: Work) -> FactCandidate:
    """Return the candidate as evidence of the fact that it repeats, or as a correction in that fact's slot."""
    fact = _meant(said, lines, work)
    if fact is None:
        return said
    if said.change is Change.AGAIN:
        again = msgspec.structs.replace(
            said,
            kind=fact.kind,
            subject=fact.subject,
            attribute=fact.attribute,
            value=fact.value,
            polarity=fact.polarity,
            event_at=fact.event_at,
            event_precision=fact.event_precision,
            statement=said.statement if fact.attribute else fact.statement,
            assertion=Assertion.HOLDS,
            refines=(),
        )
        return again if claim_of(again).fact_id == fact.fact_id else said
    if said.change is Change.CORRECTS and _is_rival(said, fact):
        return msgspec.structs.replace(said, assertion=Assertion.CORRECTED, corrects=fact.fact_id)
    return said


def end_known(said: FactCandidate, learned: Fact | None, lines: KnownLines, work: Work) -> None:
    """Write the step that ends the fact that a candidate names, if it was said after that."""
    step, fact = _STEPS.get(said.change), _meant(said, lines, work)
    if step is None or fact is None or learned is None or learned.fact_id == fact.fact_id or said.corrects:
        return
    claim = claim_of(fact)
    if claim.single and claim.slot_id == learned.slot_id:
        return  # the slot decides
    if said.provenance.sent_at > latest(fact).sent_at:
        emit_step(ended_by(learned, fact, said.provenance, step, by=said.extractor), work)


def _is_rival(said: FactCandidate, fact: Fact) -> bool:
    claim = claim_of(said)
    return claim.slot_id == fact.slot_id and claim.fact_id != fact.fact_id


def _meant(said: FactCandidate, lines: KnownLines, work: Work) -> Fact | None:
    """Return the fact that stands by now for the one that was shown, if it is the person's."""
    stands = standing(said.known, lines, work) if said.known and said.change is not Change.NEW else None
    if stands is None or (stands[2].tenant_id, stands[2].user_id) != (said.tenant_id, said.user_id):
        return None
    return stands[2]
