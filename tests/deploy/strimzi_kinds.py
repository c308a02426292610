"""Strimzi's own kinds, read by the classes from which Strimzi makes its schemas (``strimzi/Strimzi.java``).

No package holds the schemas themselves.  The classes are in Maven Central, named and checksummed in
``jars.lock``.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from crds import CannotLoad

from deploy.local.kafka_jars import cache_folder, ensure_jars
from models.errors import DependencyUnavailable

GROUP = "kafka.strimzi.io"

_SOURCE = Path(__file__).parent / "strimzi"
_JAVA = sorted(_SOURCE.rglob("*.java"))
_SECONDS = 120


def problems(objects: Sequence[dict[str, Any]]) -> list[str]:
    """Return what Strimzi does not know, or lacks, in objects.  Raises :class:`CannotLoad`."""
    if not objects:
        return []
    if shutil.which("javac") is None:
        raise CannotLoad("there is no JDK (Debian and Ubuntu: apt-get install default-jdk-headless)")
    try:
        jars = ensure_jars(lock_file=_SOURCE / "jars.lock", name="strimzi")
    except DependencyUnavailable as error:
        raise CannotLoad(str(error)) from error
    reading = ["java", "-cp", f"{_compiled(jars)}{os.pathsep}{jars}/*", "Strimzi"]
    done = _run(reading, json.dumps(objects))
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def _compiled(jars: Path) -> Path:
    sources = b"".join(path.read_bytes() for path in _JAVA)
    classes = cache_folder() / f"strimzi-classes-{hashlib.sha256(sources).hexdigest()[:16]}"
    with (cache_folder() / "strimzi-classes.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # another process of this run may be at it
        if not classes.exists():
            fresh = classes.with_suffix(".new")
            done = _run(["javac", "-d", str(fresh), "-cp", f"{jars}/*", *map(str, _JAVA)])
            if done.returncode:
                raise CannotLoad(f"javac: {done.stderr[-500:]}")  # an older one
            fresh.replace(classes)
    return classes


def _run(command: Sequence[str], given: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, input=given, capture_output=True, text=True, timeout=_SECONDS, check=False)
