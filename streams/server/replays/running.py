"""Workers of a replay: started together, kept running, and stopped by ``switchboard replay pause``."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import Mapping
from typing import NamedTuple

import msgspec
import structlog

from models.errors import ConfigurationError, DependencyUnavailable
from streams.clients.catalog import catalog_for
from streams.clients.kafka import broker
from streams.clients.kafka.broker import GroupLag
from streams.clients.topics import MESSAGES
from streams.config.background import in_background
from streams.config.service_registry import notes
from streams.config.settings import Settings
from streams.config.settings.services import REPLAYED
from streams.queries.services import sources_by_group
from streams.server.process.supervisor import Process, Supervisor
from streams.server.replays import costs, record
from streams.server.replays.record import Replay

_POLL_SECONDS = 2.0

#: How often in a row nothing must be left to read: between two stages nothing is anywhere for a moment.
_CALM_POLLS = 2

#: While it has much to read, a replay leaves the processors to the live services.
_NICE = 19

#: How much longer than a clean stop takes `pause` waits.
_MARGIN_SECONDS = 10.0

log = structlog.get_logger("streams.server.replays")


class Progress(NamedTuple):
    """Progress of a replay: the slower of its readers has read ``messages`` of ``total``."""

    messages: int
    total: int
    lags: list[GroupLag]

    @property
    def left(self) -> int:
        """Records that some stage has still to read."""
        return sum(lag.lag for lag in self.lags)

    @property
    def caught_up(self) -> bool:
        """True if every stage has read all that there is."""
        return bool(self.lags) and not self.left

    def keeps_pace(self, before: Progress) -> bool:
        """True if every stage has read what there was at ``before``, as messages go on to arrive."""
        arrived = self.total - before.total
        return bool(self.lags) and max(lag.lag for lag in self.lags) <= arrived


async def progress(replayed: Settings) -> Progress:
    """Return how far the groups of a generation have read.

    Raises:
        DependencyUnavailable: the broker does not answer.
    """
    lags = await broker.group_lags(replayed, _groups(replayed))
    messages = [lag for lag in lags if lag.topic == catalog_for(replayed).name(MESSAGES)]
    total = max((lag.end for lag in messages), default=0)
    return Progress(min((lag.end - lag.lag for lag in messages), default=0), total, lags)


def _groups(replayed: Settings) -> Mapping[str, list[str]]:
    groups = sources_by_group(replayed)
    return {replayed.group(service): groups[replayed.group(service)] for service in REPLAYED}


async def run(live: Settings, replayed: Settings, replay: Replay, *, until_caught_up: bool = False) -> int:
    """Run the workers until a signal, or until everything is read; return the exit status.

    Raises:
        ConfigurationError: it has paid what it may; the workers have stopped.
    """
    environment = replay.environment(os.environ)
    supervisor = Supervisor(
        [Process(f"{replay.name}-{service}", _command(service), environment, _NICE) for service in REPLAYED],
        replayed,
    )
    too_much: list[str] = []

    def stop(why: str) -> None:
        too_much.append(why)
        supervisor.stop("it has paid what it may")

    beside = [in_background(_follow(replayed, replay, supervisor, until_caught_up), "replay")]
    if replay.max_cost:
        watching = costs.watch(live, replay.name, replay.max_cost, stop)
        beside.append(in_background(watching, "costs"))
    try:
        status = await supervisor.run()
    finally:
        for task in beside:
            task.cancel()
        await asyncio.gather(*beside, return_exceptions=True)
    if too_much:
        raise ConfigurationError(too_much[0])
    return status


def is_restarting(replayed: Settings) -> bool:
    """True if a worker that was started here does not run yet as live ones do: it catches up or starts again.

    Its group does not tell: a member that stopped stays in it until its session has timed out.
    """
    holder = record.runner(replayed)
    if holder is None or not holder.pid.isdigit():
        return False
    usual = _niceness(int(holder.pid))
    running = {note.service for note in notes(replayed) if _niceness(note.pid) <= usual}
    return not running.issuperset(REPLAYED)


def _niceness(pid: int) -> int:
    try:
        return os.getpriority(os.PRIO_PROCESS, pid)
    except ProcessLookupError:
        return 0  # it has just ended


def _command(service: str) -> list[str]:
    return [sys.executable, "-m", "streams.cli", "worker", service]


async def _follow(replayed: Settings, replay: Replay, supervisor: Supervisor, stop: bool) -> None:
    """Say when everything is read, note how fast it was, and ``stop`` the workers then if told to.

    Else they start again as live ones run: they may serve from now on.
    """
    began = time.monotonic()
    first, now = await _wait_caught_up(replayed)
    seconds = time.monotonic() - began
    log.info("the replay has caught up", generation=replay.name, messages=now.total, seconds=round(seconds, 1))
    if now.messages > first.messages and not replay.max_rate:
        rate = round((now.messages - first.messages) / seconds, 1)
        try:
            record.write(replayed, msgspec.structs.replace(replay, measured_rate=rate))
        except ConfigurationError as error:  # plans reckon with it, and nothing else
            log.warning("the rate of the replay is not kept", rate=rate, error=str(error))
    if stop:
        supervisor.stop("the replay has caught up")
    else:
        supervisor.restart(nice=0)


async def _wait_caught_up(replayed: Settings) -> tuple[Progress, Progress]:
    """Return the first progress that was seen, and the last."""
    seen: list[Progress] = []
    calm = 0
    while calm < _CALM_POLLS:
        await asyncio.sleep(_POLL_SECONDS)
        try:
            now = await progress(replayed)
        except DependencyUnavailable as error:
            log.warning("the progress of the replay is unknown", error=str(error))
            continue
        calm = calm + 1 if now.keeps_pace(seen[-1] if seen else now) else 0
        seen = [*seen[:1], now]
    return seen[0], seen[-1]


async def pause(replayed: Settings) -> bool:
    """Stop the workers of a replay on this machine; return False if none run.

    Raises:
        ConfigurationError: they belong to somebody else, or do not stop.
    """
    holder = record.runner(replayed)
    if holder is None:
        return False
    try:
        os.kill(int(holder.pid), signal.SIGTERM)
    except (ValueError, PermissionError) as error:
        raise ConfigurationError(
            f"{holder} runs the replay and cannot be stopped from here: {error}"
        ) from error
    except ProcessLookupError:
        pass  # it has just ended
    patience = replayed.shutdown_timeout_seconds + _MARGIN_SECONDS
    try:
        async with asyncio.timeout(patience):
            while record.runner(replayed) is not None:
                await asyncio.sleep(0.1)
    except TimeoutError:
        raise ConfigurationError(f"{holder} was told to stop and still runs after {patience:.0f} s") from None
    return True
