"""Where the services answer: a note of each worker in the data folder, or ``SWITCHBOARD_SERVICES``.

Ports may be chosen by the system, and every worker of a machine has its own; whoever asks (``status``,
``doctor``, ``search``) must not have to be told.  A worker leaves a note while it runs, if the folder can be
written.  A note that a killed one left behind is told by its process: there is none.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Callable
from pathlib import Path

import msgspec
import structlog

from streams.config.settings import Settings

_FOLDER = "services"

log = structlog.get_logger("streams.server.process.worker")


class ServiceAddress(msgspec.Struct, frozen=True):
    """Where a worker answers: ``process`` is its number among several of one service, from 0."""

    service: str
    instance: str
    pid: int
    host: str
    port: int
    process: int = 0


def folder_id(settings: Settings) -> str:
    """Return the id of a worker's data folder, which does not reveal its name."""
    return hashlib.sha256(os.fsencode(settings.folder.resolve())).hexdigest()[:16]


def register(settings: Settings, here: ServiceAddress) -> Callable[[], None]:
    """Write down where a worker answers; return what takes the note away."""
    path = settings.folder / _FOLDER / f"{here.service}-{here.instance}.json"
    fresh = path.with_suffix(f".{here.pid}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh.write_bytes(msgspec.json.encode(here))
        fresh.replace(path)
    except OSError as error:
        log.info(
            "status and doctor are not told where this worker answers; set SWITCHBOARD_SERVICES for them",
            error=str(error),
        )
        return lambda: None

    def take_away() -> None:
        # Another process may have the name by now.
        if _read(path) == here:
            with contextlib.suppress(OSError):
                path.unlink()

    return take_away


def notes(settings: Settings) -> list[ServiceAddress]:
    """Return the notes of workers that still run, ordered by service and process."""
    try:
        paths = sorted((settings.folder / _FOLDER).glob("*.json"))
    except OSError:
        return []
    found = [here for here in map(_read, paths) if here is not None and _runs(here.pid)]
    return sorted(found, key=lambda here: (here.service, here.process, here.instance))


def _read(path: Path) -> ServiceAddress | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=ServiceAddress)
    except (OSError, msgspec.DecodeError):
        return None


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True  # somebody else's
    return True
