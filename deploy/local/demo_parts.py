"""The demo's parts: a broker (unless there is one already) and the services, as child processes.

Whatever happens, they end with the demo: in order when it ends in order, at once when it is killed
(:mod:`streams.config.child_process`).
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType, TracebackType
from typing import Self

from deploy.local import called, demo_processes
from deploy.local.demo_model import DemoModel
from deploy.local.kafka import LocalKafka
from deploy.local.ports import LOOPBACK, free_ports, is_free
from models.errors import ConfigurationError, DependencyUnavailable
from streams.admin.topics import admin
from streams.clients.catalog import catalog_for
from streams.config import child_process
from streams.config.settings import Settings, load_settings
from streams.config.settings.services import SERVICES, health_port
from streams.stores.folder_lock import FolderLock

#: What answers people and programs; no service reads a topic as a group of its own there.
SERVE = "serve"

#: What the demo starts, in this order.
STARTED = (*SERVICES, SERVE)

#: What Kafka and the index take for some thousand messages, with room to spare.
NEEDED_BYTES = 500_000_000

_LOG_LINES = 15


class Parts:
    """Everything that the demo starts.  A context manager: leaving it ends all processes.

    Raises :class:`ConfigurationError` (a port is taken, another demo runs, the disk is full) and
    :class:`DependencyUnavailable` (the broker does not start).  ``say`` is told what is being done.
    """

    def __init__(
        self, settings: Settings, kafka_port: int, say: Callable[[str], None], model: str = "builtin"
    ) -> None:
        self._own_broker = "bootstrap_servers" in settings.model_fields_set
        named = "instance_id" in settings.model_fields_set
        self._say = say
        self._workers: dict[str, subprocess.Popen[bytes]] = {}
        self._kafka: LocalKafka | None = None
        self._lock: FolderLock | None = None
        self.kafka_port = kafka_port
        self.metrics_ports = _metrics_ports(settings)
        self.settings = load_settings(
            bootstrap_servers=settings.bootstrap_servers if self._own_broker else f"{LOOPBACK}:{kafka_port}",
            api_port=settings.api_port or free_ports(1)[0],
            # A name of its own: under a host's usual one, its services would take the place of workers that run
            # elsewhere on this broker.
            instance_id=settings.instance_id if named else f"demo-{settings.instance_id}"[:100],
        )
        self.folder = settings.folder
        self.model = DemoModel(model, self.folder / "logs" / "model.log")

    def __enter__(self) -> Self:
        try:
            self._start()
        except BaseException:  # Ctrl-C too: what was started must not stay
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _start(self) -> None:
        self._check_disk()
        self._lock = FolderLock(self.folder, f"Is a demo running there? `{called.down()}` ends it.")
        self._check_ports()
        self._say(f"the console: http://127.0.0.1:{self.settings.api_port}/ as long as this runs")
        if not self._own_broker:
            self._say(f"starting Kafka on {self.settings.bootstrap_servers}")
            self._kafka = LocalKafka(self.folder / "kafka", self.kafka_port)
            self._kafka.start()
        self._write_down()
        catalog = catalog_for(self.settings)
        applied = asyncio.run(admin.apply(catalog, self.settings))
        if blocking := [difference for difference in applied.remaining if difference.blocking]:
            first = blocking[0]
            # The demo's own broker ends with it: nothing can be applied to it from outside.
            anew = f"this folder is of another version; remove it to begin anew: {self.folder}"
            raise ConfigurationError(
                f"{first.topic}: {first.what} is {first.found}, should be {first.expected}: "
                f"{first.advice if self._kafka is None else anew}"
            )
        self._say(f"starting the services {', '.join(SERVICES)}, and serve; {self.model.sentence}")
        self.model.start()
        for service in STARTED:
            self._workers[service] = self._spawn(service)
            self._write_down()

    def _spawn(self, service: str) -> subprocess.Popen[bytes]:
        log = self.log_file(service)
        log.parent.mkdir(parents=True, exist_ok=True)
        environment = os.environ | {
            "SWITCHBOARD_BOOTSTRAP_SERVERS": self.settings.bootstrap_servers,
            "SWITCHBOARD_METRICS_PORT": str(self.metrics_ports[service]),
            "SWITCHBOARD_API_PORT": str(self.settings.api_port),
            "SWITCHBOARD_DATA_DIR": str(self.settings.data_dir),
            "SWITCHBOARD_INSTANCE_ID": self.settings.instance_id,
            **self.model.environment,
        }
        with log.open("wb") as output:
            arguments = [service] if service == SERVE else ["worker", service]
            command = [sys.executable, "-m", "streams.cli", *arguments]
            return child_process.spawn(command, output=output, env=environment, cwd=self.folder)

    def log_file(self, service: str) -> Path:
        """Return where a service logs."""
        return self.folder / "logs" / f"{service}.log"

    def check(self) -> None:
        """Raise :class:`DependencyUnavailable` with the end of its log if a part has ended by itself."""
        if self._kafka is not None and not self._kafka.running:
            self._raise_ended("kafka", self._kafka.log_tail(_LOG_LINES), self._kafka.data_dir)
        for service, process in self._workers.items():
            if process.poll() is not None:
                log = self.log_file(service)
                tail = "\n".join(log.read_text(errors="replace").splitlines()[-_LOG_LINES:])
                self._raise_ended(service, tail, log)

    def _raise_ended(self, name: str, tail: str, where: Path) -> None:
        full = shutil.disk_usage(self.folder).free < NEEDED_BYTES // 10 or "No space left" in tail
        advice = f"\nThe disk is full. {_make_room(self.folder)}" if full else ""
        raise DependencyUnavailable(name, f"it has ended by itself. The end of {where}:\n{tail}{advice}")

    def close(self) -> None:
        """End the services together, then the broker; a second Ctrl-C ends them without waiting."""
        before = {number: signal.signal(number, self._hurry) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            for process in self._workers.values():
                if process.poll() is None:
                    process.terminate()
            for process in self._workers.values():
                child_process.end(process, self.settings.shutdown_timeout_seconds + 5)
            self._workers.clear()
            self.model.close()
            if self._kafka is not None:
                self._kafka.stop()
            if self._lock is not None:
                demo_processes.forget(self.folder)
                self._lock.release()
                self._lock = None
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _hurry(self, number: int, frame: FrameType | None) -> None:
        for process in self._workers.values():
            process.kill()
        if self._kafka is not None and self._kafka.running:
            os.kill(self._kafka.pid, signal.SIGKILL)

    def _write_down(self) -> None:
        processes = {"demo": os.getpid()} | {name: child.pid for name, child in self._workers.items()}
        if self._kafka is not None:
            processes["kafka"] = self._kafka.pid
        if self.model.pid is not None:
            processes["model"] = self.model.pid
        demo_processes.write(self.folder, processes)

    def _check_disk(self) -> None:
        existing = next(path for path in (self.folder, *self.folder.parents) if path.exists())
        free = shutil.disk_usage(existing).free
        if free < NEEDED_BYTES:
            raise ConfigurationError(
                f"{free / 1e6:,.0f} MB are free where {self.folder} lies, and the demo needs "
                f"{NEEDED_BYTES / 1e6:,.0f}. {_make_room(self.folder)}"
            )

    def _check_ports(self) -> None:
        if not self._own_broker and not is_free(self.kafka_port):
            raise ConfigurationError(
                f"port {self.kafka_port} is taken by another process. If that is a Kafka to be used, set "
                f"SWITCHBOARD_BOOTSTRAP_SERVERS={LOOPBACK}:{self.kafka_port}; otherwise stop it, or let the "
                f"demo's Kafka listen elsewhere: {called.demo(kafka_port='19092')}"
            )
        if not is_free(self.settings.api_port):
            raise ConfigurationError(
                f"port {self.settings.api_port}, for the HTTP API, is taken by another process: stop it, or "
                "set SWITCHBOARD_API_PORT to another, or to 0 for any"
            )


def _metrics_ports(settings: Settings) -> dict[str, int]:
    """Return the usual port of each service, or another that is free; who asks finds them by their notes."""
    if settings.metrics_port and "metrics_port" in settings.model_fields_set:
        raise ConfigurationError(
            f"SWITCHBOARD_METRICS_PORT={settings.metrics_port} is one worker's own port, and the demo starts "
            f"{len(STARTED)} of them: leave it out (9464 to 9468, or what is free), or set it to 0 for any"
        )
    others = iter(free_ports(len(STARTED)))
    usual = {service: health_port(settings, service) for service in STARTED}
    return {
        service: port if settings.metrics_port and is_free(port) else next(others)
        for service, port in usual.items()
    }


def _make_room(folder: Path) -> str:
    return f"Free some space there, or set SWITCHBOARD_DATA_DIR to a folder on another disk than {folder}."
