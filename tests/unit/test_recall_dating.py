"""Which turns were said when a question says that something happened."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from processors.recall.dating import said_then


def at(day: str) -> float:
    return datetime.fromisoformat(f"{day}T12:00:00").replace(tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("query", "days", "then"),
    [
        ("What broke in May 2024?", ["2024-04-30", "2024-05-01", "2024-05-31", "2025-05-09"], [0, 1, 1, 0]),
        ("What broke on 3 May 2024?", ["2024-05-02", "2024-05-03", "2024-05-04", "2024-05-06"], [0, 1, 1, 0]),
        ("Who rang on May 3?", ["2023-05-03", "2024-05-03", "2024-09-01"], [0, 1, 0]),
        ("Who rang in May?", ["2023-05-03", "2024-05-03", "2024-04-01"], [0, 1, 0]),
        ("Between May 3, 2024 and June 7, 2024?", ["2024-05-03", "2024-05-20", "2024-06-07"], [1, 0, 1]),
        ("Where did we live in 2023?", ["2022-07-01", "2023-07-01"], [0, 1]),
        ("What broke last week?", ["2024-05-03", "2024-05-10"], [0, 0]),
        ("What may break?", ["2024-05-03", "2024-05-10"], [0, 0]),
        ("What broke on 31 February 2024?", ["2024-02-29"], [0]),
        ("What broke in May 2024?", [], []),
    ],
)
def test_what_was_said_at_a_date_that_a_question_names(query: str, days: list[str], then: list[int]) -> None:
    assert said_then(query, [at(day) for day in days]) == then


def test_a_time_that_no_calendar_knows_is_no_error() -> None:
    """A fact without evidence is said at 0, and a broken clock may be centuries ahead."""
    assert said_then("What broke in May 2024?", [0.0, at("2024-05-02")]) == [0.0, 1.0]
    assert said_then("What broke in May 2024?", [at("9999-12-31")]) == [0.0]
