"""One deployment for all tests that talk to ``switchboard serve``: its topics, its processes, its folder."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import httpx
from waiting import PATIENCE, eventually

from deploy.local.ports import free_ports
from models.access import Token, TokenScope
from models.messages import DEFAULT_TENANT
from streams.admin.topics import admin
from streams.clients.catalog import catalog_for
from streams.config import child_process
from streams.config.settings import Settings, load_settings
from streams.server.tokens import secret, topic


class ServeRig:
    """``serve`` runs; services are started by the first test that needs them (:meth:`need`)."""

    def __init__(self, servers: str, folder: Path) -> None:
        self.folder = folder
        [self.api_port] = free_ports(1)
        self._ports: dict[str, int] = {}
        self._tokens = 0
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self.values = {
            "bootstrap_servers": servers,
            "topic_prefix": f"test-{uuid.uuid4().hex[:8]}-",
            "data_dir": str(folder / "data"),
            "instance_id": "rig",
            "api_port": str(self.api_port),
            "tick_seconds": "0.2",
            "commit_interval_seconds": "0.5",
        }
        self.settings: Settings = load_settings(**self.values)
        self.catalog = catalog_for(self.settings)
        applied = asyncio.run(admin.apply(self.catalog, self.settings))
        assert not applied.remaining
        self.start("serve")

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.api_port}"

    def environment(self, **more: object) -> dict[str, str]:
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("SWITCHBOARD_")}
        own = self.values | {name: str(value) for name, value in more.items()}
        return inherited | {f"SWITCHBOARD_{name.upper()}": value for name, value in own.items()}

    def start(self, *services: str) -> None:
        """Start services, or serve, side by side, and wait until they are ready."""
        for service in services:
            self._spawn(service)
        for service in services:
            eventually(partial(self._is_ready, service), f"{service} is ready")

    def _spawn(self, service: str) -> None:
        # Found when it is needed: one that was found earlier may be another's by now.
        [self._ports[service]] = free_ports(1)
        arguments = [service] if service == "serve" else ["worker", service]
        with self.log(service).open("ab") as output:
            self._running[service] = child_process.spawn(
                [sys.executable, "-m", "streams.cli", *arguments],
                output=output,
                env=self.environment(metrics_port=self._ports[service]),
                cwd=self.folder,
            )

    def _is_ready(self, service: str) -> bool:
        process = self._running[service]
        assert process.poll() is None, (
            f"{service} ended with {process.returncode}: {self.log(service).read_text()[-3000:]}"
        )
        try:
            return self.health(service, "/readyz").is_success
        except httpx.TransportError:
            return False

    def need(self, *services: str) -> None:
        """Start those that do not run."""
        self.start(*(service for service in services if service not in self._running))

    def pid(self, service: str) -> int:
        return self._running[service].pid

    def stop(self, service: str) -> int:
        """SIGTERM; return the exit code."""
        process = self._running.pop(service)
        process.terminate()
        return process.wait(PATIENCE)

    def kill(self, service: str) -> None:
        """SIGKILL."""
        process = self._running.pop(service)
        process.kill()
        process.wait(PATIENCE)

    def close(self) -> None:
        for process in self._running.values():
            child_process.end(process, 0.0)

    def log(self, service: str) -> Path:
        return self.folder / f"{service}.log"

    def health(self, service: str, path: str) -> httpx.Response:
        return httpx.get(f"http://127.0.0.1:{self._ports[service]}{path}", timeout=10, trust_env=False)

    def client(self, **more: Any) -> httpx.Client:
        return httpx.Client(base_url=self.url, timeout=60.0, trust_env=False, **more)

    @contextmanager
    def token(self, user_id: str, *scopes: TokenScope, tenant_id: str = DEFAULT_TENANT) -> Iterator[str]:
        """A token of one person, or with ``""`` of all, while everybody needs one."""
        made = secret.make()
        token = Token(
            token_id=made.token_id,
            sha256=made.sha256,
            scopes=scopes or ("read", "write", "chat"),
            created_at=datetime.now(UTC),
            user_id=user_id,
            tenant_id=tenant_id,
        )

        def status(text: str = "") -> int:
            with self.client(headers={"authorization": f"Bearer {text}"} if text else {}) as client:
                return client.get("/v1/session").status_code

        try:
            self._tokens += 1
            asyncio.run(topic.put(self.settings, made.token_id, token))
            eventually(lambda: (status(), status(made.text)) == (401, 200), "a token is needed, and known")
            yield made.text
        finally:
            asyncio.run(topic.put(self.settings, made.token_id, None))
            self._tokens -= 1
            left = 401 if self._tokens else 200
            eventually(lambda: (status(), status(made.text)) == (left, 401), "it is revoked")

    def command(self, *arguments: str, **more: object) -> subprocess.CompletedProcess[str]:
        """Run ``switchboard``, as a person would here."""
        return subprocess.run(
            [sys.executable, "-m", "streams.cli", *arguments],
            env=self.environment(**more),
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
