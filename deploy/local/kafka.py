"""One real Apache Kafka node on this machine, without Docker and without an installed Java.

``python -m deploy.local.kafka --port 9092 --data-dir data/kafka`` runs it in the foreground.  In code::

    with LocalKafka(folder) as kafka:
        client = AIOKafkaProducer(bootstrap_servers=kafka.bootstrap_servers)
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import fcntl
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from deploy.local import called
from deploy.local.java import find_java
from deploy.local.kafka_config import logging_configuration, server_properties
from deploy.local.kafka_health import advice, answers, tail
from deploy.local.kafka_jars import KAFKA_VERSION, ensure_jars
from deploy.local.kafka_security import Security
from deploy.local.ports import LOOPBACK, free_ports, is_free
from models.errors import ConfigurationError, DependencyUnavailable, SwitchboardError
from streams.config import child_process
from streams.config.settings import Settings, load_settings

START_TIMEOUT = 90.0  # seconds; a start takes 3 to 5 on two cores, and ten times that where much else runs
_STOP_GRACE = 15.0  # seconds between SIGTERM and SIGKILL


class LocalKafka:
    """A Kafka node whose data lives under ``data_dir``: a child process that never outlives this one.

    ``port`` 0 picks a free one, which stays the same from then on.  ``heap`` is Java's notation ("384m").
    ``overrides`` are broker settings that win over deploy.local.kafka_config.  ``security``: TLS, users and
    rights; without it, everybody may do everything.  ``lasting``: Java compiles for the most throughput, which
    takes five seconds of CPU before it pays.

    Raises ConfigurationError (port taken, no Java) and DependencyUnavailable (it did not start; the message
    ends with the log).  Not for use by several threads at once.
    """

    def __init__(
        self,
        data_dir: Path | str,
        port: int = 0,
        heap: str = "384m",
        overrides: Mapping[str, str] | None = None,
        security: Security | None = None,
        lasting: bool = False,
    ) -> None:
        self.data_dir = Path(data_dir).resolve()
        self.port = port
        self.heap = heap
        self.security = security
        self.lasting = lasting
        self._overrides = dict(overrides or {})
        self._process: subprocess.Popen[bytes] | None = None
        self._claim: IO[str] | None = None
        self._log_file = self.data_dir / "kafka.log"
        self._output_file = self.data_dir / "java.out"

    @property
    def bootstrap_servers(self) -> str:
        """``host:port`` for clients.  With ``port`` 0: known once started."""
        return f"{LOOPBACK}:{self.port}"

    @property
    def settings(self) -> Settings:
        """Settings with which clients come in, as the user who may do everything if there are users."""
        access = self.security.client() if self.security is not None else {}
        return load_settings(bootstrap_servers=self.bootstrap_servers, **access)

    @property
    def pid(self) -> int:
        """Process id of the running node.  Raises DependencyUnavailable when it does not run."""
        if self._process is None or self._process.poll() is not None:
            raise DependencyUnavailable("kafka", "it does not run: call start() first")
        return self._process.pid

    @property
    def running(self) -> bool:
        """True if the process exists (also while paused)."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Start the node and wait until it answers clients.  Does nothing if it runs already."""
        if self.running:
            return
        java, jars = find_java(), ensure_jars()
        deadline = time.monotonic() + START_TIMEOUT
        for attempts_left in (2, 1, 0):
            try:
                self._start_once(java, jars, deadline)
                return
            except DependencyUnavailable as error:
                # Another process may take a port between its choice and its use.
                if attempts_left == 0 or "Address already in use" not in str(error):
                    raise

    def stop(self) -> None:
        """Shut down in order.  Does nothing if it does not run."""
        if self._process is not None:
            child_process.end(self._process, _STOP_GRACE)
        self._release_folder()

    def kill(self) -> None:
        """SIGKILL: what a crash does."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        self._release_folder()

    def restart(self) -> None:
        """Stop (if it runs) and start again: same ports, same data."""
        self.stop()
        self.start()

    def pause(self) -> None:
        """Freeze the process (SIGSTOP): connections stay open and nothing answers."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Undo ``pause``."""
        self._signal(signal.SIGCONT)

    def log_tail(self, lines: int = 30) -> str:
        """The end of what Java printed and of the node's log, without stack frames."""
        return tail((self._output_file, self._log_file), lines)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _signal(self, number: signal.Signals) -> None:
        os.kill(self.pid, number)

    def _start_once(self, java: Path, jars: Path, deadline: float) -> None:
        asked_for = self.port
        self._claim_folder()
        try:
            self.port, controller_port = self._settle_ports(asked_for)
            self._launch(java, jars, controller_port)
            self._wait_until_it_answers(deadline)
        except BaseException:  # Ctrl-C too: no broker may stay
            self.kill()
            self.port = asked_for
            raise

    def _claim_folder(self) -> None:
        """Kafka has a lock too, but looks at it only after it has touched the metadata of the other one."""
        try:
            self.data_dir.mkdir(parents=True, exist_ok=True)
            self._claim = (self.data_dir / "claim").open("w")
            fcntl.flock(self._claim, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._release_folder()
            raise ConfigurationError(
                f"another Kafka runs on the folder {self.data_dir}: stop that one, or give another folder"
            ) from None
        except OSError as error:
            self._release_folder()
            raise self._unwritable(error) from error

    def _release_folder(self) -> None:
        if self._claim is not None:
            self._claim.close()
            self._claim = None

    def _unwritable(self, error: OSError) -> ConfigurationError:
        return ConfigurationError(f"Kafka's folder {self.data_dir} cannot be written: {error.strerror}")

    def _settle_ports(self, port: int) -> tuple[int, int]:
        """For clients, and for the controller: nobody outside knows that one, so it is a new one every time."""
        if port == 0:
            chosen, controller_port = free_ports(2)
            return chosen, controller_port
        if not is_free(port):
            raise ConfigurationError(
                f"port {port} is in use by another process: stop that one (`{called.down()}` stops what the "
                "demo started) or choose another port"
            )
        return port, free_ports(1)[0]

    def _launch(self, java: Path, jars: Path, controller_port: int) -> None:
        try:
            for old in (self._log_file, self._output_file):  # so that its tail speaks of this start
                if old.exists():
                    old.replace(old.with_name(f"{old.name}.before"))
            properties = self.data_dir / "server.properties"
            overrides = self._secured(controller_port) | self._overrides
            properties.write_text(server_properties(self.data_dir, self.port, controller_port, overrides))
            log4j2 = self.data_dir / "log4j2.yaml"
            log4j2.write_text(logging_configuration(self._log_file))
        except OSError as error:
            raise self._unwritable(error) from error
        machine: list[str | Path] = [java, f"-Dlog4j2.configurationFile={log4j2}", "-cp", f"{jars}/*"]
        soon: list[str | Path] = [*machine, "-XX:TieredStopAtLevel=1"]
        if not (self.data_dir / "log" / "meta.properties").exists():
            self._format([*soon, "kafka.tools.StorageTool"], properties)
        # The serial collector: the least memory and the fastest start, and the heap is small.
        memory = ["-XX:+UseSerialGC", f"-Xmx{self.heap}"]
        broker = [*(machine if self.lasting else soon), *memory, "kafka.Kafka", properties]
        with self._output_file.open("ab") as output:
            self._process = child_process.spawn(broker, output=output)

    def _secured(self, controller_port: int) -> dict[str, str]:
        if self.security is None:
            return {}
        folder = self.data_dir / "tls"
        folder.mkdir(exist_ok=True)
        self.security.prepare(folder)
        return self.security.properties(folder, self.port, controller_port)

    def _format(self, storage_tool: Sequence[str | Path], properties: Path) -> None:
        users = self.security.format_arguments() if self.security is not None else []
        command = [*storage_tool, "format", f"--cluster-id={_new_cluster_id()}", "--config", properties, *users]
        with self._output_file.open("ab") as output:
            tool = child_process.spawn(command, output=output)
            try:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    tool.wait(START_TIMEOUT)
            finally:  # Ctrl-C too: nothing may stay
                status = child_process.end(tool, 0.0)
        if status != 0:
            raise self._failure(f"its folder could not be formatted (status {status})")

    def _wait_until_it_answers(self, deadline: float) -> None:
        while time.monotonic() < deadline:
            if not self.running:
                raise self._failure("it ended while starting")
            # A refused connection is cheap; the client would log it as an error.
            with contextlib.suppress(OSError), socket.create_connection((LOOPBACK, self.port), timeout=1):
                if answers(self.settings):
                    return
            time.sleep(0.05)
        raise self._failure(f"it did not answer within {START_TIMEOUT:.0f} s")

    def _failure(self, what: str) -> DependencyUnavailable:
        log = self.log_tail()
        return DependencyUnavailable("kafka", f"{what}: {advice(log)}. Its log in {self.data_dir} ends:\n{log}")


def _new_cluster_id() -> str:
    """Kafka's form of a random UUID: URL-safe base64 without padding."""
    return base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")


def main() -> None:
    """Run in the foreground until SIGINT or SIGTERM."""
    parser = argparse.ArgumentParser(
        prog="python -m deploy.local.kafka", description="Apache Kafka on this machine."
    )
    parser.add_argument(
        "--port", type=int, default=9092, help="where clients connect; 0 picks one (default: 9092)"
    )
    parser.add_argument("--data-dir", type=Path, default=Path("data/kafka"), help="default: data/kafka")
    parser.add_argument("--heap", default="384m", help="Java heap (default: 384m)")
    options = parser.parse_args()
    asked_to_end = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: asked_to_end.set())
    kafka = LocalKafka(options.data_dir, options.port, options.heap, lasting=True)
    try:
        kafka.start()
        print(
            f"Apache Kafka {KAFKA_VERSION} answers on {kafka.bootstrap_servers}, data in {kafka.data_dir}",
            flush=True,
        )
        while not asked_to_end.wait(0.5):
            if not kafka.running:
                sys.exit(f"Kafka has ended. Its log:\n{kafka.log_tail()}")
        kafka.stop()
    except SwitchboardError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
