"""What is measured of several processes is the time in which all of them were at work."""

from __future__ import annotations

import pytest

from benchmarks.pipeline.cores import Sample, side_by_side, together


def samples(*records: float) -> list[Sample]:
    """One process, seen once a second, with half a second of CPU time in each."""
    return [Sample(at, done, at / 2) for at, done in enumerate(records)]


def test_start_and_tail_are_left_out() -> None:
    early = samples(0, 100, 200, 300, 400, 400, 400)
    late = samples(0, 0, 0, 100, 200, 300, 400)
    broker = [Sample(at, 0, at / 10) for at in range(7)]
    figures = together([early, late], broker, 800)
    # From second 3, when the late one has begun, to second 4, when the early one has no more to do.
    assert figures["rate"] == 200
    assert figures["cpu_microseconds"] == pytest.approx(1.0 / 200 * 1e6)
    assert figures["broker_cpu_microseconds"] == pytest.approx(0.1 / 200 * 1e6)
    assert figures["share_measured"] == 0.25


@pytest.mark.parametrize("other", [samples(0, 0, 0, 0, 100), samples(0, 0, 0, 0, 0)])
def test_processes_that_were_never_at_work_together_are_no_measurement(other: list[Sample]) -> None:
    with pytest.raises(SystemExit, match="never at work together"):
        together([samples(0, 50, 100, 100, 100), other], samples(0, 0, 0, 0, 0), 200)


def test_ratios_are_taken_round_by_round() -> None:
    rounds = [
        {
            "switchboard": {"rate": 5.0, "cpu_microseconds": 4.0},
            "bare": {"rate": 10.0, "cpu_microseconds": 2.0},
        },
        {"switchboard": {"rate": 2.0, "cpu_microseconds": 8.0}, "bare": {"rate": 4.0, "cpu_microseconds": 4.0}},
        {"switchboard": {"rate": 9.0, "cpu_microseconds": 1.0}, "bare": {"rate": 9.0, "cpu_microseconds": 1.0}},
    ]
    assert side_by_side(rounds)["ratios"] == {"switchboard / bare": 0.5, "switchboard / bare, by CPU": 0.5}
