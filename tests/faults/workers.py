"""Worker processes: started as an operator starts them, hurt as the world hurts them."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from streams.config import child_process

MISBEHAVING = Path(__file__).with_name("misbehaving.py")

#: For conditions that come about in a second or two on an idle machine, and in a minute where much else runs.
PATIENCE = 300.0
_POLL = 0.05


async def eventually(condition, what: str, timeout: float = PATIENCE, poll: float = _POLL):
    """Return ``condition()`` (or what it awaits to) once it is true; fail with ``what`` after ``timeout`` s."""
    deadline = time.monotonic() + timeout
    while True:
        result = condition()
        if asyncio.iscoroutine(result):
            result = await result
        if result:
            return result
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {timeout:g} s: {what}")
        await asyncio.sleep(poll)


class Worker:
    """One worker process.  ``log`` collects what it writes, over all its lives."""

    def __init__(
        self, command: list[str], settings: Mapping[str, object], log: Path, host: Path | None = None
    ) -> None:
        """``host``: a folder for temporary files of its own, where no lock of another worker lies."""
        self._command = command
        self._env = _environment(settings) | ({} if host is None else {"TMPDIR": str(host)})
        self.log = log
        self._life_starts_at = 0
        self._process = self._spawned()

    def start(self) -> None:
        assert not self.running, "it still runs"
        self._process = self._spawned()

    def _spawned(self) -> subprocess.Popen[bytes]:
        with self.log.open("ab") as output:
            self._life_starts_at = output.tell()
            return child_process.spawn(self._command, output=output, env=self._env)

    @property
    def running(self) -> bool:
        return self._process.poll() is None

    @property
    def pid(self) -> int:
        return self._process.pid

    def signal(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def freeze(self) -> None:
        self.signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self.signal(signal.SIGCONT)

    def end(self) -> None:
        if self.running:
            child_process.end(self._process, 0.0)

    async def exits(self, timeout: float = PATIENCE) -> int:
        await eventually(lambda: not self.running, f"the end of {self.log.stem}", timeout)
        return self._process.returncode

    async def stops(self) -> int:
        """SIGTERM; return the exit code, which is 0 only if it was done in ``shutdown_timeout_seconds``."""
        self.signal(signal.SIGTERM)
        return await self.exits()

    def events(self) -> list[dict]:
        """What the process has logged in this life; lines that are not JSON as ``{"event": line}``."""
        with self.log.open("rb") as lines:
            lines.seek(self._life_starts_at)
            whole, _, _ = lines.read().decode(errors="replace").rpartition("\n")
        found = []
        for line in whole.splitlines():
            try:
                found.append(json.loads(line))
            except ValueError:
                found.append({"event": line})
        return found

    def says(self, event: str) -> list[dict]:
        """The log lines of this life whose event contains ``event``."""
        return [line for line in self.events() if event in str(line.get("event"))]

    async def logs(self, event: str, timeout: float = PATIENCE) -> dict:
        [line, *_] = await eventually(lambda: self.says(event), f"{self.log.stem} logs {event!r}", timeout)
        return line

    async def ready(self, timeout: float = PATIENCE) -> None:
        def is_ready() -> bool:
            assert self.running, f"{self.log.stem} has ended with {self._process.returncode}"
            return bool(self.says("starting")) and self.get("/readyz")[0] == 200

        await eventually(is_ready, f"{self.log.stem} is ready", timeout)

    def why_not_ready(self) -> list[str]:
        return json.loads(self.get("/readyz")[1])["reasons"]

    async def health(self) -> tuple[int, dict]:
        await self._port()
        status, body = self.get("/healthz")
        return status, json.loads(body)

    async def metric(self, name: str, **labels: str) -> float:
        """Return the sum of a metric's samples with these labels; 0 when there is none."""
        await self._port()
        _, text = self.get("/metrics")
        return sum(
            sample.value
            for family in text_string_to_metric_families(text)
            for sample in family.samples
            if sample.name == f"switchboard_{name}" and labels.items() <= sample.labels.items()
        )

    async def _port(self) -> int:
        return (await self.logs("starting"))["metrics_port"]

    def get(self, path: str, port: int | None = None) -> tuple[int, str]:
        """Ask the process (or, of several, the one on ``port``); status 0 when nothing answers."""
        port = port or self.says("starting")[0]["metrics_port"]
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=30) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as refusal:
            return refusal.code, refusal.read().decode()
        except OSError:
            return 0, ""


def process_is_alive(pid: int) -> bool:
    """Whether the process runs; one that nobody has waited for yet (a zombie) does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):  # the latter if it goes between opening and reading
        return False


def worker_command(service: str) -> list[str]:
    """``switchboard worker``, as it is installed."""
    return [sys.executable, "-c", "from streams.cli.main import main; main()", "worker", service]


def misbehaving_command(how: str, control: Path) -> list[str]:
    """The ingest service whose stage misbehaves while a file lies in the folder ``control``."""
    return [sys.executable, str(MISBEHAVING), how, str(control)]


def _environment(settings: Mapping[str, object]) -> dict[str, str]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("SWITCHBOARD_")}
    return inherited | {f"SWITCHBOARD_{name.upper()}": str(value) for name, value in settings.items()}


@contextlib.contextmanager
def switch(control: Path, name: str):
    """Put a file into the folder ``control`` for as long as the block lasts."""
    file = control / name
    file.touch()
    try:
        yield
    finally:
        file.unlink(missing_ok=True)
