"""The console in Chromium: how soon it can be used, how soon an event arrives, what thousands of them leave."""

from __future__ import annotations

import asyncio
import shutil
import time
from datetime import UTC, datetime
from typing import Any

from playwright.async_api import Browser, Page, async_playwright

from benchmarks.serving.deployment import PATIENCE, Deployment, percentiles
from models.messages import ChatMessage, Role

CHROMIUM = next(
    (
        path
        for name in ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
        if (path := shutil.which(name))
    ),
    None,
)

_CONVERSATION = "bench-page"
_HEADING = "h1, .state h2"

_LISTEN = """
(url) => new Promise((ready) => {
  window.arrived = {};
  const source = new EventSource(url);
  source.addEventListener("ready", () => ready());
  source.addEventListener("message", (event) => {
    const now = Date.now();
    const found = /probe-(\\d+)/.exec(event.data);
    if (found) window.arrived[found[1]] = now;
  });
})
"""


async def measure(deployment: Deployment, short: bool) -> dict[str, Any]:
    """Return when the page can be used, what an event takes (seconds), and the heap after many (bytes)."""
    opened, probes, events = (2, 20, 500) if short else (10, 200, 10_000)
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM)
        try:
            await deployment.say(_message("first", "The page is opened."))
            usable = [await _usable(browser, deployment) for _ in range(opened + 1)][1:]
            return {
                "usable": percentiles(usable),
                "arrival": percentiles(await _arrivals(browser, deployment, probes)),
                **await _heap(browser, deployment, events),
            }
        finally:
            await browser.close()


def _message(name: str, text: str) -> ChatMessage:
    return ChatMessage(
        message_id=name,
        conversation_id=_CONVERSATION,
        user_id="looker",
        role=Role.USER,
        content=text,
        sent_at=datetime.now(UTC),
    )


async def _usable(browser: Browser, deployment: Deployment) -> float:
    """Open a conversation with nothing in the cache; return when its heading stands (seconds)."""
    context = await browser.new_context()
    try:
        page = await context.new_page()
        began = time.perf_counter()
        await page.goto(f"{deployment.url}/conversations/{_CONVERSATION}", wait_until="commit")
        await page.locator(_HEADING).first.wait_for()
        return time.perf_counter() - began
    finally:
        await context.close()


async def _arrivals(browser: Browser, deployment: Deployment, count: int) -> list[float]:
    """Return how long each message took, from before it was sent to the page's own clock."""
    page = await browser.new_page()
    try:
        await page.goto(f"{deployment.url}/api")
        await page.evaluate(_LISTEN, f"/v1/events?conversation_id={_CONVERSATION}")
        sent = {}
        for number in range(count):
            sent[str(number)] = time.time()
            await deployment.say(_message(f"probe-{number}", f"This is probe-{number}."))
            await asyncio.sleep(0.02)
        await page.wait_for_function(f"Object.keys(window.arrived).length === {count}", timeout=PATIENCE * 1000)
        arrived = await page.evaluate("window.arrived")
        return [max(0.0, at / 1000 - sent[number]) for number, at in arrived.items()]
    finally:
        await page.close()


async def _heap(browser: Browser, deployment: Deployment, count: int) -> dict[str, Any]:
    """Return the heap of a page that saw so many events of its conversation, before and after (bytes)."""
    page = await browser.new_page()
    try:
        await page.goto(f"{deployment.url}/conversations/{_CONVERSATION}")
        await page.locator(_HEADING).first.wait_for()
        before = await _used(page)
        async with deployment.client() as client:
            for first in range(0, count, 500):
                numbers = range(first, min(first + 500, count))
                said = [
                    {"conversation_id": _CONVERSATION, "role": "user", "content": f"Event number {number}."}
                    for number in numbers
                ]
                body = {"messages": said, "user_id": "looker"}
                (await client.post("/v1/messages", json=body)).raise_for_status()
        await page.get_by_text(f"Event number {count - 1}.", exact=False).first.wait_for(
            timeout=PATIENCE * 1000
        )
        return {"events": count, "heap_before_bytes": before, "heap_bytes": await _used(page)}
    finally:
        await page.close()


async def _used(page: Page) -> float:
    session = await page.context.new_cdp_session(page)
    await session.send("HeapProfiler.collectGarbage")
    used: float = (await session.send("Runtime.getHeapUsage"))["usedSize"]
    await session.detach()
    return used
