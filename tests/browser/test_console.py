"""The console as somebody uses it who looks at a running system."""

from __future__ import annotations

import re

import pytest
from looking import Tab, Visitor, close, publish_bad, speak
from playwright.sync_api import expect
from serve_rig import ServeRig

pytestmark = [pytest.mark.kafka, pytest.mark.browser]

LIVE = re.compile("^live$")


def live(tab: Tab) -> None:
    """Wait until the page sees what happens."""
    expect(tab.page.locator(".livemark")).to_have_text(LIVE)


def test_the_flow_shows_who_runs_and_what_to_do(tab: Tab) -> None:
    page = tab.open("/")
    live(tab)
    expect(page.locator("svg.flow")).to_contain_text("ingest")
    expect(page.get_by_label("What to do")).to_contain_text("respond does not run: switchboard worker respond")
    expect(page.get_by_role("cell", name="chat.messages.v1").first).to_be_visible()
    tab.check()


def test_a_sentence_is_followed_from_its_window_to_the_fact_and_back_to_its_offset(
    tab: Tab, rig: ServeRig
) -> None:
    page = tab.open("/conversations/ava-breakfast")
    live(tab)
    fact = page.locator(".factline a", has_text="blueberries").first
    expect(fact).to_be_visible()
    expect(page.locator(".window").first).to_contain_text("0–9")
    expect(page.locator(".outcome", has_text="Not yet")).to_contain_text("of 10 messages")
    said = page.locator(".message", has_text="I love blueberries")
    said.focus()
    expect(page.locator(".log.lit .factline.on", has_text="blueberries").first).to_be_visible()
    said.blur()
    tab.check()
    fact.click()
    expect(page).to_have_url(re.compile("/facts/"))
    expect(page.locator("blockquote").first).to_contain_text("I love blueberries")
    place = page.locator(".place").first.inner_text()
    tab.check()
    page.get_by_role("link", name="open there").first.click()
    expect(page.locator(".message", has_text="I love blueberries").locator(".place")).to_contain_text(place)


def test_what_people_wrote_is_text_and_nothing_else(tab: Tab) -> None:
    page = tab.open("/conversations/ava-breakfast")
    expect(page.locator(".message", has_text="<img src=x onerror=")).to_be_visible()
    assert page.locator("main img").count() == 0
    assert "owned" not in page.title()


def test_a_contradiction_typed_elsewhere_is_seen_arriving(visitor: Visitor, rig: ServeRig) -> None:
    speak(rig, "bea-drinks", "bea", [("user", "I like coffee."), ("assistant", "Noted.")])
    close(rig, "bea-drinks")
    person, conversation = visitor.tab(), visitor.tab()
    person.open("/people/bea?status=any&confidence=0")
    conversation.open("/conversations/bea-drinks")
    live(person)
    live(conversation)
    row = person.page.locator("tr", has_text="coffee").first
    expect(row).to_be_visible()
    speak(rig, "bea-drinks", "bea", [("user", "I don't like coffee any more.")], first=2)
    expect(conversation.page.locator(".message", has_text="any more")).to_be_visible()
    close(rig, "bea-drinks")
    expect(person.page.locator("tr.faded", has_text="coffee").first).to_be_visible()
    expect(conversation.page.locator(".factline.faded", has_text="coffee").first).to_be_visible()
    person.check()


def test_a_fact_is_corrected_in_the_persons_own_words(tab: Tab, rig: ServeRig) -> None:
    speak(rig, "gil-home", "gil", [("user", "I live in Berlin."), ("assistant", "Noted.")])
    close(rig, "gil-home")
    page = tab.open("/people/gil")
    page.locator("tr", has_text="Berlin").get_by_role("link").first.click()
    page.get_by_role("button", name="Correct …").click()
    page.get_by_label("What is true instead").fill("I live in Munich now.")
    page.get_by_role("button", name="Say it").click()
    expect(page.get_by_role("status").filter(has_text="Said.")).to_be_visible()
    expect(page.locator(".head")).to_contain_text("superseded")
    tab.check()
    page = tab.open("/people/gil")
    expect(page.locator("tr", has_text="Munich")).to_be_visible()


def test_a_conversation_plays_again_from_the_log(tab: Tab) -> None:
    page = tab.open("/conversations/ava-breakfast")
    expect(page.locator(".factline").first).to_be_visible()
    whole = page.locator(".message").count()
    page.locator("body").press("ArrowLeft")
    expect(page).to_have_url(re.compile("step="))
    page.get_by_role("button", name="100×").click()
    page.get_by_label("Position in the log").fill("3")
    expect(page.locator(".message")).to_have_count(3)
    assert page.locator(".window:not(.open)").count() == 0
    page.locator("body").press("ArrowRight")
    page.locator("main h1").click()
    for _ in range(40):
        if page.locator(".message").count() == whole:
            break
        page.locator("body").press("ArrowRight")
    expect(page.locator(".window:not(.open)").first).to_be_visible()
    tab.check()
    page.get_by_role("button", name="live", exact=True).click()
    expect(page.locator(".message")).to_have_count(whole)
    live(tab)


def test_a_live_view_outlives_its_server_and_misses_nothing(tab: Tab, rig: ServeRig) -> None:
    speak(rig, "cem-travels", "cem", [("user", "I was in Ankara.")])
    tab.forgive("ERR_CONNECTION_REFUSED", "ERR_INCOMPLETE_CHUNKED_ENCODING", "ERR_EMPTY_RESPONSE", "503")
    page = tab.open("/conversations/cem-travels")
    live(tab)
    rig.stop("serve")
    expect(page.locator(".livemark")).to_contain_text("connecting again")
    expect(page.locator(".message", has_text="Ankara")).to_be_visible()
    speak(rig, "cem-travels", "cem", [("user", "Then in Izmir.")], first=1)
    rig.start("serve")
    expect(page.locator(".message", has_text="Izmir")).to_have_count(1)
    live(tab)
    speak(rig, "cem-travels", "cem", [("user", "And in Bursa.")], first=2)
    expect(page.locator(".message", has_text="Bursa")).to_have_count(1)
    expect(page.locator(".message")).to_have_count(3)


def test_a_record_that_cannot_be_read_is_found_tried_again_and_refused_again(tab: Tab, rig: ServeRig) -> None:
    page = tab.open("/dead-letters")
    live(tab)
    expect(page.locator("main")).to_contain_text("None")
    publish_bad(rig, b"c-bad", b'{"message_id": "m-7", "content": 7, "<b>": "\xe2\x80\xaebold"}')
    page.get_by_role("link", name=re.compile("invalid")).first.click()
    page.locator("button[aria-expanded=false]").first.click()
    expect(page.locator("pre")).to_contain_text('"<b>"')
    expect(page.locator("main")).to_contain_text("attempts 1")
    tab.check()
    page.get_by_role("button", name="hex").click()
    expect(page.locator("pre")).to_contain_text("7b 22 6d")
    page.get_by_role("button", name="Retry as it is …").click()
    expect(page.locator(".ask")).to_contain_text("without dlq_ ones")
    page.get_by_role("button", name="Retry", exact=True).click()
    expect(page.locator("main")).to_contain_text("Refused again (attempts 2)")
    page.get_by_role("link", name="the new letter").click()
    expect(page.locator("main")).to_contain_text("attempts 2")
    page.get_by_role("button", name="Drop all …").first.click()
    page.get_by_role("button", name="Drop", exact=True).click()
    expect(page.locator("main")).to_contain_text("None")


def test_search_says_why_it_found_what_it_found_and_why_nothing(tab: Tab) -> None:
    page = tab.open("/search")
    page.get_by_label("Question").fill("What does she love to eat?")
    page.get_by_label("person", exact=True).fill("ava")
    page.keyboard.press("Enter")
    found = page.locator(".results > li", has_text="blueberries").first
    expect(found.locator(".parts .bar").first).to_be_visible()
    expect(page.locator("main")).to_contain_text("searched: ava")
    tab.check()
    found.get_by_role("link", name="where it was said").click()
    expect(page.locator(".message[id]").first).to_be_visible()
    page = tab.open("/search?q=anything&user_id=nobody-of-this-name")
    expect(page.locator("main")).to_contain_text("Nobody of that name")
    page = tab.open("/search?q=lattice+quantum+chromodynamics&user_id=ava")
    expect(page.locator("main")).to_contain_text("Nothing of what is known answers")
    tab.check()


def test_people_and_their_conversations_are_found_by_clicking(tab: Tab) -> None:
    page = tab.open("/people")
    page.get_by_role("link", name="ava", exact=True).click()
    expect(page.locator("tbody tr", has_text="blueberries").first).to_be_visible()
    page.get_by_role("tab", name="context now").click()
    expect(page.locator("main")).to_contain_text("tokens")
    tab.check()
    page.get_by_role("link", name="conversations", exact=True).click()
    expect(page.locator("tbody")).to_contain_text("You know what I like for breakfast?")
    tab.check()
    page.get_by_role("link", name="ava-breakfast").click()
    expect(page.locator(".message").first).to_be_visible()


def test_every_state_has_its_own_sentence(tab: Tab, rig: ServeRig) -> None:
    tab.forgive("404", "503", "ERR_CONNECTION_REFUSED", "Failed to load resource", "ERR_")
    page = tab.open("/conversations/nobody-spoke-here")
    expect(page.locator("main")).to_contain_text("Nothing here yet")
    page = tab.open("/people/nobody-of-this-name")
    expect(page.locator("main")).to_contain_text("Nobody of this name")
    tab.check()
    page = tab.open("/facts/1f0c7c1e-3c5a-5f0e-9d0a-6c1b2f3a4d5e?user_id=ava")
    expect(page.locator("main")).to_contain_text("There is no fact")
    page.context.set_offline(True)
    page.get_by_role("link", name="People").click()
    expect(page.locator("main")).to_contain_text("Nothing answers")
    page.context.set_offline(False)
    rig.stop("recall")
    try:
        page = tab.open("/people/ava")
        expect(page.locator("main")).to_contain_text("A part is down")
        expect(page.locator("main")).to_contain_text("switchboard worker recall")
        tab.check()
    finally:
        rig.start("recall")


def test_the_two_clocks_answer_two_questions(tab: Tab) -> None:
    page = tab.open("/people/ava?tab=timeline&clock=true")
    live(tab)
    expect(page.locator("svg.timeline")).to_contain_text("blueberries")
    tab.check()
    page.get_by_role("tab", name="graph").click()
    expect(page.locator("svg.graph")).to_contain_text("ava")
    tab.check()
    page.get_by_role("tab", name="facts", exact=True).click()
    expect(page.locator("tbody tr").first).to_be_visible()
    slider = page.get_by_label("as of")
    slider.focus()
    slider.press("Home")
    expect(page).to_have_url(re.compile("as_of="))
    expect(page.locator("main")).to_contain_text("None of these")


def test_by_keyboard_alone_from_page_to_page(tab: Tab) -> None:
    page = tab.open("/")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="To the content")).to_be_focused()
    page.keyboard.press("Enter")
    page.keyboard.press("g")
    page.keyboard.press("a")
    expect(page.locator("summary").first).to_be_visible()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.locator("details[open] pre").first).to_contain_text("curl ")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).not_to_be_visible()
    tab.check()
