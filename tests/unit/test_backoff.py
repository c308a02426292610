"""Waits between attempts."""

from __future__ import annotations

from streams.config.backoff import backoff


def test_the_wait_grows_to_its_limit_and_is_jittered() -> None:
    for attempt, ceiling in [(1, 0.4), (2, 0.8), (7, 25.6), (8, 30.0), (9, 30.0), (10_000, 30.0)]:
        waits = [backoff(attempt, 0.2, 30.0) for _ in range(100)]
        assert ceiling / 2 <= min(waits) < max(waits) <= ceiling
