"""The tokens, as ``switchboard serve`` knows them: followed in the topic, and kept (their hashes, that is)
beside the data for when Kafka is down.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import structlog

from models.access import Token
from models.errors import DependencyUnavailable, SwitchboardError
from streams.background import in_background
from streams.backoff import backoff
from streams.settings import Settings
from streams.tokens.secret import hash_of
from streams.tokens.topic import follow

#: Between two attempts to reach Kafka.
_FIRST_SECONDS, _LONGEST_SECONDS = 0.2, 5.0

log = structlog.get_logger("streams.tokens")


class KnownTokens:
    """Follows the topic from :meth:`start` to :meth:`close`."""

    def __init__(self, settings: Settings, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._settings = settings
        self._clock = clock
        self._file = settings.folder / "tokens.json"
        self._by_hash: dict[str, Token] | None = None
        self._read = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def start(self, patience: float) -> None:
        """Begin; return when the topic was read, or what was kept of it, or ``patience`` (seconds) is over."""
        kept = await asyncio.to_thread(_kept, self._file)
        if kept is not None:
            self._set(kept)
        self._task = in_background(self._follow(), "tokens")
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(patience):
                await self._read.wait()

    async def close(self) -> None:
        """Follow no longer."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    @property
    def tasks(self) -> list[asyncio.Task[None]]:
        """Tasks that must keep running: without them, a revoked token lets people in."""
        return [] if self._task is None else [self._task]

    @property
    def any(self) -> bool:
        """True if there are tokens, so that every request needs one.

        Raises:
            DependencyUnavailable: it is not known: Kafka was never reached from here.
        """
        return bool(self._known())

    def find(self, text: str) -> Token | None:
        """Return the valid token; ``None``: it is unknown, revoked or expired.

        Raises:
            DependencyUnavailable: as :attr:`any`.
        """
        token = self._known().get(hash_of(text) or "")
        if token is None or (token.expires_at is not None and token.expires_at <= self._clock()):
            return None
        return token

    def _known(self) -> Mapping[str, Token]:
        if self._by_hash is None:
            raise DependencyUnavailable("kafka", "the tokens have not been read yet, so nobody is let in")
        return self._by_hash

    async def _follow(self) -> None:
        attempt = 0
        while True:
            try:
                async for tokens in follow(self._settings):
                    attempt = 0
                    self._set(tokens)
                    self._read.set()
                    await asyncio.to_thread(_keep, self._file, tokens)
            except SwitchboardError as error:
                log.warning("the tokens cannot be followed", error=str(error))
            attempt += 1
            await asyncio.sleep(backoff(attempt, _FIRST_SECONDS, _LONGEST_SECONDS))

    def _set(self, tokens: Mapping[str, Token]) -> None:
        self._by_hash = {token.sha256: token for token in tokens.values()}


def _kept(file: Path) -> dict[str, Token] | None:
    try:
        return msgspec.json.decode(file.read_bytes(), type=dict[str, Token])
    except (OSError, msgspec.MsgspecError):
        return None


def _keep(file: Path, tokens: Mapping[str, Token]) -> None:
    fresh = file.with_suffix(f".{os.getpid()}")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as output:
            output.write(msgspec.json.encode(tokens))
        fresh.replace(file)
    except OSError as error:
        log.info("the tokens are not kept for when Kafka is down", error=str(error))
