"""Children end with their parent, whenever that is interrupted; a stranger with the same id is never ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from deploy.local import demo_processes, down
from streams.config import child_process


@pytest.fixture
def ctrl_c() -> Iterator[None]:
    """Who runs the tests may have started them with this signal ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def _waits(thread: threading.Thread) -> bool:
    """Whether it waits for what another does."""
    frame: FrameType | None = sys._current_frames()[thread.ident or 0]
    while frame is not None and frame.f_code is not Future.result.__code__:
        frame = frame.f_back
    return frame is not None


def test_a_child_that_starts_during_ctrl_c_is_ended(ctrl_c: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody was told of it: it would stay until the end of this process, and be found by whoever looks."""
    started: list[subprocess.Popen[bytes]] = []

    class Interrupted(subprocess.Popen[bytes]):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            started.append(self)
            while not _waits(threading.main_thread()):
                time.sleep(0.001)
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    monkeypatch.setattr(subprocess, "Popen", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        child_process.spawn(["sleep", "600"])
    (child,) = started
    assert child.returncode is not None


def test_who_sees_a_process_end_finds_none_of_its_children() -> None:
    """A child that holds a pipe holds it until it is gone."""
    program = (
        "import sys\n"
        "from streams.config import child_process\n"
        "child = child_process.spawn(['sleep', '600'])\n"
        "print(child.pid, flush=True)\n"
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    with pytest.raises(ProcessLookupError):
        os.kill(int(done.stdout), 0)


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
