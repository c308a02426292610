"""The past time that a question names."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import TypeAlias

from models.statements import Precision
from processors.text.calendar import add_months
from processors.text.dates import find_dates
from processors.text.lexicon import ENGLISH_MONTHS

#: From the first moment (included) to the second (not included).
Period: TypeAlias = tuple[datetime, datetime]

#: What was said so long before a time still tells of it, most likely.
_RECENTLY = timedelta(days=60)
#: What was said earlier may.
_EARLIER = 0.5

_LENGTHS = {Precision.MONTH: 1, Precision.SEASON: 3, Precision.YEAR: 12}
#: "im März", "en mars", "au mois de mars", "em março".
_IN_MONTH = re.compile(
    rf"\b(?:im|en|em|mois (?:de |d['’])|mes de|mês de) ?({'|'.join(ENGLISH_MONTHS)})\b", re.IGNORECASE
)


def period_of(query: str, now: datetime) -> Period | None:
    """Return the past time that a query names ("in May", "last year"), first moment and end; ``None``: none.

    ``now`` says what it is counted from.  In German, Spanish, French and Portuguese months are known.
    """
    query = _IN_MONTH.sub(lambda found: f"in {ENGLISH_MONTHS[found[1].lower()]}", query)
    for date in find_dates(query, now, ahead=False):
        if date.at < now:
            return date.at, min(now, _end_of(date.at, date.precision))
    return None


def _end_of(at: datetime, precision: Precision) -> datetime:
    if precision in _LENGTHS:
        return add_months(at, _LENGTHS[precision])
    return at + {Precision.WEEK: timedelta(weeks=1), Precision.DAY: timedelta(days=1)}.get(
        precision, timedelta(minutes=1)
    )


def told_by(period: Period, said_at: float) -> float:
    """Return how well what was said at a moment (epoch seconds) can tell of a time, 0..1.

    What held then was said before its end.
    """
    begin, end = period
    if said_at >= end.timestamp():
        return 0.0
    return 1.0 if said_at >= (begin - _RECENTLY).timestamp() else _EARLIER
