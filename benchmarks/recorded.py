"""Recorded figures: the latest of each part, with the machine, the day and the versions, in ``recorded.json``.

``python -m benchmarks --only PART --record`` writes them, and :mod:`.plots` draws from them.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.pipeline import kafka_streams
from deploy.local.kafka_jars import KAFKA_VERSION

FILE = Path(__file__).with_name("recorded.json")

_LIBRARIES = ("aiokafka", "faust-streaming", "quixstreams")
#: What a part measures beside its figures is for who ran it.
_NOT_RECORDED = frozenset({"profile"})


def read() -> dict[str, Any]:
    """Return ``{part: {"figures": ..., "measured": ...}}``."""
    recorded: dict[str, Any] = json.loads(FILE.read_text())
    return recorded


def record(figures: dict[str, Any], load_before: float) -> None:
    """Write the figures of the parts that were measured over their older ones."""
    measured = circumstances(load_before)
    recorded = read() if FILE.exists() else {}
    for part, of in figures.items():
        if part != "machine":
            kept = {name: figure for name, figure in of.items() if name not in _NOT_RECORDED}
            recorded[part] = {"figures": kept, "measured": measured}
    FILE.write_text(json.dumps(recorded, indent=1, sort_keys=True) + "\n")


def circumstances(load_before: float) -> dict[str, Any]:
    """Return where, when and with what something was measured."""
    return {
        "date": time.strftime("%Y-%m-%d"),
        "commit": _first_line("git", "rev-parse", "--short", "HEAD"),
        "machine": f"{_processor()}, {os.cpu_count()} cores, {_memory_gigabytes()} GB",
        "load_before": round(load_before, 1),
        "versions": {
            "Python": platform.python_version(),
            "Kafka": KAFKA_VERSION,
            **{name: version(name) for name in _LIBRARIES},
            **_java(),
        },
    }


def _java() -> dict[str, str]:
    javac = kafka_streams.find_javac()
    return {"Kafka Streams": KAFKA_VERSION, "JDK": _first_line(str(javac), "-version")[6:]} if javac else {}


def _first_line(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    return done.stdout.partition("\n")[0].strip()


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.machine())


def _memory_gigabytes() -> int:
    return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30)
