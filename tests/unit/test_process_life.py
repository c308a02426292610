"""What ends a process that hangs."""

from __future__ import annotations

import threading
from contextlib import ExitStack
from types import SimpleNamespace

import pytest

from streams.server.process import life as process_life
from streams.server.process.life import Watchdog
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


def test_a_step_is_not_charged_while_the_process_stood_still(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said: list[str] = []
    ended = threading.Event()
    now, looks = 0.0, threading.Semaphore(0)

    def clock() -> float:
        looks.release()
        return now

    def end_now(reason: str) -> None:
        said.append(reason)
        ended.set()

    def looked() -> None:
        for _ in range(4):  # the first may have begun before, and the last may not have ended
            assert looks.acquire(timeout=60)

    monkeypatch.setattr(process_life, "end_now", end_now)
    monkeypatch.setattr(process_life, "time", SimpleNamespace(monotonic=clock))
    health = HealthState(60.0, lambda: now)
    with health.working("step of facts"):
        watchdog = Watchdog(health, 0.04)
        looked()
        now = 1000.0
        health.beat()
        while looks.acquire(blocking=False):
            pass
        looked()
        assert not said
        now = 1000.5
        health.beat()
        assert ended.wait(60), "what it takes afterwards counts"
        watchdog.close()
    assert said[0] == "its step of facts hangs for 0.04 s"
