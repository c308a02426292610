"""One worker per name on a machine: refused while the holder lives, free as soon as it is dead."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from models.errors import ConfigurationError
from streams.config import name_lock
from streams.config.file_lock import FileLock
from streams.config.settings import Settings, load_settings

_HOLDS = """
import sys
from pathlib import Path
from streams.config.file_lock import FileLock
lock = FileLock(Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def holder_of(path: Path) -> subprocess.Popen[str]:
    """Return a process that holds the lock."""
    child = subprocess.Popen(
        [sys.executable, "-c", _HOLDS, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "held\n"
    return child


def settings(**changes: object) -> Settings:
    return load_settings(**{"instance_id": "here", **changes})


async def test_a_second_of_a_name_learns_who_is_first() -> None:
    child = holder_of(name_lock.lock_file("cluster", settings(), "ingest"))
    with pytest.raises(ConfigurationError) as refused:
        await name_lock.take_name("cluster", settings(), "ingest")
    child.kill()
    child.wait()
    text = str(refused.value)
    assert "ingest-here runs on this machine already" in text
    assert f"process {child.pid}, since 20" in text
    assert " UTC" in text
    assert "SWITCHBOARD_INSTANCE_ID" in text


async def test_a_killed_worker_blocks_nobody() -> None:
    child = holder_of(name_lock.lock_file("cluster", settings(), "ingest"))
    child.send_signal(signal.SIGKILL)
    child.wait()
    lock = await name_lock.take_name("cluster", settings(), "ingest")
    assert lock is not None
    assert str(os.getpid()) in name_lock.lock_file("cluster", settings(), "ingest").read_text()
    lock.release()


async def test_a_worker_that_is_about_to_leave_is_waited_for() -> None:
    child = holder_of(name_lock.lock_file("cluster", settings(), "ingest"))
    assert child.stdin is not None
    child.stdin.close()  # it ends, in its own time
    lock = await name_lock.take_name("cluster", settings(), "ingest")
    assert lock is not None
    lock.release()
    child.wait()


async def test_another_cluster_deployment_service_or_instance_is_another_name() -> None:
    taken = [
        await name_lock.take_name("cluster", settings(), "ingest"),
        await name_lock.take_name("other", settings(), "ingest"),
        await name_lock.take_name("cluster", settings(topic_prefix="t."), "ingest"),
        await name_lock.take_name("cluster", settings(), "memory"),
        await name_lock.take_name("cluster", settings(instance_id="there"), "ingest"),
    ]
    for lock in taken:
        assert lock is not None
        lock.release()


async def test_where_nothing_can_be_locked_kafka_decides(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(folder / "missing"))
    assert await name_lock.take_name("cluster", settings(), "ingest") is None


def test_a_link_that_somebody_left_there_is_not_followed(folder: Path) -> None:
    (folder / "precious").write_text("keep")
    (folder / "lock").symlink_to(folder / "precious")
    with pytest.raises(OSError, match="symbolic links"):
        FileLock(folder / "lock")
    assert (folder / "precious").read_text() == "keep"
