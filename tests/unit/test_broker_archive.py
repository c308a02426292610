"""What brokers of tests start from: nothing stands in the way of tests, and nothing is left behind."""

from __future__ import annotations

from pathlib import Path

import broker_archive
import pytest


class Broker:
    """One that has written what it read, unless it was killed before."""

    recording: Path

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._process = self

    def start(self) -> None:
        self.folder.mkdir(parents=True)
        (self.folder / "segment").touch()
        self.recording.write_bytes(b"archive")

    def terminate(self) -> None: ...

    def wait(self, seconds: float) -> None: ...


def test_a_folder_that_cannot_be_written_keeps_no_test_from_running(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    broker_archive.begin()


def test_nor_does_a_user_without_a_home(monkeypatch: pytest.MonkeyPatch) -> None:
    def home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", home)
    assert "AOTCache" not in broker_archive.java_options()
    broker_archive.begin()


def test_nor_one_whose_name_would_end_the_option(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "a b"))
    assert "AOTCache" not in broker_archive.java_options()
    broker_archive.begin()
    assert not [*tmp_path.iterdir()]


def test_what_one_that_was_killed_has_left_goes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class Killed(Broker):
        def wait(self, seconds: float) -> None:
            raise SystemExit

    path = tmp_path / "broker.aot"
    monkeypatch.setattr(broker_archive.shutil, "rmtree", lambda *_, **__: None)  # nothing runs any more
    monkeypatch.setenv("JDK_JAVA_OPTIONS", "")
    monkeypatch.setattr(broker_archive, "_Recorded", Killed)
    with pytest.raises(SystemExit):
        broker_archive.make(path)
    monkeypatch.undo()
    left = {each.name for each in tmp_path.iterdir()}
    monkeypatch.setenv("JDK_JAVA_OPTIONS", "")
    monkeypatch.setattr(broker_archive, "_Recorded", Broker)
    broker_archive.make(path)
    assert path.read_bytes() == b"archive"
    assert "broker.making" in left, "it is known where"
    assert {each.name for each in tmp_path.iterdir()} == {"broker.aot", "broker.lock"}
