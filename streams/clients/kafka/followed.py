"""The latest values of a keyed topic, followed in it and kept in a file for when Kafka is down."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Generic, TypeVar

import msgspec
import structlog

from models.errors import SwitchboardError
from streams.clients.kafka.keyed_topic import KeyedTopic
from streams.config.background import cancel_and_wait, in_background
from streams.config.backoff import backoff
from streams.config.settings import Settings

T = TypeVar("T", bound=msgspec.Struct)

#: Between two attempts to reach Kafka.
_FIRST_SECONDS, _LONGEST_SECONDS = 0.2, 5.0

log = structlog.get_logger("streams.clients.kafka")


class Followed(Generic[T]):
    """Follows the topic from :meth:`start` to :meth:`close`; ``changed`` is called with all values, by key."""

    def __init__(
        self,
        settings: Settings,
        topic: KeyedTopic[T],
        changed: Callable[[Mapping[str, T]], None],
    ) -> None:
        self._settings = settings
        self._topic = topic
        self._changed = changed
        self._file = settings.folder / f"{topic.what}.json"
        self._read = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def start(self, patience: float) -> None:
        """Begin; return when the topic was read, or ``patience`` (seconds) is over.

        Until the topic was read, what was kept of it counts.
        """
        await self.read_kept()
        self._task = in_background(self._follow(), self._topic.what)
        await self.wait(patience)

    async def read_once(self, patience: float) -> None:
        """Read the topic once, for at most ``patience`` (seconds); else what was kept of it counts."""
        try:
            async with asyncio.timeout(patience):
                self._changed(await self._topic.read_all(self._settings))
        except (SwitchboardError, TimeoutError):
            await self.read_kept()

    async def read_kept(self) -> None:
        """Take what was kept of the topic, if anything was, without asking Kafka."""
        if (kept := await asyncio.to_thread(self._kept)) is not None:
            self._changed(kept)

    async def wait(self, patience: float) -> bool:
        """Wait until the topic was read to its end, at most ``patience`` (seconds); say whether it was."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(patience):
                await self._read.wait()
        return self._read.is_set()

    async def close(self) -> None:
        """Follow no longer."""
        if self._task is not None:
            await cancel_and_wait(self._task)

    @property
    def tasks(self) -> list[asyncio.Task[None]]:
        """Tasks that must keep running."""
        return [] if self._task is None else [self._task]

    async def _follow(self) -> None:
        attempt = 0
        while True:
            try:
                async with contextlib.aclosing(self._topic.follow(self._settings)) as changes:
                    async for values in changes:
                        attempt = 0
                        self._changed(values)
                        self._read.set()
                        await asyncio.to_thread(self.keep, values)
            except SwitchboardError as error:
                log.warning(f"the {self._topic.what} cannot be followed", error=str(error))
            attempt += 1
            await asyncio.sleep(backoff(attempt, _FIRST_SECONDS, _LONGEST_SECONDS))

    def _kept(self) -> dict[str, T] | None:
        try:
            found = msgspec.json.decode(self._file.read_bytes(), type=dict[str, msgspec.Raw])
            return {key: msgspec.json.decode(value, type=self._topic.kind) for key, value in found.items()}
        except (OSError, msgspec.MsgspecError):
            return None

    def keep(self, values: Mapping[str, T]) -> None:
        """Keep these values in the file."""
        fresh = _fresh(self._file)
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(descriptor, "wb") as output:
                output.write(msgspec.json.encode(values))
            fresh.replace(self._file)
        except OSError as error:
            log.info(f"the {self._topic.what} are not kept for when Kafka is down", error=str(error))


def _fresh(file: Path) -> Path:
    return file.with_suffix(f".{os.getpid()}")
