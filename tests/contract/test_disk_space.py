"""Checks of the disk's free space: their number, and refusals on a full disk."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from models.errors import DependencyUnavailable
from streams.stores.disk_space import DiskSpace


class Disk:
    """The answers of a disk, counted."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.free: int | None = None
        self.asked = 0
        self._usage = shutil.disk_usage
        monkeypatch.setattr("streams.stores.disk_space.shutil.disk_usage", self.usage)

    def usage(self, folder: Path) -> object:
        self.asked += 1
        usage = self._usage(folder)
        return usage if self.free is None else usage._replace(free=self.free)


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    return Disk(monkeypatch)


def test_an_answer_holds_for_a_second(disk: Disk, tmp_path: Path) -> None:
    now = 100.0
    space = DiskSpace(tmp_path, 1000, lambda: now)
    disk.free = 1000
    space.require()
    disk.free = 999
    now = 100.99
    space.require()
    assert disk.asked == 1
    now = 101.0
    with pytest.raises(DependencyUnavailable, match="to write safely: free some space"):
        space.require()
    assert disk.asked == 2


def test_a_full_disk_is_asked_each_time(disk: Disk, tmp_path: Path) -> None:
    space = DiskSpace(tmp_path, 1000, lambda: 100.0)
    disk.free = 999
    for _ in range(2):
        with pytest.raises(DependencyUnavailable):
            space.require()
    assert disk.asked == 2
    disk.free = 1000
    space.require()
    space.require()
    assert disk.asked == 3


def test_a_copy_needs_room_besides_the_minimum(disk: Disk, tmp_path: Path) -> None:
    space = DiskSpace(tmp_path, 1000, lambda: 100.0)
    disk.free = 1500
    space.require(500)
    with pytest.raises(DependencyUnavailable, match="rewritten without what was erased"):
        space.require(501)
