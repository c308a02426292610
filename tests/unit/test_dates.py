"""Dates in what people say, resolved against when they said it: a Wednesday in May."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from models.statements import Precision
from processors.text.dates import find_dates

SAID = datetime(2024, 5, 15, 14, 40, tzinfo=UTC)  # a Wednesday

DAY, WEEK, MONTH, SEASON, YEAR, MINUTE = (
    *(Precision.DAY, Precision.WEEK, Precision.MONTH, Precision.SEASON),
    *(Precision.YEAR, Precision.MINUTE),
)


@pytest.mark.parametrize(
    ("text", "when", "precision"),
    [
        ("I flew home yesterday", "2024-05-14", DAY),
        ("last week", "2024-05-06", WEEK),
        ("three months ago", "2024-02-01", MONTH),
        ("I moved here in 2019", "2019-01-01", YEAR),
        ("May 3rd, 2021", "2021-05-03", DAY),
    ],
)
def test_date(text: str, when: str, precision: Precision) -> None:
    (found,) = find_dates(text, SAID)
    assert (found.at.date().isoformat(), found.precision) == (when, precision)
    assert found.at == found.at.replace(hour=0, minute=0, second=0, microsecond=0)


@pytest.mark.parametrize(
    ("text", "ahead", "when"),
    [
        ("on Friday", True, "2024-05-17"),
        ("on Wednesday", True, "2024-05-22"),
        ("on the 5th", True, "2024-06-05"),
    ],
)
def test_tense_decides(text: str, ahead: bool, when: str) -> None:
    (found,) = find_dates(text, SAID, ahead=ahead)
    assert found.at.date().isoformat() == when


@pytest.mark.parametrize(
    ("text", "when"),
    [
        ("tomorrow at 5", "2024-05-16T17:00:00+00:00"),
        ("tomorrow at 17:30", "2024-05-16T17:30:00+00:00"),
        ("on Friday at 8pm", "2024-05-17T20:00:00+00:00"),
        ("in two hours", "2024-05-15T16:40:00+00:00"),
    ],
)
def test_time_of_day(text: str, when: str) -> None:
    (found,) = find_dates(text, SAID, ahead=True)
    assert (found.at.isoformat(), found.precision) == (when, MINUTE)


@pytest.mark.parametrize(
    "text",
    [
        "I may go",
        "in 1066",
        "room 2019",
        "he is 3",
    ],
)
def test_no_date(text: str) -> None:
    assert find_dates(text, SAID) == []


def test_day_is_the_persons_own() -> None:
    late = datetime(2024, 5, 15, 23, 30, tzinfo=timezone(timedelta(hours=-8)))
    (found,) = find_dates("today", late)
    assert found.at.isoformat() == "2024-05-15T00:00:00-08:00"
