"""Which turns were said when a question says that something happened: "... in July 2023", "... on 3 May".

What is told of a day is mostly told on it, or on the day after.  Only dates of the calendar count: what "last
week" means depends on when it is asked, not on what was said.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from models.statements import Precision
from processors.text.calendar import add_months
from processors.text.dates import find_dates

#: So long after a time ends it is still spoken of (seconds).
_STILL = 24 * 3600.0

_OF_THE_CALENDAR = re.compile(
    r"\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)|\b(?:19|20)\d\d\b", re.IGNORECASE
)
_MONTHS = {Precision.MONTH: 1, Precision.SEASON: 3, Precision.YEAR: 12}


def said_then(query: str, said_at: Sequence[float]) -> list[float]:
    """Return 1.0 for each of these times (epoch seconds) that lies within a date which the query names.

    A month without a year is the last one before the latest of them.
    """
    nothing = [0.0] * len(said_at)
    if not said_at or not _OF_THE_CALENDAR.search(query):  # as most that are asked, and told sooner
        return nothing
    latest = datetime.fromtimestamp(max(said_at), UTC)
    spans = [
        (each.at.timestamp(), end_of(each.at, each.precision).timestamp() + _STILL)
        for each in find_dates(query, latest, ahead=False)
        if _OF_THE_CALENDAR.search(query, each.start, each.end)
    ]
    return [float(any(first <= at < end for first, end in spans)) for at in said_at] if spans else nothing


def end_of(at: datetime, precision: Precision) -> datetime:
    """Return the first moment after a date."""
    if precision in _MONTHS:
        return add_months(at, _MONTHS[precision])
    return at + {Precision.WEEK: timedelta(weeks=1), Precision.DAY: timedelta(days=1)}.get(
        precision, timedelta(minutes=1)
    )
