"""Which processes are ours: by id and by the time at which they began, so that a stranger is never ended."""

from __future__ import annotations

import os
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


def test_what_was_written_down_is_read_back_and_runs(tmp_path: Path, sleeper: subprocess.Popen[bytes]) -> None:
    demo_processes.write(tmp_path, {"demo": os.getpid(), "ingest": sleeper.pid})
    started = demo_processes.read(tmp_path)
    assert [(process.name, process.pid) for process in started] == [
        ("demo", os.getpid()),
        ("ingest", sleeper.pid),
    ]
    assert all(process.runs for process in started)
    demo_processes.forget(tmp_path)
    assert demo_processes.read(tmp_path) == []


def test_a_process_that_has_ended_does_not_run_even_before_it_is_waited_for(
    tmp_path: Path, sleeper: subprocess.Popen[bytes]
) -> None:
    demo_processes.write(tmp_path, {"ingest": sleeper.pid})
    (process,) = demo_processes.read(tmp_path)
    sleeper.kill()
    os.waitid(os.P_PID, sleeper.pid, os.WEXITED | os.WNOWAIT)
    assert not process.runs


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


def test_a_process_that_ignores_the_request_is_killed() -> None:
    ignore = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN)"
    script = f"{ignore}; print(1, flush=True); time.sleep(600)"
    stubborn = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE)
    assert stubborn.stdout is not None
    with stubborn.stdout as output:
        output.readline()
    process = demo_processes.Started("memory", stubborn.pid, demo_processes.began(stubborn.pid))
    demo_processes.end(process, grace=0.2)
    assert stubborn.wait(timeout=60) == -signal.SIGKILL
