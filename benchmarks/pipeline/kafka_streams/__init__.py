"""Contender: Kafka Streams.  ``Windows.java`` is compiled once in a run, with the machine's JDK."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from deploy.local.java import MINIMUM_VERSION
from deploy.local.kafka_jars import ensure_jars

_HERE = Path(__file__).parent

#: Said where the contender cannot take part.
WITHOUT_JDK = (
    f"Kafka Streams is left out: to compile it takes a JDK {MINIMUM_VERSION} or newer, "
    "and no javac of one is in JAVA_HOME or on PATH"
)

#: What the JVM of each process is given, besides the caches of RocksDB outside its heap.
_HEAP = "-Xmx1g"


def find_javac() -> Path | None:
    """Return the compiler of a JDK, or ``None``: the wheel that brings the broker its Java has none."""
    home = os.environ.get("JAVA_HOME")
    found = shutil.which("javac", path=f"{home}/bin") if home else None
    found = found or shutil.which("javac")
    return Path(found).resolve() if found and _is_new_enough(found) else None


def _is_new_enough(javac: str) -> bool:
    answer = subprocess.run([javac, "-version"], capture_output=True, text=True, timeout=60, check=False)
    version = answer.stdout.removeprefix("javac ").partition(".")[0].strip()
    return version.isdecimal() and int(version) >= MINIMUM_VERSION


def compile_contender(javac: Path, folder: Path) -> list[str]:
    """Compile into ``folder`` and return the command that runs it, to which servers, source, target, count and
    the folder of its state are added.

    Raises DependencyUnavailable when the jars cannot be had.
    """
    jars = f"{ensure_jars()}/*:{ensure_jars(lock_file=_HERE / 'jars.lock')}/*"
    done = subprocess.run(
        [javac, "-cp", jars, "-d", folder, _HERE / "Windows.java"],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"Windows.java does not compile:\n{done.stderr}")
    return [str(javac.with_name("java")), _HEAP, "-cp", f"{folder}:{jars}", "Windows"]
