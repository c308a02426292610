"""A lock on this machine that the kernel lets go when its holder dies, and that says who holds it."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

_NOTE_BYTES = 100


class Holder(NamedTuple):
    """Holder of a lock: its process id and since when, as far as it could be read."""

    pid: str = "unknown"
    since: str = ""

    def __str__(self) -> str:
        return f"process {self.pid}{f', since {self.since}' if self.since else ''}"


class LockHeld(Exception):
    """Another process holds the lock."""

    def __init__(self, holder: Holder) -> None:
        super().__init__(str(holder))
        self.holder = holder


class FileLock:
    """Holds an advisory lock (``flock``) on a file until :meth:`release` or the end of the process.

    The file says who holds it, for the message only: what counts is the kernel's lock, so a file left by a
    dead process is no obstacle.  It is never removed: whoever unlinks it could be locking another file than the
    next process does.
    """

    def __init__(self, path: Path) -> None:
        """Take the lock without waiting.  Raises :class:`LockHeld`, and :class:`OSError` as ``open`` does."""
        self._file = _open(path)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            note = os.pread(self._file, _NOTE_BYTES, 0).decode("ascii", "replace").split("\n")
            os.close(self._file)
            self._file = -1
            if error.errno not in (errno.EWOULDBLOCK, errno.EACCES):
                raise
            raise LockHeld(Holder(*(line for line in note[:2] if line))) from error
        # Another user's file can be locked, though not written to.
        with contextlib.suppress(OSError):
            os.ftruncate(self._file, 0)
            os.pwrite(self._file, f"{os.getpid()}\n{datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC\n".encode(), 0)

    def release(self) -> None:
        """Let the next process in.  May be called twice."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def _open(path: Path) -> int:
    # Without O_CREAT first: with it, in a folder for everybody, the kernel refuses another user's file.
    for flags in (os.O_RDWR, os.O_RDWR | os.O_CREAT | os.O_EXCL, os.O_RDONLY):
        try:
            return os.open(path, flags | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)
        except (FileNotFoundError, FileExistsError, PermissionError):
            if flags == os.O_RDONLY:
                raise
    raise AssertionError("the last attempt returns or raises")
