"""``switchboard graph`` says why there is nothing: four answers, each of them another one."""

from __future__ import annotations

import pytest

from streams.cli.graph import _nothing
from streams.search.graph import GraphAnswer


@pytest.mark.parametrize(
    ("known", "unread", "query", "told"),
    [
        (False, False, "", "Nobody called ada is known in tenant acme: ids are case-sensitive."),
        (False, True, "Anna", "What ada said is not read yet: ask again in a moment."),
        (True, False, "Anna", "ada speaks of nothing of this name."),
        (True, False, "", "ada is known, and speaks of nobody yet."),
    ],
)
def test_why_there_is_nothing(known: bool, unread: bool, query: str, told: str) -> None:
    page = GraphAnswer([], [], user_id="ada", tenant_id="acme", known=known, unread=unread)
    assert _nothing(page, query) == told
