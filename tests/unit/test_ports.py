"""Ports that are given away."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from deploy.local import ports


class InOrder:
    """The same every time: what chance does once in ten thousand times."""

    def sample(self, population: Sequence[int], k: int) -> list[int]:
        return list(population)[:k]


@pytest.fixture
def notes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(random, "SystemRandom", InOrder)
    monkeypatch.setattr(ports, "is_free", lambda port: True)
    return tmp_path


def test_nobody_is_given_a_port_that_somebody_else_is_about_to_use(notes: Path) -> None:
    assert not set(ports.free_ports(3)) & set(ports.free_ports(3))


def test_what_was_given_long_ago_or_cannot_be_read_is_given_again(
    notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = ports.free_ports(2)
    (note,) = notes.iterdir()
    with note.open("ab") as file:
        file.write(b"\xff 200\n200")
    monkeypatch.setattr(ports, "_PROMISED_SECONDS", 0.0)
    assert ports.free_ports(2) == first


def test_where_nothing_can_be_noted_a_free_port_is_given_all_the_same(
    notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No folder for temporary files is writable, or there is none any more: no reason not to start."""
    monkeypatch.setattr(tempfile, "tempdir", str(notes / "gone"))
    assert len(set(ports.free_ports(3))) == 3
