"""The end of a date."""

from __future__ import annotations

from datetime import datetime, timedelta

from models.statements import Precision
from processors.text.calendar import add_months

_MONTHS = {Precision.MONTH: 1, Precision.SEASON: 3, Precision.YEAR: 12}


def end_of(at: datetime, precision: Precision) -> datetime:
    """Return the first moment after a date."""
    if precision in _MONTHS:
        return add_months(at, _MONTHS[precision])
    return at + {Precision.WEEK: timedelta(weeks=1), Precision.DAY: timedelta(days=1)}.get(
        precision, timedelta(minutes=1)
    )
