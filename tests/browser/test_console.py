"""The console as somebody uses it who looks at a running system."""

from __future__ import annotations

import json
import re

import pytest
from looking import Tab, Visitor, asked, close, kept, known, publish, say, see_focus, speak
from playwright.sync_api import Route, expect
from serve_rig import ServeRig
from waiting import eventually

pytestmark = [pytest.mark.kafka, pytest.mark.browser, pytest.mark.long]

LIVE = re.compile("^live$")


#: The stream that a page opened last, by the name of `source`.
LAST_SOURCE = """
window.EventSource = class extends EventSource {
  constructor(...given) {
    super(...given);
    window.source = this;
  }
};
"""


def live(tab: Tab) -> None:
    """Wait until the page sees what happens."""
    expect(tab.page.locator(".livemark")).to_have_text(LIVE)


@pytest.mark.short
def test_the_flow_shows_who_runs_and_what_to_do(tab: Tab) -> None:
    page = tab.open("/")
    live(tab)
    expect(page.locator("svg.flow")).to_contain_text("ingest")
    expect(page.get_by_label("What to do")).to_contain_text("respond does not run: switchboard worker respond")
    expect(page.get_by_role("cell", name="chat.messages.v1").first).to_be_visible()
    tab.check()


@pytest.mark.short
def test_a_sentence_is_traced_from_window_to_fact_and_offset(tab: Tab, rig: ServeRig) -> None:
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


@pytest.mark.short
def test_what_people_wrote_is_text_and_nothing_else(tab: Tab, rig: ServeRig) -> None:
    def inert() -> None:
        assert page.locator("main img").count() == 0
        led = page.locator("main [href]").evaluate_all("all => all.map((each) => each.getAttribute('href'))")
        assert [each for each in led if not each.startswith("/")] == []
        assert page.title() != "owned"

    page = tab.open("/conversations/ava-breakfast")
    expect(page).to_have_title("ava-breakfast · Switchboard")
    expect(page.locator(".message", has_text="<img src=x onerror=")).to_be_visible()
    expect(page.locator(".message", has_text="javascript:document.title")).to_be_visible()
    # What would turn round all that follows it is shown by its number.
    expect(page.locator(".message", has_text="<img src=x")).to_contain_text(r"\u202eshe eats everything")
    assert "\u202e" not in page.locator("main").inner_text()
    inert()
    # As a name, as the name of a conversation, and as what is known.
    order = "javascript:document.title='owned'"
    speak(rig, order, order, [("user", f"My favourite drink is called {order}."), ("assistant", order)])
    close(rig, order)
    known(rig, order, "owned")
    for path in ("/people", f"/people/{order}", f"/conversations?user_id={order}", f"/conversations/{order}"):
        page = tab.open(path)
        expect(page.locator("main")).to_contain_text(order)
        inert()
    page.locator(".factline a", has_text="owned").first.click()
    expect(page.locator("h1")).to_contain_text("owned")
    inert()


def test_a_contradiction_typed_elsewhere_is_seen_arriving(visitor: Visitor, rig: ServeRig) -> None:
    rig.need("respond")
    speak(rig, "bea-drinks", "bea", [("user", "I like coffee."), ("assistant", "Noted.")])
    close(rig, "bea-drinks")
    known(rig, "bea", "coffee")
    chat, person, conversation = visitor.tab(), visitor.tab(), visitor.tab()
    person.open("/people/bea?status=any&confidence=0")
    conversation.open("/conversations/bea-drinks")
    live(person)
    live(conversation)
    row = person.page.locator("tr", has_text="coffee").first
    expect(row).to_be_visible()
    say(chat.open("/chat/bea-drinks?user_id=bea"), "I don't like coffee any more.", 2)
    expect(conversation.page.locator(".message.user", has_text="any more")).to_be_visible()
    chat.open("/")  # who leaves a chat has closed it
    expect(person.page.locator("tr.faded", has_text="coffee").first).to_be_visible()
    expect(conversation.page.locator(".factline.faded", has_text="coffee").first).to_be_visible()
    person.check()


def test_a_live_list_follows_and_waits_for_readers(tab: Tab, rig: ServeRig) -> None:
    lines = [("user" if n % 2 else "assistant", f"This is line {n} of a long evening.") for n in range(44)]
    speak(rig, "kim-evening", "kim", lines[:40])
    kept(rig, "kim", "kim-evening", 40)
    page = tab.open("/conversations/kim-evening")
    expect(page.locator(".message")).to_have_count(40)
    live(tab)
    # Who reads further up, and has a row in focus, keeps both.
    row = page.locator(".message").first
    row.focus()
    page.evaluate("scrollTo({ top: 0 })")
    held = page.evaluate("document.activeElement.id")
    speak(rig, "kim-evening", "kim", lines[40:42], first=40)
    expect(page.get_by_role("button", name="2 new messages")).to_be_visible()
    assert page.evaluate("[scrollY, document.activeElement.id]") == [0, held]
    expect(row).to_be_focused()
    tab.check()
    page.get_by_role("button", name="2 new messages").click()
    expect(page.locator(".message", has_text="line 41 of")).to_be_in_viewport()
    expect(page.locator("button.waiting")).to_have_count(0)
    speak(rig, "kim-evening", "kim", lines[42:], first=42)
    expect(page.locator(".message", has_text="line 43 of")).to_be_in_viewport()
    assert page.locator("button.waiting").count() == 0


def test_a_page_has_a_thousand_rows_and_counts_missed(tab: Tab, rig: ServeRig) -> None:
    told = asked(rig, "/v1/conversations/ava-breakfast/log")
    said = next(each for each in told["events"] if each["kind"] == "message")
    many = [
        said
        | {"offset": n, "index": n}
        | {"value": said["value"] | {"message_id": f"m-{n}", "content": f"line {n}."}}
        for n in range(1200)
    ]
    answer = {**told, "events": many}
    held, waiting = False, list[Route]()

    def log(route: Route) -> None:
        if held:
            waiting.append(route)
        else:
            route.fulfill(json=answer)

    page = tab.page
    page.add_init_script(LAST_SOURCE)
    page.route(re.compile("/v1/conversations/[^/]+/log"), log)
    tab.open("/conversations/ava-breakfast")
    expect(page.locator(".message").last).to_contain_text("line 1199.")
    assert page.locator(".message").count() == 1000
    # What a summary stands for lights up with it, and it with each of these messages.
    of = {"summary_id": "s-1", "from_index": 0, "to_index": 1, "tokens": 9, "replaces": [], "summary": {}}
    summary = {**said, "kind": "summary", "offset": 9999, "value": of}
    answer["events"] = [*many[:3], summary]
    tab.open("/conversations/ava-breakfast")
    expect(page.locator(".message")).to_have_count(3)
    page.locator(".message").first.focus()
    expect(page.locator(".summary.on")).to_be_visible()
    page.locator(".message").last.focus()
    expect(page.locator(".summary:not(.on)")).to_be_visible()
    page.locator(".summary summary").focus()
    expect(page.locator(".message.on")).to_have_count(2)
    # A stream that lost something says so, and what it lost comes with the log.
    held = True
    page.evaluate("source.dispatchEvent(new MessageEvent('gap', { data: '{}' }))")
    expect(page.locator(".gapline")).to_be_visible()
    held = False
    for route in waiting:
        route.fulfill(json=answer)
    expect(page.locator(".gapline")).to_have_count(0)


@pytest.mark.short
def test_a_fact_is_corrected_by_hand(tab: Tab, rig: ServeRig) -> None:
    speak(rig, "gil-home", "gil", [("user", "I live in Berlin."), ("assistant", "Noted.")])
    close(rig, "gil-home")
    known(rig, "gil", "Berlin")
    page = tab.open("/people/gil")
    page.locator("tr", has_text="Berlin").get_by_role("link").first.click()
    live(tab)
    page.get_by_role("button", name="Correct …").click()
    page.get_by_label("What is true instead").fill("I live in Munich now.")
    page.get_by_role("button", name="Correct it").click()
    expect(page.get_by_role("status").filter(has_text="Corrected")).to_contain_text("Munich")
    expect(page.locator(".head")).to_contain_text("deprecated")
    tab.check()
    known(rig, "gil", "Munich")  # it is in the log before it can be looked up
    page.get_by_role("status").get_by_role("link").click()
    expect(page.locator("h1")).to_contain_text("Munich")
    expect(page.locator("main")).to_contain_text("corrected by hand")
    page.get_by_role("button", name="Forget …").click()
    page.get_by_role("button", name="Forget it").click()
    expect(page.get_by_role("heading", name="Erased")).to_be_visible()
    expect(page.locator("main")).to_contain_text("until they are compacted")
    eventually(lambda: not asked(rig, "/v1/facts", user_id="gil")["facts"], "it is gone")


def refusals(rig: ServeRig) -> list[int]:
    found = []
    for group in asked(rig, "/v1/dead-letters")["groups"]:
        of = {"reason": group["reason"], "stage": group["stage"]}
        told = asked(rig, f"/v1/dead-letters/{group['topic']}", **of)
        found += [each["refused"] for each in told["letters"]]
    return found


def test_an_unreadable_record_is_found_and_refused_on_retry(tab: Tab, rig: ServeRig) -> None:
    page = tab.open("/dead-letters")
    live(tab)
    expect(page.locator("main")).to_contain_text("None")
    bad = b'{"message_id": "m-7", "content": 7, "<b>": "\xe2\x80\xaebold", "<img onerror=a>": "javascript:1"}'
    publish(rig, b"c-bad", bad, headers=[("x-own", b"\x1b[31mred")])
    page.get_by_role("link", name=re.compile("invalid")).first.click()
    page.locator("button[aria-expanded=false]").first.click()
    expect(page.locator("pre")).to_contain_text('"<b>"')
    expect(page.locator("pre")).to_contain_text("javascript:1")
    expect(page.locator("pre")).to_contain_text(r"\u202ebold")
    assert page.locator("main img").count() == page.locator("main [href^=javascript]").count() == 0
    expect(page.locator("main")).to_contain_text("attempts 1")
    tab.check()
    page.get_by_role("button", name="hex").click()
    expect(page.locator("pre")).to_contain_text("7b 22 6d")
    page.get_by_role("button", name="Retry as it is …").click()
    expect(page.locator(".ask")).to_contain_text("without dlq_ ones")
    page.get_by_role("button", name="Retry", exact=True).click()
    expect(page.locator("main")).to_contain_text(re.compile(r"was sent to chat.messages.v1 again as \d+ / \d+"))
    expect(page.locator("main")).to_contain_text("Refused again (attempts 2)")
    page.get_by_role("link", name="the new letter").click()
    expect(page.locator("dl.facts")).to_contain_text("attempts 2")
    page.get_by_role("button", name="Retry all …").first.click()
    page.get_by_role("button", name="Retry", exact=True).click()
    eventually(lambda: refusals(rig) == [3], "all of them are refused again")
    page.reload()
    page.locator("button[aria-expanded=false]", has_text="/").first.click()
    expect(page.locator("dl.facts")).to_contain_text("attempts 3")
    page.get_by_role("button", name="Drop all …").first.click()
    page.get_by_role("button", name="Drop", exact=True).click()
    expect(page.locator("main")).to_contain_text("None")


def test_search_explains_its_results_and_their_absence(tab: Tab) -> None:
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
    page = tab.open("/search?q=anything&user_id=avah")
    expect(page.locator("main")).to_contain_text("Nobody of that name")
    page.get_by_role("link", name="ava", exact=True).click()
    expect(page).to_have_url(re.compile("user_id=ava$"))
    page = tab.open("/search?q=lattice+quantum+chromodynamics&user_id=ava")
    expect(page.locator(".state.empty h2")).to_have_text("Nothing of what is known answers")
    expect(page.locator("main")).to_contain_text("There is a memory of ava, and nothing in it answers this.")
    tab.check()


def test_an_unread_person_appears_by_itself(tab: Tab) -> None:
    is_read = False

    def answer(route: Route) -> None:
        told = route.fetch().json()
        unread = {"facts": [], "next": None, "known": False, "unread": True}
        route.fulfill(json=told if is_read else told | unread | {"results": [], "empty": "not_read_yet"})

    page = tab.page
    page.route(re.compile("/v1/(facts|search)"), answer)
    for path, wanted in (("/people/ava", "tbody tr"), ("/search?q=blueberries&user_id=ava", ".results > li")):
        is_read = False
        tab.open(path)
        expect(page.locator("main")).to_contain_text("nobody has read it yet")
        tab.check()
        is_read = True
        expect(page.locator(wanted, has_text="blueberries").first).to_be_visible()


def test_ties_are_drawn_and_lead_to_their_sentence(tab: Tab, rig: ServeRig) -> None:
    lines = [
        ("user", "I have a dog called Bello."),
        ("assistant", "Good."),
        ("user", "My friend Julia lives in Porto."),
    ]
    speak(rig, "ida-family", "ida", lines)
    close(rig, "ida-family")

    def tied() -> bool:
        with rig.client() as client:
            return len(client.get("/v1/graph", params={"user_id": "ida", "steps": 2}).json()["relations"]) == 3

    eventually(tied, "the graph has what was said")
    page = tab.open("/people/ida?tab=graph")
    drawing = page.locator("svg.graph")
    for name in ("ida", "Bello", "Julia", "Porto", "lives in"):
        expect(drawing).to_contain_text(name)
    tab.check()
    drawing.get_by_role("link", name="Julia, person").click()
    expect(page).to_have_url(re.compile("entity="))
    expect(page.locator(".panel", has_text="also called")).to_contain_text("Julia")
    page.locator("tr", has_text="Porto").get_by_role("link", name="where").first.click()
    expect(page.locator(".message", has_text="My friend Julia").locator(".place")).to_contain_text(
        "chat.messages.v1"
    )


@pytest.mark.short
def test_a_browser_signs_in_once_and_scripts_see_no_token(visitor: Visitor, rig: ServeRig) -> None:
    made = json.loads(rig.command("token", "create", "--json", "--user", "ava", "--scope", "read").stdout)

    def refused() -> bool:
        with rig.client() as client:
            return client.get("/v1/session").status_code == 401

    try:
        eventually(refused, "who has no token is refused")
        tab = visitor.tab()
        tab.forgive("401", "403")
        page = tab.open("/people/ava")
        expect(page.locator(".state.token")).to_contain_text("answers only to a token")
        tab.check()
        form = page.locator(".state.token")
        form.get_by_label("Token").fill("sb_" + "x" * 43)
        form.get_by_role("button", name="Sign in").click()
        expect(form.get_by_role("alert").last).to_contain_text("allows nothing")
        page = tab.open("/chat")
        expect(page.locator(".state.token")).to_contain_text("answers only to a token")
        page = tab.open("/people/ava")
        expect(form).to_be_visible()
        # Whoever signs in above has signed in for the page below, too.
        page.get_by_role("banner").get_by_role("button", name="Sign in").click()
        page.locator(".popover").get_by_label("Token").fill(made["token"])
        page.locator(".popover").get_by_role("button", name="Sign in").click()
        expect(page.locator("tbody tr", has_text="blueberries").first).to_be_visible()
        live(tab)
        [cookie] = page.context.cookies()
        assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")
        assert page.evaluate("document.cookie + JSON.stringify(localStorage) + location.href").count("sb_") == 0
        page = tab.open("/people/bea")
        expect(page.locator("main")).to_contain_text("Not allowed")
        page = tab.open("/dead-letters")
        expect(page.locator("main")).to_contain_text("Not allowed")
        page.get_by_role("button", name="Sign out").click()
        expect(page.locator(".state.token")).to_be_visible()
    finally:
        rig.command("token", "revoke", made["token_id"])
        eventually(lambda: not refused(), "nobody needs a token any more")


def test_a_what_if_replay_is_seen_beside_the_live_memory(tab: Tab, rig: ServeRig) -> None:
    close(rig, "ava-breakfast")  # its end is in an open window, and in no fact
    known(rig, "ava", "short sentences")
    given = ("--with", 'SWITCHBOARD_MASK_PATTERNS=["peanuts"]', "--with", "SWITCHBOARD_WINDOW_SIZE=6")
    page = tab.open("/replays")
    expect(page.locator("main")).to_contain_text("switchboard replay start")
    done = rig.command("replay", "start", "b", *given, "--until-caught-up")
    assert done.returncode == 0, done.stderr[-2000:]
    try:
        page.get_by_role("button", name="Look again").click()
        expect(page.get_by_role("row", name="b caught up")).to_contain_text("SWITCHBOARD_WINDOW_SIZE=6")
        tab.check()
        page.get_by_role("link", name="b", exact=True).click()
        facts = page.locator("section.panel", has=page.get_by_role("heading", name="Facts"))
        expect(facts).to_contain_text("different")
        row = facts.locator(".beside tbody tr", has_text="peanuts").first
        expect(row.locator("td").first).to_contain_text("allergic to peanuts")
        expect(row.locator("td").last).not_to_contain_text("peanuts")
        expect(page.get_by_role("heading", name="Summaries")).to_contain_text("equal")
        expect(page.locator("tr", has_text="Paid for them")).to_contain_text("$0.0000")
        turn = page.locator(".beside", has=page.get_by_role("link", name="ava-breakfast"))
        expect(turn.locator("tbody td").first).to_contain_text("peanuts")
        turn.locator("summary", has_text="in both").click()
        expect(turn).to_contain_text("blueberries")
        assert "\u202e" not in page.locator("main").inner_text()
        tab.check()
        told = json.loads(rig.command("replay", "compare", "b", "--json").stdout)
        assert {**asked(rig, "/v1/replays/b"), "compared_at": ""} == {**told, "compared_at": ""}
    finally:
        dropped = rig.command("replay", "drop", "b", "--yes")
    assert dropped.returncode == 0, dropped.stderr
    tab.forgive("404")
    page = tab.open("/replays/b")
    expect(page.locator("main")).to_contain_text("there is no replay b")


def test_by_keyboard_alone_from_page_to_page(tab: Tab) -> None:
    page = tab.open("/")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="To the content")).to_be_focused()
    page.keyboard.press("Enter")
    page.keyboard.type("ga")
    expect(page.locator("summary").first).to_be_visible()
    page.keyboard.press("ArrowDown")
    see_focus(page)
    page.keyboard.press("Enter")
    expect(page.locator("details[open] pre").first).to_contain_text("curl ")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).not_to_be_visible()
    tab.check()
    for path in ("/", "/people/ava", "/search?q=blueberries&user_id=ava", "/conversations/ava-breakfast"):
        tab.open(path)
        for _ in range(25):
            page.keyboard.press("Tab")
            see_focus(page)
