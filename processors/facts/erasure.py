"""Erasure of a fact's evidence: nothing that arrived before it stays, even after a replay.

Time decides, not the order in which things are processed: a candidate that was on its way when its fact was
erased, and one that a replay reads years later, are ignored alike if their messages arrived no later than the
erasure; what the person says after it is learned anew.  What a fact had ended is as if it had never been said,
too.
"""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

import msgspec

from models.facts import Erasure, Fact, FactChange, Provenance
from processors.facts.claims import claim_of
from processors.facts.lines import Cause, Line, settled, unnamed, with_fact
from processors.facts.marks import Mark, MarkKind, mark_of, marked, moment_of


class Erased(NamedTuple):
    """The line without it, facts to publish, what to remember, and whether nothing is left of the fact."""

    line: Line | None
    changes: list[Fact]
    erasure: Erasure
    is_gone: bool


def outlives(fact: Fact, until: datetime) -> bool:
    """Return whether all evidence of a fact is younger than its erasure: it began anew since, or only then."""
    begun_anew = fact.erased_until is not None and until <= fact.erased_until
    return begun_anew or len(_later(fact, until)) == fact.evidence_count


def erase(line: Line | None, fact_id: str, before: Erasure | None, until: datetime, version: int = 0) -> Erased:
    """Return the line without the fact's evidence that arrived up to ``until``.

    ``version``: the last one that is known to be erased, if higher than that of the fact.  Line and erasure
    come back as they are when there is nothing to do.  Evidence that came later is kept: the person said it
    again before we learned of the erasure.  What a fact had let go of before counts as erased.
    """
    fact = None if line is None else line.fact(fact_id)
    stub = None if line is None else line.stub(fact_id)
    is_known = before is not None and until <= before.until
    if before is not None:
        until_now, version = max(before.until, until), max(before.version, version)
    else:
        until_now = until
    stays = fact is not None and outlives(fact, until) and (stub is None or is_known)
    what = None if stays else fact or stub
    if line is None or what is None:
        if before is not None and is_known and version == before.version:
            return Erased(line, [], before, False)
        return Erased(line, [], Erasure(until=until_now, version=version), False)
    erasure, cause = Erasure(until=until_now, version=max(version, what.version)), Cause("", until)
    # It may have been corrected before, and said again since.
    stubs = tuple(each for each in line.stubs if each is not stub)
    left = msgspec.structs.replace(_without(line, fact_id, until), stubs=stubs)
    kept = () if fact is None else _later(fact, until)
    if fact is not None and kept:
        left = _with_the_rest(left, fact, kept, erasure)
        cause = Cause("", max(each.arrived_at for each in kept))
    after, changes = settled(line, left, cause, FactChange.ERASED)
    return Erased(_or_none(after), changes, erasure, not kept)


def unaware(line: Line, fact_id: str, until: datetime) -> tuple[Line, list[Fact]]:
    """Return another line without what was erased up to ``until``, and its facts that change by that: what it
    has ended holds again, and no history names it.
    """
    after, changes = settled(line, _without(line, fact_id, until), Cause("", until), FactChange.ERASED)
    return (line if after == line else after), changes


def _without(line: Line, fact_id: str, until: datetime) -> Line:
    return msgspec.structs.replace(
        line,
        facts=tuple(unnamed(each, fact_id) for each in line.facts if each.fact_id != fact_id),
        marks=tuple(mark for mark in line.marks if not _is_of(mark, fact_id, until)),
        given=None,
        given_before=(),
    )


def _is_of(mark: Mark, fact_id: str, until: datetime) -> bool:
    """An end that was said later is kept with the evidence that was."""
    if mark.fact_id == fact_id:
        return mark.kind is MarkKind.HOLDS or mark.last.arrived_at <= until
    return mark.by == fact_id and mark.last.arrived_at <= until


def _with_the_rest(line: Line, fact: Fact, kept: tuple[Provenance, ...], erasure: Erasure) -> Line:
    marks, claim = line.marks, claim_of(fact)
    for evidence in kept:
        if not any(mark.fact_id == fact.fact_id and mark.first == moment_of(evidence) for mark in marks):
            marks = marked(marks, mark_of(claim, moment_of(evidence), MarkKind.HOLDS, since=evidence.since))
    support = tuple(each for each in fact.support if each.arrived_at > erasure.until)
    left = msgspec.structs.replace(
        fact,
        version=erasure.version,
        evidence_count=len(kept),
        provenance=kept,
        learned_at=min(each.arrived_at for each in kept),
        changed_at=max(each.arrived_at for each in kept),
        last_evidence_at=max([*(each.arrived_at for each in kept), *(each.arrived_at for each in support)]),
        support=support,
        changes=(),
        erased_until=erasure.until,
    )
    return with_fact(msgspec.structs.replace(line, marks=marks), left)


def _or_none(line: Line) -> Line | None:
    return None if line == Line(line.single, ended=line.ended) else line


def _later(fact: Fact, until: datetime) -> tuple[Provenance, ...]:
    return tuple(evidence for evidence in fact.provenance if evidence.arrived_at > until)
