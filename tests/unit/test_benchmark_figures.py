"""Figures of benchmarks that are computed from measured ones, and how they are recorded."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import recorded
from benchmarks.pipeline.partitions import modelled


def test_more_brokers_are_modelled_from_one_broker_s_costs() -> None:
    def run(worker: float, broker: float) -> dict[str, float]:
        return {"rate": 1.0, "cpu_microseconds": worker, "broker_cpu_microseconds": broker}

    runs = {1: [run(9, 1)], 8: [run(8, 2), run(6, 2), run(10, 2)], 16: [run(16, 4)], 32: [run(5, 5)]}
    found = modelled(runs, cores=2)
    assert found["measured"]["8"]["cpu_microseconds"] == 8
    assert found["brokers"] == {
        "1": {"messages": 200_000, "replicated": 200_000},  # 2 cores, 10 µs a message
        "2": {"messages": 400_000, "replicated": pytest.approx(4e6 / 12)},
        "4": {"messages": 800_000, "replicated": pytest.approx(8e6 / 14)},  # three copies
    }


def test_parts_that_were_not_measured_stay_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorded, "FILE", tmp_path / "recorded.json")
    recorded.record({"machine": {"cores": 2}, "trivial": {"rates": {"bare": 1.0}}}, load_before=0.5)
    recorded.record({"conversations": {"rates": {"bare": 2.0}, "profile": "long"}}, load_before=1.26)
    found = json.loads((tmp_path / "recorded.json").read_text())
    assert {part: of["figures"] for part, of in found.items()} == {
        "trivial": {"rates": {"bare": 1.0}},
        "conversations": {"rates": {"bare": 2.0}},
    }
    assert [of["measured"]["load_before"] for of in found.values()] == [1.3, 0.5]
    assert {"Python", "Kafka", "aiokafka"} <= found["trivial"]["measured"]["versions"].keys()
