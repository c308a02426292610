"""One process owns a folder."""

from __future__ import annotations

import time
from pathlib import Path

from models.errors import ConfigurationError
from streams.config.file_lock import FileLock, LockHeld

LOCK_FILE = "switchboard.lock"

_POLL_SECONDS = 0.1


class FolderLock:
    """Holds ``<folder>/switchboard.lock`` (:class:`~streams.config.file_lock.FileLock`) until released."""

    def __init__(self, folder: Path, why: str, patience: float = 0.0) -> None:
        """Create the folder if need be and take the lock; who has it is waited for up to ``patience`` seconds.

        ``why`` ends the message of the :class:`ConfigurationError` that is raised when another process
        has it, or when the folder cannot be written.
        """
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._lock = _taken(folder / LOCK_FILE, patience)
        except LockHeld as error:
            raise ConfigurationError(f"{folder} is in use by {error.holder}. {why}") from error
        except OSError as error:
            raise ConfigurationError(
                f"cannot write in {folder}: {error.strerror}. Make it writable, or choose another folder "
                "with SWITCHBOARD_DATA_DIR."
            ) from error

    def release(self) -> None:
        """Let the next process in.  May be called twice."""
        self._lock.release()


def _taken(path: Path, patience: float) -> FileLock:
    deadline = time.monotonic() + patience
    while True:
        try:
            return FileLock(path)
        except LockHeld:
            if time.monotonic() >= deadline:
                raise
            time.sleep(_POLL_SECONDS)
