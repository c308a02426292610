"""The chat page, by keyboard alone."""

from __future__ import annotations

import json
import re
from itertools import pairwise

import pytest
from looking import Tab
from playwright.sync_api import Page, expect
from serve_rig import ServeRig

pytestmark = [pytest.mark.kafka, pytest.mark.browser]


def say(page: Page, text: str, turn: int) -> None:
    """Type, press Enter, and wait until the turn has ended; ``turn``: which of the conversation, from 1."""
    page.get_by_label("Say something").focus()
    page.keyboard.insert_text(text)
    page.keyboard.press("Enter")
    expect(page.locator("article.turn.user")).to_have_count(turn)
    expect(page.locator("article.turn.assistant[aria-busy=true]")).to_have_count(0)
    expect(page.get_by_role("button", name="Send")).to_be_enabled()


def tokens(page: Page) -> int:
    """What the counter shows."""
    found = re.search(r"Context: ([\d,]+) /", page.locator(".tokens").inner_text())
    assert found is not None
    return int(found[1].replace(",", ""))


def test_a_session_by_keyboard_until_the_counter_has_fallen_twice(tab: Tab, rig: ServeRig) -> None:
    rig.need("respond")
    page = tab.open("/chat?user_id=dora")
    page.get_by_role("button", name="+ New").first.focus()
    page.keyboard.press("Enter")
    say(page, "I live in Porto and I love figs.", 1)
    tab.check()
    counts = [tokens(page)]
    for turn in range(2, 40):
        garden = " ".join(f"In bed {turn} row {n} I planted beans of kind {n * turn}." for n in range(14))
        say(page, f"My garden has news. {garden}", turn)
        counts.append(tokens(page))
        falls = sum(after < before for before, after in pairwise(counts))
        if falls == 2:
            break
    assert falls == 2, counts
    expect(page.locator("details", has_text="summaries of this session: 2")).to_be_visible()
    tab.check()
    with page.expect_download() as downloading:
        page.get_by_role("link", name="Export as JSONL").focus()
        page.keyboard.press("Enter")
    lines = [json.loads(line) for line in downloading.value.path().read_text().splitlines()]
    assert lines[0]["content"] == "I live in Porto and I love figs." and lines[0]["is_summarized"]
    assert sum(line["type"] == "summary" for line in lines) == 2
    page.get_by_role("button", name="Delete …").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Delete it")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"/chat\?user_id=dora$"))
