"""Replays as the HTTP API shows them: which there are, and each beside the live generation.

A comparison keeps a processor busy as long as it reads, so `switchboard replay compare` makes it, in a process
of its own that leaves the processors to searches.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping

import msgspec

from models.errors import ConfigurationError, DependencyUnavailable, NotFound
from streams.clients.serving import LIVE, settings_of
from streams.config import child_process
from streams.config.background import cancel_and_wait, in_background
from streams.config.exits import EXIT_NOT_FOUND, EXIT_OK, EXIT_UNAVAILABLE
from streams.config.settings import Settings
from streams.config.settings.text import PREFIX
from streams.queries.erasure.generations import generations
from streams.server.replays import record, running, switching
from streams.server.replays.comparison import DIFFERENT, Comparison

#: How long a comparison answers whoever asks for the same, from its end (seconds).
_KEPT_SECONDS = 60.0

#: How long the process of a comparison may take to stop (seconds).
_STOP_SECONDS = 2.0

#: What is known of a failure: the end of what the process said.
_LONGEST = 500


class ReplayState(msgspec.Struct, frozen=True, kw_only=True):
    """A replay on the broker: how far it is, whether it serves, and the settings that were given with it.

    ``messages`` of ``total`` are read, and ``left`` records of all topics are not.
    """

    generation: str
    serves: bool
    caught_up: bool
    messages: int
    total: int
    left: int
    given: dict[str, str] = msgspec.field(name="with", default_factory=dict)


class Replays:
    """Replays of a deployment, for readers.  Close it at the end."""

    def __init__(self, settings: Settings, environ: Mapping[str, str] = os.environ) -> None:
        self._live = settings_of(settings, LIVE)
        self._environ = {name: value for name, value in environ.items() if name != f"{PREFIX}GENERATION"}
        self._one_at_a_time = asyncio.Lock()
        self._running: dict[str, asyncio.Task[Comparison]] = {}
        self._made: dict[str, tuple[float, Comparison]] = {}

    async def states(self) -> list[ReplayState]:
        """Return the replays on the broker, by name.

        Raises:
            DependencyUnavailable: the broker does not answer.
        """
        names, serving = await asyncio.gather(generations(self._live), switching.serving(self._live))
        return [await self._state(name, serves=name == serving.name) for name in names]

    async def _state(self, name: str, *, serves: bool) -> ReplayState:
        replayed = record.generation_settings(self._live, name)
        far = await running.progress(replayed)
        known = record.read(replayed)
        return ReplayState(
            generation=name,
            serves=serves,
            caught_up=far.caught_up,
            messages=far.messages,
            total=far.total,
            left=far.left,
            given={} if known is None else record.shown(known),
        )

    async def compare(self, name: str) -> Comparison:
        """Return a replay beside the live generation, as it was found at most a minute ago.

        Raises:
            NotFound: there is no such replay.  DependencyUnavailable: the broker does not answer.
            ConfigurationError: the process cannot compare; it says why.
        """
        if name not in await generations(self._live):
            raise NotFound(f"there is no replay {name}")
        if name in self._made and time.monotonic() < self._made[name][0]:
            return self._made[name][1]
        if name not in self._running:
            self._running[name] = in_background(self._compare(name), "comparison")
        return await asyncio.shield(self._running[name])  # others may wait for it, too

    async def _compare(self, name: str) -> Comparison:
        try:
            async with self._one_at_a_time:
                made = await _ask(name, self._environ)
            self._made[name] = time.monotonic() + _KEPT_SECONDS, made
            return made
        finally:
            del self._running[name]

    async def close(self) -> None:
        """Stop what is being compared."""
        await cancel_and_wait(*self._running.values())


async def _ask(name: str, environ: Mapping[str, str]) -> Comparison:
    command = [sys.executable, "-m", "streams.cli", "replay", "compare", name, "--json"]
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        process = child_process.spawn(command, output=output, errors=errors, env=environ, nice=19)
        try:
            status = await _ended(process)
        finally:
            child_process.end(process, _STOP_SECONDS)
        output.seek(0)
        errors.seek(0)
        if status in (EXIT_OK, DIFFERENT) and (told := output.read()):
            return msgspec.json.decode(told, type=Comparison)
        why = errors.read().decode(errors="replace").strip().removeprefix("switchboard: ")[-_LONGEST:]
    if status == EXIT_NOT_FOUND:  # it was dropped meanwhile
        raise NotFound(why)
    if status == EXIT_UNAVAILABLE:
        raise DependencyUnavailable("kafka", why.removeprefix("kafka: "))
    raise ConfigurationError(why or f"`switchboard replay compare {name}` ended with {status}")


async def _ended(process: subprocess.Popen[bytes]) -> int:
    while (status := process.poll()) is None:
        await asyncio.sleep(0.1)
    return status
