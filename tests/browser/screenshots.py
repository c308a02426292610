"""``make screenshots``: the console on the conversations of ``examples``, as pictures in ``docs/images``.

No test by its name: it is run when the pictures are to be made anew, and refuses those that are too large.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from looking import Tab, close
from playwright.sync_api import expect
from serve_rig import ServeRig

from deploy.local.demo_input import input_files, read_messages
from deploy.local.demo_send import send_messages

pytestmark = [pytest.mark.kafka, pytest.mark.browser]

FOLDER = Path(__file__).parents[2] / "docs" / "images"

MOST_BYTES = 200 * 1024

#: Name of the picture -> address, what must be there before it is taken, and whether it is dark.
PICTURES = {
    "conversation": ("/conversations/amara-breakfast", ".factline", False),
    "flow": ("/", "svg.flow .name", False),
    "person": ("/people/amara?status=any", "tbody tr", True),
    "timeline": ("/people/amara?tab=timeline&clock=true", "svg.timeline .span", False),
    "fact": ("", "blockquote", False),
    "search": ("/search?q=what+does+she+have+for+breakfast&user_id=amara", ".results li", False),
}


def test_take(tab: Tab, rig: ServeRig) -> None:
    rig.need("respond")
    lines = read_messages(input_files(""), rig.settings)
    with ThreadPoolExecutor(1) as elsewhere:  # the event loop of this thread is Playwright's
        sending = send_messages(rig.settings, rig.catalog, lines, lambda _: None)
        elsewhere.submit(asyncio.run, sending).result()
    close(rig, *{line.message.conversation_id for line in lines if line.message.user_id == "amara"})
    FOLDER.mkdir(parents=True, exist_ok=True)
    page = tab.open("/people/amara")
    expect(page.locator("tbody tr").nth(8)).to_be_visible()
    fact = page.locator("tbody a").first.get_attribute("href") or ""
    page.set_viewport_size({"width": 1160, "height": 700})
    for name, (path, wanted, dark) in PICTURES.items():
        page.emulate_media(color_scheme="dark" if dark else "light", reduced_motion="reduce")
        tab.open(path or fact)
        expect(page.locator(wanted).first).to_be_visible()
        expect(page.locator(".loading")).to_have_count(0)
        if page.locator(".livemark").count():
            expect(page.locator(".livemark")).to_have_text("live")
        picture = page.screenshot(path=FOLDER / f"console-{name}.png")
        assert len(picture) <= MOST_BYTES, f"{name}: {len(picture):,} bytes"
