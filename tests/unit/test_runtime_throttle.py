"""The throttle: batches are small, and pass at the rate that is set."""

from __future__ import annotations

from streams.runtime.throttle import Throttle


def test_batches_pass_one_after_the_other_at_the_rate() -> None:
    now = 100.0
    throttle = Throttle(50.0, ["messages"], lambda: now)
    assert [throttle.wait("messages", 25) for _ in range(3)] == [0.0, 0.5, 1.0]
    now = 110.0
    assert throttle.wait("messages", 25) == 0.0, "time in which nothing came is not saved up"
    assert throttle.wait("messages", 25) == 0.5


def test_batches_are_cut_so_that_no_lane_waits_long() -> None:
    throttle = Throttle(80.0, ["messages"])
    assert throttle.most("messages", 4000) == 10
    assert throttle.most("messages", 4) == 4
    assert Throttle(0.5, ["messages"]).most("messages", 4000) == 1


def test_other_topics_and_no_rate_are_not_held_up() -> None:
    for throttle in (Throttle(0.001, ["messages"]), Throttle(0.0, ["windows"])):
        assert [throttle.wait("windows", 1000) for _ in range(3)] == [0.0] * 3
        assert throttle.most("windows", 4000) == 4000
