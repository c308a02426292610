"""No text breaks the reading of dates, and no date lies outside of a life."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

from hypothesis import given
from hypothesis import strategies as st

from models.statements import Precision
from processors.text.dates import EARLIEST_YEAR, LATEST_YEAR, find_dates

_NAMES = (
    "last next this past on in at the of a few couple 3 31 29 99 9999 2024 1900 2150 5th 12:30 pm days weeks "
    "months years decades minutes ago from now back Friday monday May february sept spring winter weekend "
    "yesterday tomorrow today tonight morning since every , . -"
)
_WORDS = st.sampled_from(_NAMES.split())
_TEXTS = st.one_of(st.text(max_size=80), st.lists(_WORDS, max_size=12).map(" ".join))
_TIMES = st.datetimes(
    min_value=datetime(1, 1, 1),
    max_value=datetime(9999, 12, 31),
    timezones=st.sampled_from([UTC, timezone(timedelta(hours=14)), timezone(timedelta(hours=-12))]),
)


@given(_TEXTS, _TIMES, st.sampled_from([None, True, False]))
def test_never_raises_and_stays_within_sane_years(text: str, said: datetime, ahead: bool | None) -> None:
    before = 0
    for found in find_dates(text, said, ahead=ahead):
        assert EARLIEST_YEAR <= found.at.year <= LATEST_YEAR
        assert found.at.utcoffset() == said.utcoffset()
        assert before <= found.start < found.end <= len(text)
        before = found.end
        if found.precision is not Precision.MINUTE:
            assert (found.at.hour, found.at.minute, found.at.second, found.at.microsecond) == (0, 0, 0, 0)
