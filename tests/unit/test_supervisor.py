"""The supervisor, with real processes: what dies comes back, one signal ends all, nothing is left behind."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from waiting import eventually, is_alive

from streams.config import child_process

SUPERVISED = Path(__file__).with_name("supervised.py")
ROOT = Path(__file__).parents[2]
PATIENCE = 60.0


class Supervised:
    """A running supervisor and what is known of its children."""

    def __init__(self, folder: Path, *children: str, wrapper: tuple[str, ...] = (), **settings: object) -> None:
        self.folder = folder
        self.names = [child.split("=")[0] for child in children]
        waits = {"retry_min_seconds": 0.01, "retry_max_seconds": 0.05} | settings
        environment = {name: text for name, text in os.environ.items() if not name.startswith("SWITCHBOARD_")}
        environment |= {f"SWITCHBOARD_{name.upper()}": str(value) for name, value in waits.items()}
        environment["PYTHONPATH"] = str(ROOT)
        command = [*wrapper, sys.executable, str(SUPERVISED), str(folder), *children]
        with (folder / "log").open("wb") as log:
            self.process = child_process.spawn(command, output=log, env=environment)

    def pid(self, name: str) -> int:
        """The pid of the child's present life, once it listens to signals."""
        file = self.folder / f"{name}.pid"
        eventually(lambda: file.exists() and is_alive(int(file.read_text())), f"{name} runs")
        return int(file.read_text())

    def pids(self) -> list[int]:
        return [self.pid(name) for name in self.names]

    def lives(self, name: str) -> int:
        file = self.folder / f"{name}.lives"
        return file.stat().st_size if file.exists() else 0

    def says(self, event: str) -> list[dict[str, object]]:
        whole, _, _ = (self.folder / "log").read_text().rpartition("\n")
        lines = map(json.loads, whole.splitlines())
        return [line for line in lines if event in line["event"]]

    def ends(self) -> int:
        return self.process.wait(PATIENCE)


@pytest.fixture
def supervise(tmp_path: Path) -> Iterator[Callable[..., Supervised]]:
    started: list[Supervised] = []
    # Under nohup these tests would pass that on: SIGHUP is then ignored on purpose.
    inherited = signal.signal(signal.SIGHUP, signal.SIG_DFL)

    def start(*children: str, **options: object) -> Supervised:
        started.append(Supervised(tmp_path, *children, **options))  # type: ignore[arg-type]
        return started[-1]

    yield start
    signal.signal(signal.SIGHUP, inherited)
    for supervised in started:
        child_process.end(supervised.process, 0.0)


def test_a_killed_process_returns_unnoticed_by_others(supervise) -> None:
    supervised = supervise("a=stop", "b=stop")
    first, other = supervised.pids()
    for _ in range(2):
        os.kill(first, signal.SIGKILL)
        eventually(lambda gone=first: supervised.pid("a") != gone, "a is started again")
        first = supervised.pid("a")
    assert supervised.pid("b") == other
    assert [line["instance"] for line in supervised.says("ended by itself")] == ["a", "a"]
    assert supervised.says("ended by itself")[0]["how"] == "killed by SIGKILL"


def test_all_restart_with_another_priority_and_that_is_no_failure(supervise) -> None:
    supervised = supervise("a=stop", "b=stop")
    first = supervised.pids()
    assert [os.getpriority(os.PRIO_PROCESS, pid) for pid in first] == [19, 19]
    supervised.process.send_signal(signal.SIGUSR1)
    eventually(lambda: not any(map(is_alive, first)), "both have ended")
    assert [os.getpriority(os.PRIO_PROCESS, pid) for pid in supervised.pids()] == [0, 0]
    assert not supervised.says("ended by itself")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_one_signal_stops_all_cleanly(supervise, number: signal.Signals) -> None:
    supervised = supervise("a=stop", "b=stop", "c=stop")
    pids = supervised.pids()
    supervised.process.send_signal(number)
    assert supervised.ends() == 0
    assert not any(map(is_alive, pids))
    assert not supervised.says("ended by itself")


def test_under_nohup_a_terminal_that_closes_stops_nothing(supervise) -> None:
    supervised = supervise("a=stop", wrapper=("nohup",))
    pid = supervised.pid("a")
    supervised.process.send_signal(signal.SIGHUP)
    supervised.process.send_signal(signal.SIGTERM)
    assert supervised.ends() == 0
    assert not is_alive(pid)
    assert [line["because"] for line in supervised.says("stopping all")] == ["SIGTERM"]


def test_what_does_not_stop_in_time_is_killed(supervise) -> None:
    supervised = supervise("a=ignore", shutdown_timeout_seconds=0.2, commit_interval_seconds=0.1)
    pid = supervised.pid("a")
    supervised.process.terminate()
    assert supervised.ends() == 70
    assert not is_alive(pid)
    assert supervised.says("killing")[0]["because"] == "they did not stop in time"


def test_a_wrong_setting_stops_all_and_is_not_tried_again(supervise) -> None:
    supervised = supervise("a=78", "b=stop")
    assert supervised.ends() == 78
    assert supervised.lives("a") == 1
    assert supervised.says("cannot run")[0]["instance"] == "a"
    assert not (supervised.folder / "b.pid").exists() or not is_alive(
        int((supervised.folder / "b.pid").read_text())
    )


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux kills the children of what was killed")
def test_a_killed_supervisor_leaves_no_process(supervise) -> None:
    supervised = supervise("a=stop", "b=ignore")
    pids = supervised.pids()
    supervised.process.kill()
    supervised.ends()
    eventually(lambda: not any(map(is_alive, pids)), "the kernel has killed the children")
