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
        ("the day before yesterday we met", "2024-05-13", DAY),
        ("my exam is tomorrow", "2024-05-16", DAY),
        ("I had soup tonight", "2024-05-15", DAY),
        ("last Tuesday I ran", "2024-05-14", DAY),
        ("last Wednesday", "2024-05-08", DAY),
        ("this past Saturday", "2024-05-11", DAY),
        ("we move next Friday", "2024-05-24", DAY),
        ("this Friday", "2024-05-17", DAY),
        ("last week", "2024-05-06", WEEK),
        ("next week", "2024-05-20", WEEK),
        ("last weekend we hiked", "2024-05-11", WEEK),
        ("next month", "2024-06-01", MONTH),
        ("last year", "2023-01-01", YEAR),
        ("two years ago", "2022-01-01", YEAR),
        ("three months ago", "2024-02-01", MONTH),
        ("2 weeks ago", "2024-04-29", WEEK),
        ("ten days ago", "2024-05-05", DAY),
        ("a few days ago", "2024-05-06", WEEK),
        ("in three days", "2024-05-18", DAY),
        ("a month from now", "2024-06-01", MONTH),
        ("I moved here in 2019", "2019-01-01", YEAR),
        ("on 3 May", "2024-05-03", DAY),
        ("on the 3rd of May", "2024-05-03", DAY),
        ("May 3rd, 2021", "2021-05-03", DAY),
        ("on December 24", "2023-12-24", DAY),
        ("in March", "2024-03-01", MONTH),
        ("August 2025", "2025-08-01", MONTH),
        ("last November", "2023-11-01", MONTH),
        ("in spring", "2024-03-01", SEASON),
        ("last summer", "2023-06-01", SEASON),
        ("in the fall of 2020", "2020-09-01", SEASON),
        ("on 2024-02-29", "2024-02-29", DAY),
        ("on the 5th", "2024-05-05", DAY),
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
        ("on Friday", False, "2024-05-10"),
        ("on Wednesday", False, "2024-05-15"),
        ("on Wednesday", True, "2024-05-22"),
        ("on 3 May", True, "2025-05-03"),
        ("in December", False, "2023-12-01"),
        ("in December", True, "2024-12-01"),
        ("in the spring", True, "2025-03-01"),
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
        ("tomorrow at 9", "2024-05-16T09:00:00+00:00"),
        ("tomorrow at 17:30", "2024-05-16T17:30:00+00:00"),
        ("on Friday at 8pm", "2024-05-17T20:00:00+00:00"),
        ("on Friday at 12 am", "2024-05-17T00:00:00+00:00"),
        ("in two hours", "2024-05-15T16:40:00+00:00"),
    ],
)
def test_time_of_day(text: str, when: str) -> None:
    (found,) = find_dates(text, SAID, ahead=True)
    assert (found.at.isoformat(), found.precision) == (when, MINUTE)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "every Friday",
        "on Fridays",
        "I may go",
        "we march on",
        "on February 31",
        "in 1066",
        "3/4/2024",
        "version 2024-13-45",
        "nine hundred years ago",
        "9999 years ago",
        "I have lived here since last year",
        "room 2019",
        "the spring mattress",
        "he is 3",
    ],
)
def test_no_date(text: str) -> None:
    assert find_dates(text, SAID) == []


def test_spans_are_cut_out_with_their_prepositions() -> None:
    text = "I flew to Oslo on 3 May, and tomorrow at 5 I fly back"
    spans = [text[found.start : found.end] for found in find_dates(text, SAID)]
    assert spans == ["on 3 May", "tomorrow at 5"]


def test_day_is_the_persons_own() -> None:
    late = datetime(2024, 5, 15, 23, 30, tzinfo=timezone(timedelta(hours=-8)))
    (found,) = find_dates("today", late)
    assert found.at.isoformat() == "2024-05-15T00:00:00-08:00"


def test_leap_day_of_another_year() -> None:
    (found,) = find_dates("on 29 February 2024", datetime(2025, 3, 1, tzinfo=UTC))
    assert found.at.date().isoformat() == "2024-02-29"
    assert find_dates("on 29 February", datetime(2026, 3, 1, tzinfo=UTC)) == []
