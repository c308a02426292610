"""What Compose and kustomize make of our files, by their own libraries (a program in Go)."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

_SOURCE = Path(__file__).parent / "composed"
_CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "switchboard"
#: The first build compiles both libraries.
_BUILD_SECONDS = 500


@pytest.fixture(scope="session")
def composed() -> Callable[..., str]:
    """``composed("kustomize", folder)``, ``composed("compose", file, "NAME=value", ...)``: what they print."""
    program = _program()

    def run(*arguments: str | Path) -> str:
        done = subprocess.run(
            [program, *map(str, arguments)], capture_output=True, text=True, timeout=120, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def _program() -> Path:
    sources = b"".join((_SOURCE / name).read_bytes() for name in ("main.go", "go.mod", "go.sum"))
    program = _CACHE / f"composed-{hashlib.sha256(sources).hexdigest()[:16]}"
    _CACHE.mkdir(parents=True, exist_ok=True)
    with (_CACHE / "composed.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # another process of this run may be at it
        if not program.exists():
            _build(program)
    return program


def _build(program: Path) -> None:
    if shutil.which("go") is None:
        _cannot("go is not installed (Debian and Ubuntu: apt-get install golang-go)")
    fresh = program.with_suffix(".new")
    done = subprocess.run(
        ["go", "build", "-o", fresh, "."],
        cwd=_SOURCE,
        env=os.environ | {"GOTOOLCHAIN": "local", "GOFLAGS": "-buildvcs=false"},
        capture_output=True,
        text=True,
        timeout=_BUILD_SECONDS,
        check=False,
    )
    if done.returncode:
        _cannot(f"tests/deploy/composed cannot be built: {done.stderr[-500:]}")
    fresh.replace(program)


def _cannot(why: str) -> None:
    """Skip: that Go or its modules cannot be had here is no fault of the files that are tested."""
    pytest.skip(why)
