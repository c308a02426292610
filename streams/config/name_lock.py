"""One worker per name on a machine: whoever comes second is refused, whoever is killed blocks nobody.

Kafka knows a worker by its static name and lets a newcomer take it from the one that works (it cannot tell a
restart from a mistake).  On one machine the kernel can tell: the name is locked as long as its process lives.
Across machines Kafka decides (:mod:`streams.runtime.lease`): the newcomer wins, and the other ends.
"""

from __future__ import annotations

import asyncio
import hashlib
import tempfile
import time
from pathlib import Path

import structlog

from models.errors import ConfigurationError
from streams.config.file_lock import FileLock, LockHeld
from streams.config.settings import Settings

#: A worker that was told to stop and has finished may still be leaving.
_PATIENCE_SECONDS = 1.0
_POLL_SECONDS = 0.05

log = structlog.get_logger("streams.server.process.worker")


def lock_file(cluster_id: str, settings: Settings, service: str) -> Path:
    """Return the file that stands for the name of ``service`` in a cluster; temporary files lie beside it."""
    name = "\n".join((cluster_id, settings.group(service), settings.static_member(service)))
    return Path(tempfile.gettempdir()) / f"switchboard-{hashlib.sha256(name.encode()).hexdigest()[:24]}.lock"


async def take_name(cluster_id: str, settings: Settings, service: str) -> FileLock | None:
    """Take the name of this worker; ``None`` where no file can be locked, and Kafka alone decides.

    Raises:
        ConfigurationError: another process on this machine has it; the text says which, and since when.
    """
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while True:
        try:
            return FileLock(lock_file(cluster_id, settings, service))
        except LockHeld as error:
            if time.monotonic() >= deadline:
                raise ConfigurationError(
                    f"{settings.static_member(service)} runs on this machine already: {error.holder}. Stop it, "
                    "or give this worker a name of its own (SWITCHBOARD_INSTANCE_ID)"
                ) from error
        except OSError as error:
            log.warning("the name of this worker cannot be locked", error=str(error))
            return None
        await asyncio.sleep(_POLL_SECONDS)
