"""The day until which a plan holds, read from its statement."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from models.statements import Kind
from processors.facts.planned import over_at

SAID = datetime(2026, 3, 10, 9, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "kind", "day"),
    [
        ("I've booked it, the test's the 14th of May in Gort", Kind.EVENT, (2026, 5, 14)),
        ("On Friday I have the second interview", Kind.STATE, (2026, 3, 13)),
        ("We rent a flat in Leith, lease up 31 May", Kind.STATE, (2026, 5, 31)),
        ("internship in Malmö, june 8 to august 14", Kind.EVENT, (2026, 8, 14)),
        ("Am 5. Mai ist meine Prüfung", Kind.EVENT, (2026, 5, 5)),
        ("Le concert est le 20 juin", Kind.EVENT, (2026, 6, 20)),
    ],
)
def test_a_plan_holds_until_its_day(text: str, kind: Kind, day: tuple[int, int, int]) -> None:
    assert over_at(text, kind, SAID) == datetime(*day, 23, 59, 59, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("I start at the bakery on 1 April", Kind.EVENT),
        ("From 1 November I work days", Kind.STATE),
        ("My birthday is on 4 June", Kind.PROFILE),
        ("Choir every Tuesday, next one on 17 March", Kind.PREFERENCE),
        ("Dad died on the ninth of February", Kind.EVENT),
        ("Never mention what happened on 4 May", Kind.INSTRUCTION),
    ],
)
def test_beginnings_recurrences_and_the_past_have_no_such_day(text: str, kind: Kind) -> None:
    assert over_at(text, kind, SAID) is None
