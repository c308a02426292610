"""Chromium, and one deployment whose console it looks at: a real broker, real services, a real serve."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

sys.path.insert(0, str(Path(__file__).parents[1] / "integration"))

from looking import Tab, Visitor, known, speak
from serve_rig import ServeRig

from deploy.local.kafka import LocalKafka

_NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="module")
def chromium() -> str:
    """Where the distribution has it; without one the tests are skipped, in CI they fail."""
    found = next((path for name in _NAMES if (path := shutil.which(name))), None)
    if found is None:
        why = f"no Chromium on PATH (one of {', '.join(_NAMES)}): apt-get install chromium-headless-shell"
        if os.environ.get("CI") == "true":
            pytest.fail(why)
        pytest.skip(why)
    return found


@pytest.fixture(scope="module")
def browser(chromium: str, rig: ServeRig) -> Iterator[Browser]:
    """Chromium.  Started last: while Playwright runs, its event loop is this thread's, and no other may be."""
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=chromium)
        yield running
        running.close()


@pytest.fixture(scope="module")
def rig(chromium: str, kafka: LocalKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServeRig]:
    """Everything but ``respond`` runs, and a conversation was had, of which the facts are known."""
    made = ServeRig(kafka.bootstrap_servers, tmp_path_factory.mktemp("console"))
    try:
        made.need("ingest", "memory", "recall")
        speak(made, "ava-breakfast", "ava", BREAKFAST)
        known(made, "ava", "blueberries")
        yield made
    finally:
        made.close()


@pytest.fixture
def visitor(browser: Browser, rig: ServeRig) -> Iterator[Visitor]:
    """Opens tabs; at the end none of them may have complained, or asked another host."""
    made = Visitor(browser, rig.url)
    yield made
    made.close()


@pytest.fixture
def tab(visitor: Visitor) -> Tab:
    return visitor.tab()


BREAKFAST = (
    ("user", "You know what I like for breakfast?"),
    ("assistant", "Tell me: what do you love for breakfast?"),
    ("user", "I love blueberries for breakfast."),
    ("assistant", "Fresh or frozen?"),
    ("user", "I live in Lisbon and I am allergic to peanuts."),
    ("assistant", "Good to know."),
    ("user", "My sister is called Inês."),
    ("assistant", "What does she like?"),
    ("user", "<img src=x onerror=\"document.title='owned'\"> \u202eshe eats everything"),
    ("assistant", "Then we are done."),
    ("user", "Please always answer in short sentences."),
    ("assistant", "javascript:document.title='owned'"),
)
