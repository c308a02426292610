"""Counting in the calendar: the first moment of a week, months from now, the day that a tense means."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import NamedTuple

from models.statements import Precision


class SpokenAt(NamedTuple):
    """Moment of a sentence, and whether it looks ahead, back, or does not say (``None``)."""

    at: datetime
    ahead: bool | None


def midnight(at: datetime) -> datetime:
    """The first moment of a day."""
    return at.replace(hour=0, minute=0, second=0, microsecond=0)


def floor(at: datetime, precision: Precision) -> datetime:
    """The first moment of the minute, day, week … that holds ``at``."""
    if precision is Precision.MINUTE:
        return at.replace(second=0, microsecond=0)
    day = midnight(at)
    if precision is Precision.WEEK:
        return day - timedelta(days=day.weekday())
    if precision is Precision.MONTH:
        return day.replace(day=1)
    if precision is Precision.SEASON:
        return add_months(day.replace(day=1), -(day.month % 3))
    return day.replace(month=1, day=1) if precision is Precision.YEAR else day


def add_months(at: datetime, months: int) -> datetime:
    """The first day of the month that lies ``months`` from that of ``at``."""
    years, month = divmod(at.year * 12 + at.month - 1 + months, 12)
    return at.replace(year=years, month=month + 1, day=1)


def nearest(candidates: list[datetime], said: SpokenAt) -> datetime:
    """Of the same day in three years (or weeks) that which fits the tense; else the nearest."""
    today = midnight(said.at)
    fitting = [
        each for each in candidates if said.ahead is None or (each >= today if said.ahead else each <= said.at)
    ]
    return min(fitting or candidates, key=lambda each: abs(each - today))


def of_year(said: SpokenAt, month: int, day: int, year: str | None) -> datetime:
    """A day of that year, or of the year that the tense means; raises ``ValueError`` where there is none."""
    if year:
        return midnight(said.at).replace(year=int(year), month=month, day=day)
    around = [midnight(said.at).replace(day=1, month=month, year=said.at.year + n) for n in (-1, 0, 1)]
    return nearest([each.replace(day=day) for each in around], said)
