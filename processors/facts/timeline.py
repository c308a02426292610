"""What was said of claims that exclude one another, and what follows: which holds, and when each did.

A line is the slot itself where it holds one value ("home"), else one value of it and its denial ("likes tea",
"does not like tea").  Its marks say what was claimed when, sorted by when it was *said*; whatever order they
arrive in, the same follows.  So what was said earlier never takes the place of what was said later.

A mark may also say since when it is so ("I moved in January").  Then it began at that time, and what it takes
the place of was over by then, though never before it began.

What is said unsurely (below :data:`processors.facts.confidence.PASSIVE_FROM`: asked for once, guessed by a
model) is *tentative*.  It ends nothing that was said surely, but stands beside it until either is said surely
again; of two tentative claims the later one wins.  "Find me a Thai restaurant" is no end of "my favourite food
is Italian".
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

import msgspec

from models.facts import FactStatus, Period, Provenance
from models.messages import Timestamp
from models.statements import Polarity
from processors.facts.claims import Claim

#: How many marks a line keeps.
MARKS_LIMIT = 32

#: How many earlier periods a fact names.
PAST_LIMIT = 16


#: What the line of a slot that holds many values claims when it holds some.
ANY = Claim("", "", "", "", Polarity.AFFIRMED, False, False)


class Moment(msgspec.Struct, frozen=True, array_like=True, order=True):
    """When something was said: by the person's clock (:mod:`models.clocks`), the log's, and its place."""

    sent_at: Timestamp
    arrived_at: Timestamp
    offset: int = 0


class Said(StrEnum):
    """What a mark says.  ``voided``: it never was so, something else took its place."""

    HOLDS = "holds"
    ENDED = "ended"
    CORRECTED = "corrected"
    VOIDED = "voided"


class Mark(msgspec.Struct, frozen=True, array_like=True):
    """A claim, from when it was first said to when it was last, with nothing else said in between.

    ``by``: the fact that ended or voided it, if it was another.  ``tentative``: it was said unsurely.
    ``since``: when it began, if that was said.
    """

    first: Moment
    last: Moment
    fact_id: str
    opposite_id: str
    polarity: Polarity
    is_none: bool
    said: Said
    by: str = ""
    tentative: bool = False
    since: Timestamp | None = None


class Verdict(NamedTuple):
    """What follows for a fact."""

    status: FactStatus
    valid_from: datetime
    valid_to: datetime | None = None
    superseded_by: str | None = None
    past: tuple[Period, ...] = ()
    tentative: bool = False


def moment_of(evidence: Provenance) -> Moment:
    """When evidence was said."""
    return Moment(evidence.said_at, evidence.arrived_at, max(evidence.offsets, default=0))


def mark_of(
    claim: Claim,
    at: Moment,
    said: Said,
    by: str = "",
    *,
    tentative: bool = False,
    since: datetime | None = None,
) -> Mark:
    """Return the mark of a claim at one moment.  Only a claim that something holds can be tentative."""
    tentative = tentative and said is Said.HOLDS
    if said in (Said.ENDED, Said.VOIDED):
        since = None
    fact_id, opposite_id, polarity, is_none = claim.fact_id, claim.opposite_id, claim.polarity, claim.is_none
    return Mark(at, at, fact_id, opposite_id, polarity, is_none, said, by, tentative, since)


def marked(marks: tuple[Mark, ...], new: Mark) -> tuple[Mark, ...]:
    """Return the marks with a new one, of one moment; the same object if it says nothing new."""
    at = new.first
    if any(_is_within(new, mark) for mark in marks):
        return marks
    index = bisect_right(marks, at, key=lambda mark: mark.first)
    before, after = marks[:index], marks[index:]
    if before and before[-1].last > at:
        # Said in between: what was claimed before and after is two claims now.
        around = before[-1]
        before = (*before[:-1], msgspec.structs.replace(around, last=around.first))
        after = (msgspec.structs.replace(around, first=around.last), *after)
    elif new.said is Said.HOLDS:
        if before and _is_same_claim(before[-1], new) and (not after or not _is_same_claim(after[0], new)):
            return (*before[:-1], msgspec.structs.replace(before[-1], last=max(before[-1].last, at)), *after)
        if after and _is_same_claim(after[0], new):
            return (*before, msgspec.structs.replace(after[0], first=at), *after[1:])
    return (*before, new, *after)


def _is_same_claim(one: Mark, other: Mark) -> bool:
    return (one.said, one.fact_id, one.by, one.tentative, one.since) == (
        other.said,
        other.fact_id,
        other.by,
        other.tentative,
        other.since,
    )


def _is_within(new: Mark, mark: Mark) -> bool:
    """What is said again adds nothing in between, and unsurely nothing to what was said surely."""
    surely = msgspec.structs.replace(new, tentative=mark.tentative and new.tentative)
    return _is_same_claim(mark, surely) and mark.first <= new.first <= mark.last


def verdicts(marks: Sequence[Mark], single: bool) -> dict[str, Verdict]:
    """Return what follows for each fact that the marks are about.  ``single``: one value excludes another."""
    ledger = _Ledger(single)
    for mark in marks:
        ledger.note(mark)
    return ledger.verdicts


class _Ledger:
    """Reads marks in their order."""

    def __init__(self, single: bool) -> None:
        self.verdicts: dict[str, Verdict] = {}
        self._single = single
        self._open: dict[str, Mark] = {}
        self._latest: dict[str, Mark] = {}

    def note(self, mark: Mark) -> None:
        at = mark.first.sent_at
        if mark.said in (Said.ENDED, Said.VOIDED):
            voided = mark.said is Said.VOIDED
            status = FactStatus.DEPRECATED if voided else FactStatus.ENDED
            if mark.fact_id in self._open:
                self._close(mark.fact_id, at, status, mark.by)
            elif mark.fact_id not in self.verdicts:
                self.verdicts[mark.fact_id] = Verdict(status, at, at, mark.by or None)
            return
        since = at
        for rival_id, rival in [*self._open.items()]:
            lost = self._loses(rival, mark)
            if lost is None:
                continue
            if mark.said is Said.CORRECTED:
                since = min(since, self.verdicts[rival_id].valid_from)
                lost = FactStatus.DEPRECATED
            self._close(rival_id, at, lost, mark.fact_id)
        held = self._open.get(mark.fact_id)
        if held is None:
            self._begin(mark.fact_id, since, tentative=mark.tentative)
        elif held.tentative and not mark.tentative:
            self.verdicts[mark.fact_id] = self.verdicts[mark.fact_id]._replace(tentative=False)
        elif mark.tentative and not held.tentative:
            return  # said surely before: it stays so
        self._open[mark.fact_id] = self._latest[mark.fact_id] = mark
        if mark.since is not None:
            self._reach_back(mark, mark.since)

    def _reach_back(self, mark: Mark, since: datetime) -> None:
        """What began before it was said takes in its own past since, and the others were over by then."""
        held = self.verdicts[mark.fact_id]
        past, began = held.past, min(since, held.valid_from)
        while past and began < past[-1].valid_to:
            began, past = min(began, past[-1].valid_from), past[:-1]
        self.verdicts[mark.fact_id] = held._replace(valid_from=began, past=past)
        for other_id, other in self._latest.items():
            lost = None if other_id in self._open else self._loses(other, mark)
            if lost is not None:
                self.verdicts[other_id] = _over_by(self.verdicts[other_id], began, lost, mark.fact_id)

    def _begin(self, fact_id: str, since: datetime, *, tentative: bool) -> None:
        before, past = self.verdicts.get(fact_id), tuple[Period, ...]()
        if before is not None:
            past = before.past
            if before.status is not FactStatus.DEPRECATED and before.valid_to is not None:
                since = max(since, before.valid_to)
                past = (*past, Period(before.valid_from, before.valid_to, before.tentative))[-PAST_LIMIT:]
        self.verdicts[fact_id] = Verdict(FactStatus.ACTIVE, since, past=past, tentative=tentative)

    def _close(self, fact_id: str, at: datetime, status: FactStatus, by: str) -> None:
        held = self.verdicts[fact_id]
        end = held.valid_from if status is FactStatus.DEPRECATED else max(at, held.valid_from)
        self.verdicts[fact_id] = held._replace(status=status, valid_to=end, superseded_by=by or None)
        del self._open[fact_id]

    def _loses(self, rival: Mark, mark: Mark) -> FactStatus | None:
        """Return what becomes of an open claim when another is made; ``None``: they may both be true."""
        if rival.fact_id == mark.fact_id or (mark.tentative and not rival.tentative):
            return None
        if rival.fact_id == mark.opposite_id:
            return FactStatus.CONTRADICTED
        if mark.is_none:
            return FactStatus.ENDED if rival.polarity is Polarity.AFFIRMED else None
        if mark.polarity is not Polarity.AFFIRMED:
            return None
        if rival.is_none or (self._single and rival.polarity is Polarity.AFFIRMED):
            return FactStatus.SUPERSEDED
        return None


def _over_by(verdict: Verdict, began: datetime, lost: FactStatus, by: str) -> Verdict:
    """Return what is left of a fact that ended, from when on another held; what never was so stays that."""
    past = tuple(_until(each, began) for each in verdict.past)
    verdict = verdict._replace(past=past)
    if verdict.status is FactStatus.DEPRECATED or verdict.valid_to is None or verdict.valid_to <= began:
        return verdict
    if verdict.status is FactStatus.ENDED:  # the person said so: no more than the time may be wrong
        return verdict._replace(valid_to=began) if began > verdict.valid_from else verdict
    return verdict._replace(status=lost, valid_to=max(began, verdict.valid_from), superseded_by=by)


def _until(period: Period, end: datetime) -> Period:
    valid_to = max(period.valid_from, min(period.valid_to, end))
    return msgspec.structs.replace(period, valid_to=valid_to)


def trimmed(marks: tuple[Mark, ...], found: dict[str, Verdict]) -> tuple[Mark, ...]:
    """Let go of the oldest marks beyond the limit, first of those that nothing which holds rests on."""
    kept = list(marks)
    while len(kept) > MARKS_LIMIT:
        spare = (n for n, mark in enumerate(kept) if _is_spare(mark, kept[n + 1 :], found))
        del kept[next(spare, 0)]
    return tuple(kept)


def _is_spare(mark: Mark, later: Sequence[Mark], found: dict[str, Verdict]) -> bool:
    holds = found[mark.fact_id].status is FactStatus.ACTIVE
    return not holds or any(each.fact_id == mark.fact_id for each in later)
