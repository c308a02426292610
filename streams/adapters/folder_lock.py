"""One process owns a folder: an advisory lock that the kernel lets go when its holder dies."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from models.errors import ConfigurationError

LOCK_FILE = "switchboard.lock"


class FolderLock:
    """Holds ``<folder>/switchboard.lock`` (``flock``) until :meth:`release` or the end of the process.

    The file holds the owner's process id, for the message only: what counts is the kernel's lock, so a
    file left by a dead process is no obstacle.  It is never removed: whoever unlinks it could be locking
    another file than the next process does.
    """

    def __init__(self, folder: Path, why: str) -> None:
        """Create the folder if need be and take the lock, without waiting.

        ``why`` ends the message of the :class:`ConfigurationError` that is raised when another process
        has it, or when the folder cannot be written.
        """
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._file = os.open(folder / LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise ConfigurationError(
                f"cannot write in {folder}: {error.strerror}. Make it writable, or choose another folder "
                "with SWITCHBOARD_DATA_DIR."
            ) from error
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            holder = os.pread(self._file, 32, 0).decode("ascii", "replace").strip() or "unknown"
            os.close(self._file)
            raise ConfigurationError(f"{folder} is in use by process {holder}. {why}") from error
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, f"{os.getpid()}\n".encode(), 0)

    def release(self) -> None:
        """Let the next process in.  May be called twice."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
