"""What ends a process that hangs."""

from __future__ import annotations

import threading
from contextlib import ExitStack

import pytest

from streams import process_life
from streams.process_life import Watchdog
from streams.telemetry.health import HealthState


@pytest.mark.parametrize("hangs", ["event loop", "step of facts"])
def test_a_process_that_hangs_is_ended(monkeypatch: pytest.MonkeyPatch, hangs: str) -> None:
    said: list[str] = []
    ended = threading.Event()

    def end_now(reason: str) -> None:
        said.append(reason)
        ended.set()

    monkeypatch.setattr(process_life, "end_now", end_now)
    now = 0.0
    health = HealthState(60.0, lambda: now)
    with ExitStack() as working:
        working.enter_context(health.working("step of facts"))
        if hangs == "event loop":
            working.close()
        watchdog = Watchdog(health, 0.04)
        now = 1.0
        if hangs != "event loop":
            health.beat()
        assert ended.wait(60)
        watchdog.close()
    assert said[0] == f"its {hangs} hangs for 0.04 s"
    assert health.longest_silence()[1] == "event loop"
