"""The chat page: a session by keyboard alone, a question asked back, a serve that is restarted underneath."""

from __future__ import annotations

import json
import re
from itertools import pairwise

import pytest
from looking import Tab, Visitor, asked, ended, kept, known, reach, say, speak
from playwright.sync_api import Page, expect
from serve_rig import ServeRig
from waiting import eventually

pytestmark = [pytest.mark.kafka, pytest.mark.browser, pytest.mark.long]


def tokens(page: Page) -> int:
    found = re.search(r"Context: ([\d,]+) /", page.locator(".tokens").inner_text())
    assert found is not None
    return int(found[1].replace(",", ""))


def test_a_session_by_keyboard_until_the_counter_has_fallen_twice(tab: Tab, rig: ServeRig) -> None:
    rig.need("respond")
    page = tab.open("/chat?user_id=dora")
    reach(page, page.get_by_role("button", name="+ New").first)
    page.keyboard.press("Enter")
    expect(page.get_by_label("Say something")).to_be_focused()
    expect(page.get_by_text("No language model is set up: what is answered")).to_be_visible()
    say(page, "I live in Porto and I love figs.", 1)
    conversation = page.url.partition("?")[0].rpartition("/")[2]
    tab.check()
    counts = [tokens(page)]
    for turn in range(2, 40):
        garden = " ".join(f"In bed {turn} row {n} I planted beans of kind {n * turn}." for n in range(14))
        say(page, f"My garden has news. {garden}", turn)
        kept(rig, "dora", conversation, 2 * turn)  # no more than one summary is due at a time
        counts.append(tokens(page))
        falls = sum(after < before for before, after in pairwise(counts))
        if falls == 2:
            break
    assert falls == 2, counts
    expect(page.locator("details", has_text="summaries of this session: 2")).to_be_visible()
    tab.check()
    # The page was narrow a moment ago, where the list is folded: what is visible is what stays.
    menu = page.locator("li[aria-current] summary")
    expect(menu).to_be_visible()
    reach(page, menu)
    page.keyboard.press("Enter")
    with page.expect_download() as downloading:
        reach(page, page.get_by_role("link", name="Export as JSONL"))
        page.keyboard.press("Enter")
    lines = [json.loads(line) for line in downloading.value.path().read_text().splitlines()]
    assert lines[0]["content"] == "I live in Porto and I love figs." and lines[0]["is_summarized"]
    assert sum(line["type"] == "summary" for line in lines) == 2
    reach(page, page.get_by_role("button", name="Delete …"))
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Delete it")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"/chat\?user_id=dora$"))
    expect(page.get_by_role("link", name=conversation)).to_have_count(0)
    eventually(lambda: asked(rig, f"/v1/conversations/{conversation}", user_id="dora") is None, "it is gone")


def test_a_sentence_is_traced_from_chat_to_answers(tab: Tab, rig: ServeRig) -> None:
    rig.need("respond")
    page = tab.open("/chat/hugo-tells?user_id=hugo&fresh=1")
    say(page, "I am allergic to lupins.", 1)
    # From what was said to where it lies, and to what came of it.
    page.locator("article.turn.user", has_text="lupins").get_by_role("link", name="#0").click()
    said = page.locator(".message", has_text="allergic to lupins")
    expect(said.locator(".place")).to_contain_text("chat.messages.v1")
    place = said.locator(".place").inner_text()
    fact = page.locator(".factline a", has_text="lupins").first
    expect(fact).to_be_visible()  # who left the chat has closed it
    known(rig, "hugo", "lupins")
    # From an answer that quotes it back to where it was said.
    page = tab.open("/chat/hugo-asks?user_id=hugo&fresh=1")
    say(page, "What am I allergic to?", 1)
    answer = page.locator("article.turn.assistant").last
    answer.locator("summary", has_text="prompt:").click()
    quoted = answer.locator(".prompt-items li", has=page.locator(".chip", has_text="quoted")).first
    expect(quoted).to_contain_text("lupins")
    quoted.get_by_role("link", name="where").click()
    expect(page.locator(".message", has_text="allergic to lupins").locator(".place")).to_have_text(place)
    # And from what is known of it to the answers in which it was used.
    page.locator(".factline a", has_text="lupins").first.click()
    used = page.locator("section", has=page.get_by_role("heading", name="Used in"))
    expect(used.locator("li", has_text="an answer in").first).to_contain_text("hugo-asks")
    tab.check()
    used.locator("li", has_text="an answer in").first.get_by_role("link").click()
    expect(page.locator(".message.assistant", has_text="lupins").locator(".place")).to_contain_text(
        "chat.messages.v1"
    )


def test_serve_restarted_within_a_turn_loses_and_doubles_nothing(visitor: Visitor, rig: ServeRig) -> None:
    rig.need("respond")
    chat, watching = visitor.tab(), visitor.tab()
    for each in (chat, watching):
        each.forgive("ERR_CONNECTION_REFUSED", "ERR_INCOMPLETE_CHUNKED_ENCODING", "ERR_EMPTY_RESPONSE", "503")
        each.forgive("ERR_CONNECTION_RESET")
    page = chat.open("/chat/finn-travels?user_id=finn&fresh=1")
    say(page, "I was in Ankara.", 1)
    log = watching.open("/conversations/finn-travels")
    expect(log.locator(".livemark")).to_have_text("live")
    expect(log.locator(".message")).to_have_count(2)

    page.get_by_label("Say something").fill("Where was I?")
    with page.expect_response(re.compile("/turns$")):
        page.keyboard.press("Enter")
    rig.stop("serve")
    expect(log.locator(".livemark")).to_contain_text("connecting again")
    expect(log.locator(".message", has_text="Ankara").first).to_be_visible()
    speak(rig, "finn-travels", "finn", [("user", "Then in Izmir.")])
    rig.start("serve")

    # Whether the answer was whole when it was stopped is a matter of luck; the question is kept either way.
    again = page.get_by_role("button", name="Try again")
    expect(page.locator("article.turn.assistant[aria-busy=true]")).to_have_count(0)
    expect(again.or_(page.locator("article.turn.assistant").nth(1)).first).to_be_visible()
    if again.is_visible():
        again.click()
    ended(page, 3)
    expect(page.locator("article.turn.assistant")).to_have_count(2)
    for said in ("I was in Ankara.", "Where was I?", "Then in Izmir."):
        expect(page.locator("article.turn.user > .text", has_text=said)).to_have_count(1)
        expect(log.locator(".message.user", has_text=said)).to_have_count(1)
    expect(log.locator(".message")).to_have_count(5)
    expect(log.locator(".livemark")).to_have_text("live")
    chat.check()
    watching.check()
