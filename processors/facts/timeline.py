"""Timeline of claims that exclude one another: which one holds, and the interval of each.

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

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

import msgspec

from models.facts import FactStatus, Period
from models.statements import Polarity
from processors.facts.marks import ENDS, MARKS_LIMIT, Mark, MarkKind

#: How many earlier periods a fact names.
PAST_LIMIT = 16


class Verdict(NamedTuple):
    """Verdict on a fact."""

    status: FactStatus
    valid_from: datetime
    valid_to: datetime | None = None
    superseded_by: str | None = None
    past: tuple[Period, ...] = ()
    tentative: bool = False


def verdicts(marks: Sequence[Mark], single: bool) -> dict[str, Verdict]:
    """Return the verdict on each fact that the marks are about.

    ``single``: one value excludes another.  What was taken back is read as if it had never been said: whatever
    it had ended goes on.
    """
    read: list[_Entry] = []
    voided: dict[str, tuple[datetime, str]] = {}
    ledger = _Ledger(single)
    for mark in marks:
        at = mark.first.sent_at
        if mark.kind is MarkKind.HOLDS or mark.kind is MarkKind.CORRECTED:
            voided.pop(mark.fact_id, None)
        lost, by, began = list[str](), mark.by, at
        if mark.kind is MarkKind.CORRECTED:
            lost, by = [*ledger.rivals(mark)], mark.fact_id
        elif mark.kind is MarkKind.VOIDED and ledger.is_open(mark.fact_id):
            lost = [mark.fact_id]
        elif mark.kind is MarkKind.VOIDED and mark.fact_id not in ledger.verdicts:
            voided[mark.fact_id] = at, by
        if lost:
            since = {fact_id: ledger.verdicts[fact_id].valid_from for fact_id in lost}
            voided |= {fact_id: (since[fact_id], by) for fact_id in lost}
            began = min(at, *since.values())
            read = [entry for place, entry in enumerate(read) if not ledger.is_resting_on(lost, entry, place)]
            ledger = _Ledger(single)
            for entry in read:
                ledger.note(*entry)
        if mark.kind is not MarkKind.VOIDED:
            ledger.note(mark, began)
            read.append(_Entry(mark, began))
    found = ledger.verdicts
    return found | {fact_id: _void(found.get(fact_id), *end) for fact_id, end in voided.items()}


class _Entry(NamedTuple):
    """A mark, and when what it says began unless it says so: a correction begins with what it takes back."""

    mark: Mark
    began: datetime


class _Ledger:
    """Reads marks in their order."""

    def __init__(self, single: bool) -> None:
        self.verdicts: dict[str, Verdict] = {}
        self._single = single
        self._open: dict[str, Mark] = {}
        self._latest: dict[str, Mark] = {}
        #: Which mark it was that each open claim began with.
        self._begun: dict[str, int] = {}
        self._read = 0

    def is_open(self, fact_id: str) -> bool:
        """Return whether a claim holds so far."""
        return fact_id in self._open

    def is_resting_on(self, fact_ids: Collection[str], entry: _Entry, place: int) -> bool:
        """Return whether one of these open claims rests on the mark at this place."""
        fact_id = entry.mark.fact_id
        return fact_id in fact_ids and place >= self._begun[fact_id]

    def note(self, mark: Mark, began: datetime) -> None:
        """Read one more mark."""
        self._read += 1
        if (status := ENDS.get(mark.kind)) is not None:
            if mark.fact_id in self._open:
                self._close(mark.fact_id, began, status, mark.by)
            elif mark.fact_id not in self.verdicts:
                self.verdicts[mark.fact_id] = Verdict(status, began, began, mark.by or None)
            return
        held, before = self._open.get(mark.fact_id), self.verdicts.get(mark.fact_id)
        if before is not None:
            began = max(began, before.valid_to or before.valid_from)
        for rival_id, status in self.rivals(mark).items():
            self._close(rival_id, began, status, mark.fact_id)
        if held is None:
            self._begin(mark.fact_id, began, tentative=mark.tentative)
            self._begun[mark.fact_id] = self._read - 1
        elif held.tentative and not mark.tentative:
            self.verdicts[mark.fact_id] = self.verdicts[mark.fact_id]._replace(tentative=False)
        elif mark.tentative and not held.tentative:
            return  # said surely before: it stays so
        self._open[mark.fact_id] = self._latest[mark.fact_id] = mark
        if mark.since is not None:
            self._reach_back(mark, mark.since)

    def rivals(self, mark: Mark) -> dict[str, FactStatus]:
        """Return the open claims that a new one ends, with what becomes of them."""
        found = {rival_id: self._loses(rival, mark) for rival_id, rival in self._open.items()}
        return {rival_id: status for rival_id, status in found.items() if status is not None}

    def _reach_back(self, mark: Mark, since: datetime) -> None:
        """Extend a statement into its own past, and end the rivals that held there."""
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
            past = _periods(before)
        self.verdicts[fact_id] = Verdict(FactStatus.ACTIVE, since, past=past, tentative=tentative)

    def _close(self, fact_id: str, at: datetime, status: FactStatus, by: str) -> None:
        held = self.verdicts[fact_id]
        self.verdicts[fact_id] = held._replace(
            status=status, valid_to=max(at, held.valid_from), superseded_by=by or None
        )
        del self._open[fact_id]

    def _loses(self, rival: Mark, mark: Mark) -> FactStatus | None:
        """Return the status of an open claim after a rival's; ``None`` if both may be true."""
        if rival.fact_id == mark.fact_id or (mark.tentative and not rival.tentative):
            return None
        if rival.fact_id == mark.opposite_id:
            return FactStatus.CONTRADICTED
        both_hold = mark.polarity is rival.polarity is Polarity.AFFIRMED
        return FactStatus.SUPERSEDED if self._single and both_hold else None


def _periods(verdict: Verdict) -> tuple[Period, ...]:
    """Return when a fact held that does not hold now."""
    if verdict.valid_to is None:
        return verdict.past
    last = Period(verdict.valid_from, verdict.valid_to, verdict.tentative)
    return (*verdict.past, last)[-PAST_LIMIT:]


def _void(before: Verdict | None, at: datetime, by: str) -> Verdict:
    """Return the verdict on a fact that never was so when it was last said; it may have been so before."""
    past = () if before is None else _periods(before)
    return Verdict(FactStatus.DEPRECATED, at, at, by or None, past)


def _over_by(verdict: Verdict, began: datetime, lost: FactStatus, by: str) -> Verdict:
    """Return the verdict of a fact that ended when another began to hold."""
    past = tuple(_until(each, began) for each in verdict.past)
    verdict = verdict._replace(past=past)
    if verdict.valid_to is None or verdict.valid_to <= began:
        return verdict
    if verdict.status is FactStatus.ENDED:  # the person said so: no more than the time may be wrong
        return verdict._replace(valid_to=began) if began > verdict.valid_from else verdict
    return verdict._replace(status=lost, valid_to=max(began, verdict.valid_from), superseded_by=by)


def _until(period: Period, end: datetime) -> Period:
    valid_to = max(period.valid_from, min(period.valid_to, end))
    return msgspec.structs.replace(period, valid_to=valid_to)


def trimmed(marks: tuple[Mark, ...], found: Mapping[str, Verdict]) -> tuple[Mark, ...]:
    """Let go of the oldest marks beyond the limit.

    Those first after which the same fact was spoken of again, for a fact without a mark is let go of; and of
    them, and of the others, first those of what does not hold.
    """
    last = {mark.fact_id: place for place, mark in enumerate(marks)}
    holds = {fact_id for fact_id, verdict in found.items() if verdict.status is FactStatus.ACTIVE}
    order = sorted(
        range(len(marks)),
        key=lambda place: (place == last[marks[place].fact_id], marks[place].fact_id in holds, place),
    )
    gone = set(order[: max(0, len(marks) - MARKS_LIMIT)])
    return tuple(mark for place, mark in enumerate(marks) if place not in gone)
