"""The state of the facts stage, made from the facts that its topic holds.

What people said in between is not on the topic, only what followed from it: enough to go on from.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from models.facts import Fact, FactChange, FactStatus
from processors.facts.claims import Claim, claim_of
from processors.facts.evidence import ever_held, is_same, name_of
from processors.facts.lines import STUBS_LIMIT, Line, Place, bounded
from processors.facts.marks import Mark, MarkKind, Moment, mark_of, marked, moment_of
from processors.facts.merged import is_kept_whole, unmerged
from processors.facts.stubs import Stub, stub_of, voided_stub
from processors.facts.timeline import verdicts


def rebuilt(facts: Iterable[Fact]) -> dict[str, Line | Place]:
    """Return the state, by key, in which a stage goes on that has published these facts."""
    known = sorted(facts, key=lambda fact: (fact.valid_from, fact.fact_id))
    by_id = {fact.fact_id: fact for fact in known}
    claims = {fact.fact_id: claim_of(fact) for fact in known}
    lines: dict[str, Line] = {}
    places: dict[str, Line | Place] = {}
    for fact in known:
        claim = claims[fact.fact_id]
        if claim.line_id != fact.fact_id:
            places[fact.fact_id] = Place(claim.line_id)
        line = lines.get(claim.line_id) or Line(claim.single)
        lines[claim.line_id] = _with(line, fact, claims, by_id)
    for fact in known:
        target = claims.get(fact.merged_into_id or "")
        if target is not None and target.line_id != claims[fact.fact_id].line_id:
            into = lines[target.line_id]
            absorbed = dict.fromkeys((*into.absorbed, claims[fact.fact_id].line_id))
            lines[target.line_id] = msgspec.structs.replace(into, absorbed=tuple(absorbed))
        ended_by = claims.get(fact.superseded_by or "")
        if ended_by is not None and _is_ended_by_another(fact, claims[fact.fact_id], ended_by):
            by = lines[ended_by.line_id]
            ended = dict.fromkeys((*by.ended, claims[fact.fact_id].line_id))
            lines[ended_by.line_id] = msgspec.structs.replace(by, ended=tuple(ended)[-STUBS_LIMIT:])
    settled = {key: bounded(line, verdicts(line.marks, line.single)) for key, line in lines.items()}
    return {**places, **settled}


def _with(line: Line, fact: Fact, claims: dict[str, Claim], by_id: dict[str, Fact]) -> Line:
    claim = claims[fact.fact_id]
    if _is_left(fact):
        stub = voided_stub(fact)
        if fact.merged_into_id:
            target = claims.get(fact.merged_into_id)
            stub = _merged_stub(fact, claim, target.line_id if target else "", by_id.get(fact.merged_into_id))
        line = msgspec.structs.replace(line, stubs=(*line.stubs, stub))
        if fact.merged_into_id:
            return line
    else:
        line = msgspec.structs.replace(line, facts=(*line.facts, fact))
    marks = line.marks
    for mark in _marks(fact, claim):
        marks = marked(marks, mark)
    ended_by = claims.get(fact.superseded_by or "")
    is_replaced = (
        fact.status is FactStatus.SUPERSEDED and ended_by is not None and ended_by.line_id != claim.line_id
    )
    if is_replaced and fact.valid_to is not None:
        at = Moment(fact.valid_to, fact.changed_at)
        marks = marked(marks, mark_of(claim, at, MarkKind.REPLACED, fact.superseded_by or ""))
    return msgspec.structs.replace(line, marks=marks)


def _is_ended_by_another(fact: Fact, own: Claim, by: Claim) -> bool:
    """Say whether the fact that ended another is in a line that the slot of the other does not name."""
    is_over = fact.status in (FactStatus.ENDED, FactStatus.SUPERSEDED)
    return is_over and by.line_id != own.line_id and not (fact.attribute and by.slot_id == own.slot_id)


def _merged_stub(fact: Fact, claim: Claim, into_line: str, into: Fact | None) -> Stub:
    """Return the stub of a merged fact; after a merge by consolidation, with enough to restore it."""
    stub = stub_of(fact, into=fact.merged_into_id, into_line=into_line)
    if not is_kept_whole(fact):
        return stub
    marks: tuple[Mark, ...] = ()
    for mark in _marks(unmerged(fact), claim):
        marks = marked(marks, mark)
    return msgspec.structs.replace(
        stub,
        fact=fact,
        marks=marks,
        gave=_given(fact, into),
        dropped=fact.evidence_count - len(fact.provenance),
        narrowed=_narrowed(fact, into),
    )


def _given(fact: Fact, into: Fact | None) -> tuple[str, ...]:
    """Return the evidence of a merged fact that the other had not: it names it as it was, or no more."""
    theirs = () if into is None else into.provenance
    return tuple(
        name_of(each)
        for each in fact.provenance
        if each in theirs or not any(is_same(each, other) for other in theirs)
    )


def _narrowed(fact: Fact, into: Fact | None) -> float:
    """Return to which part of it the other's distance to certainty shrank when it became as sure as a fact."""
    for each in () if into is None else into.changes:
        taken_in = each.change is FactChange.MERGED and each.window_id is None
        if taken_in and each.confidence_after == fact.confidence and each.at >= (fact.archived_at or each.at):
            before = fact.confidence if each.confidence_before is None else each.confidence_before
            return (1.0 - fact.confidence) / (1.0 - before) if before < 1.0 else 1.0
    return 1.0


def _is_left(fact: Fact) -> bool:
    """Return whether only a stub of a fact is kept."""
    return fact.status in (FactStatus.MERGED_INTO, FactStatus.DEPRECATED) and not fact.has_faded


def _marks(fact: Fact, claim: Claim) -> Iterator[Mark]:
    """Yield when it began to hold, each time, when it was last said, and how it ended if nothing else says
    so.
    """
    for period in fact.past:
        began = Moment(period.valid_from, fact.learned_at)
        yield mark_of(claim, began, MarkKind.HOLDS, tentative=period.tentative)
    dated = [each for each in fact.provenance if each.since is not None]
    ends = [each for each in fact.provenance if each.ends]
    if ever_held(fact) and all(each.since != fact.valid_from for each in dated):
        yield mark_of(claim, Moment(fact.valid_from, fact.learned_at), MarkKind.HOLDS, tentative=fact.tentative)
    for each in dated:
        yield mark_of(claim, moment_of(each), MarkKind.HOLDS, tentative=fact.tentative, since=each.since)
    for each in ends:
        yield mark_of(claim, moment_of(each), MarkKind.ENDED)
    if fact.holds:
        yield mark_of(claim, _last(fact), MarkKind.HOLDS, tentative=fact.tentative)
    elif fact.valid_to in [each.sent_at for each in ends] and not fact.superseded_by:
        return  # the end is among its evidence
    elif fact.status in (FactStatus.ENDED, FactStatus.DEPRECATED) and fact.valid_to is not None:
        kind = MarkKind.ENDED if fact.status is FactStatus.ENDED else MarkKind.VOIDED
        yield mark_of(claim, Moment(fact.valid_to, fact.changed_at), kind, fact.superseded_by or "")


def _last(fact: Fact) -> Moment:
    """Return when it was last said to hold: what ended it is among its evidence, too."""
    said = [each for each in fact.provenance if not each.ends]
    said = [each for each in said if fact.valid_to is None or each.said_at < fact.valid_to] or said
    known = map(moment_of, said or fact.provenance)
    return max(known, default=Moment(fact.valid_from, fact.learned_at))
