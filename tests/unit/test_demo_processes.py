"""Which processes are ours: by id and by the time at which they began, so that a stranger is never ended."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from deploy.local import demo_processes, down


@pytest.fixture
def sleeper() -> subprocess.Popen[bytes]:
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    yield child
    child.kill()
    child.wait()


def test_another_process_with_the_same_id_is_left_alone(
    tmp_path: Path, sleeper: subprocess.Popen[bytes]
) -> None:
    stranger = demo_processes.Started("ingest", sleeper.pid, "1")
    assert not stranger.runs
    demo_processes.end(stranger, grace=0)
    assert sleeper.poll() is None


def test_down_ends_exactly_what_was_written_down(tmp_path: Path, sleeper: subprocess.Popen[bytes]) -> None:
    bystander = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    try:
        demo_processes.write(tmp_path, {"ingest": sleeper.pid})
        assert down.down(tmp_path) == ["ingest"]
        assert sleeper.wait(timeout=60) == -signal.SIGTERM
        assert bystander.poll() is None
        assert down.down(tmp_path) == []
    finally:
        bystander.kill()
        bystander.wait()
