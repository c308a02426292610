"""What the tests of the console do: open tabs, watch what they complain about, speak into a conversation."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

import msgspec
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Locator, Page, Request, expect
from serve_rig import ServeRig
from waiting import eventually

from models.messages import ChatMessage, Role
from streams.clients import kafka
from streams.clients.partitioner import partition_of

#: A busy machine takes its time; on an idle one all of it is a matter of a second.
PATIENCE_MS = 60_000

expect.set_options(timeout=PATIENCE_MS)

WIDE = {"width": 1280, "height": 860}
NARROW = {"width": 390, "height": 844}

#: Reports what the page's policy forbids, which would otherwise be seen in the console's words only.
_REPORT_VIOLATIONS = """
addEventListener("securitypolicyviolation", (event) => console.error("CSP " + event.violatedDirective));
"""

#: A page is told of its new size with the next frame, and has drawn what follows from it with the one after.
_SETTLED = "new Promise((done) => requestAnimationFrame(() => setTimeout(() => requestAnimationFrame(done))))"


#: How what has the focus is outlined, and what it is.
_FOCUS = """
() => {
  const focused = document.activeElement;
  const { outlineStyle, outlineWidth } = getComputedStyle(focused);
  const named = focused.id || focused.textContent.trim().slice(0, 20);
  return [outlineStyle, outlineWidth, focused.tagName === "BODY" ? "BODY" : `${focused.tagName} ${named}`];
}
"""

#: More things that can have the focus are on no page of the tests.
_MOST_TABS = 200


class Tab:
    """A page, and what went wrong on it."""

    def __init__(self, page: Page, base: str) -> None:
        self.page = page
        self.base = base
        self.wrong: list[str] = []
        self._forgiven: tuple[str, ...] = ()
        page.set_default_timeout(PATIENCE_MS)
        page.add_init_script(_REPORT_VIOLATIONS)
        page.on("console", self._said)
        page.on("pageerror", lambda error: self.wrong.append(f"not caught: {error}"))
        page.on("request", self._asked)

    def _said(self, said: ConsoleMessage) -> None:
        if said.type in ("error", "warning"):
            self.wrong.append(f"{said.text} ({said.location.get('url', '')})")

    def _asked(self, request: Request) -> None:
        if not request.url.startswith((self.base, "data:", "blob:")):
            self.wrong.append(f"asked another host: {request.url}")

    def open(self, path: str) -> Page:
        self.page.goto(self.base + path)
        expect(self.page.locator("h1, .state h2").first).to_be_visible()
        return self.page

    def forgive(self, *texts: str) -> None:
        """Let pass what a test does on purpose: complaints with one of these in them."""
        self._forgiven += texts

    def complaints(self) -> list[str]:
        return [text for text in self.wrong if not any(forgiven in text for forgiven in self._forgiven)]

    def check(self) -> None:
        """Nothing that keeps somebody from using it: in light, in dark, and on a telephone."""
        for scheme, size in (("light", WIDE), ("dark", WIDE), ("light", NARROW)):
            self.page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
            self.page.set_viewport_size(size)  # type: ignore[arg-type]
            self.page.evaluate(_SETTLED)
            violations = Axe().run(self.page).response["violations"]
            assert not violations, (scheme, size, _told(violations))
            beyond = self.page.evaluate("document.documentElement.scrollWidth - innerWidth")
            assert beyond <= 0, f"{self.page.url} scrolls sideways by {beyond} px at {size}"
        self.page.emulate_media(color_scheme="light")
        self.page.set_viewport_size(WIDE)  # type: ignore[arg-type]
        self.page.evaluate(_SETTLED)


def reach(page: Page, wanted: Locator) -> None:
    """Press Tab until something has the focus, and see it at each step."""
    expect(wanted).to_be_visible()
    passed = []
    for _ in range(_MOST_TABS):
        if wanted.evaluate("(each) => each === document.activeElement"):
            return
        page.keyboard.press("Tab")
        passed.append(see_focus(page))
    raise AssertionError(f"no Tab leads there: {passed}")


def see_focus(page: Page) -> str:
    """Return what has the focus; it is drawn so that it is seen."""
    outline, width, what = page.evaluate(_FOCUS)
    assert what == "BODY" or (outline != "none" and width != "0px"), f"the focus is not seen on {what}"
    return str(what)


class Visitor:
    def __init__(self, browser: Browser, base: str) -> None:
        self._context: BrowserContext = browser.new_context(viewport=WIDE)  # type: ignore[arg-type]
        self._base = base
        self._tabs: list[Tab] = []

    def tab(self) -> Tab:
        made = Tab(self._context.new_page(), self._base)
        self._tabs.append(made)
        return made

    def close(self) -> None:
        complaints = [complaint for tab in self._tabs for complaint in tab.complaints()]
        self._context.close()
        assert not complaints, complaints


def _told(violations: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(each["id"], node["html"][:200]) for each in violations for node in each["nodes"]]


def speak(
    rig: ServeRig, conversation: str, user: str, lines: Iterable[tuple[str, str]], first: int = 0
) -> None:
    messages = [
        ChatMessage(
            message_id=f"{conversation}-{number}",
            conversation_id=conversation,
            user_id=user,
            role=Role(role),
            content=content,
            sent_at=datetime.now(UTC),
        )
        for number, (role, content) in enumerate(lines, start=first)
    ]
    publish(rig, conversation.encode(), *map(msgspec.json.encode, messages))


def say(page: Page, text: str, turn: int) -> None:
    """Type, press Enter, and wait until the turn has ended; ``turn``: which of the conversation, from 1."""
    reach(page, page.get_by_label("Say something"))
    page.keyboard.insert_text(text)
    page.keyboard.press("Enter")
    ended(page, turn)


def ended(page: Page, turn: int) -> None:
    """Wait until so many turns of the person are shown, and none is on its way."""
    expect(page.locator("article.turn.user")).to_have_count(turn)
    expect(page.locator("article.turn.assistant[aria-busy=true]")).to_have_count(0)
    expect(page.get_by_role("button", name="Send")).to_be_enabled()


def publish(rig: ServeRig, key: bytes, *values: bytes, headers: Sequence[tuple[str, bytes]] = ()) -> None:
    async def send() -> None:
        spec = rig.catalog.get("chat.messages.v1")
        place = {"key": key, "partition": partition_of(key, spec.partitions), "headers": [*headers]}
        async with kafka.connected(kafka.make_producer(rig.settings, "test"), rig.settings, 30.0) as producer:
            for value in values:
                await producer.send_and_wait(spec.name, value, **place)

    with ThreadPoolExecutor(1) as elsewhere:  # the event loop of this thread is Playwright's
        elsewhere.submit(asyncio.run, send()).result()


def asked(rig: ServeRig, path: str, **wanted: Any) -> Any:
    """Return what the API answers, ``None`` where that is no success."""
    with rig.client() as client:
        answer = client.get(path, params=wanted)
        return answer.json() if answer.is_success else None


def known(rig: ServeRig, user: str, word: str) -> None:
    """Wait until a fact with this word can be looked up: a page that is opened later shows it."""

    def found() -> bool:
        told = asked(rig, "/v1/facts", user_id=user, status="any")
        return told is not None and any(word in each["statement"] for each in told["facts"])

    eventually(found, f"it is known of {user}: {word}")


def kept(rig: ServeRig, user: str, conversation: str, messages: int) -> None:
    """Wait until the log has so many messages, ingest has read them, and what they made due is there."""

    def done() -> bool:
        told = asked(rig, f"/v1/conversations/{conversation}", user_id=user, limit=1)
        if told is None or told["total"] < messages:
            return False
        read = max((each["to_index"] + 1 for each in told["ranges"]), default=0)
        return read >= messages and all(each["state"] != "requested" for each in told["ranges"])

    eventually(done, f"{conversation} is kept")


def close(rig: ServeRig, *conversations: str) -> None:
    """Close the conversations' windows, as their chats do when they are left."""
    done = rig.command("conversations", "close", *conversations)
    assert done.returncode == 0, done.stderr
