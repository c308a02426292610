"""A file of state: values of one partition that have left memory.

An SQLite database without a journal, whose file has no name: it goes with the process, however that ends, and
what it held is read from the changelog again.  A row's number is the hash of its key, so that a look-up is a
search for an integer.  Keys whose hashes are equal are distinguished: all but one of them stay in memory.

Most look-ups are for keys that were never stored.  A map of bits, by hash, answers these.

It may be used from several threads.  A statement writes many rows at once: each one hands Python's lock to
another thread, which keeps it for as long as 5 ms.
"""

from __future__ import annotations

import os
import sqlite3
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from models.errors import ConsistencyError

#: Rows of one statement, and of one step of a scan: a look-up may wait for it.  There is a limit of parameters.
_ROWS_AT_ONCE = 256

#: Bits of the map, as a power of two: 1 MB, by which one in ten look-ups goes wrong at a million keys.
_BITS = 23
_MASK = (1 << (_BITS - 3)) - 1

#: Larger ones are written faster, and wear the disk more once rows that are written together lie far apart.
_PAGE_BYTES = 8192

_GET = "SELECT value FROM state WHERE hash = ? AND key = ?"
_REMOVE = "DELETE FROM state WHERE hash = ? AND key = ?"
_NEXT = f"SELECT hash, key, value FROM state WHERE hash > ? ORDER BY hash LIMIT {_ROWS_AT_ONCE}"
_FIRST = -(2**63)

Row = tuple[bytes, bytes]


class StateFile:
    """Values by key, on the disk.

    Raises:
        ConsistencyError: by every method, if the disk is full, cannot be written or cannot be read.
    """

    def __init__(self, folder: Path, hash_of: Callable[[bytes], int] = hash) -> None:
        self._folder = folder
        self._hash_of = hash_of
        self._lock = threading.Lock()
        self._bits = bytearray(1 << (_BITS - 3))
        #: Values of keys whose hash is that of another key in the file.
        self._equal: dict[bytes, bytes] = {}
        self._closed = False
        #: Bytes on the disk, as of the last write.
        self.size = 0
        try:
            self._db = _open(folder)
        except (OSError, sqlite3.Error) as error:
            raise self._failed("made", error) from error

    def get(self, key: bytes) -> bytes | None:
        """Return the value of ``key``."""
        number = self._hash_of(key)
        if not self._bits[(number >> 3) & _MASK] & (1 << (number & 7)):
            return None
        if key in self._equal:
            return self._equal[key]
        found = self._run(_GET, (number, key))
        return found[0][0] if found else None

    def write(self, rows: Sequence[Row]) -> None:
        """Store the value of each key, all of them different; an empty one removes its key.

        Keys that are written together should have hashes that lie close together, see :meth:`apart`.
        """
        numbered = sorted((self._hash_of(key), key, value) for key, value in rows)
        self._run("BEGIN")
        for at in range(0, len(numbered), _ROWS_AT_ONCE):
            self._write(numbered[at : at + _ROWS_AT_ONCE])
        self._run("COMMIT")
        self.size = self._run("PRAGMA page_count")[0][0] * _PAGE_BYTES

    def apart(self, rows: Iterable[Row], parts: int) -> list[list[Row]]:
        """Return rows as about so many lists: those of one lie close together in the file."""
        shift = 64 - (parts - 1).bit_length()
        found: list[list[Row]] = [[] for _ in range(1 << (64 - shift))]
        for row in rows:
            found[(self._hash_of(row[0]) >> shift) & (len(found) - 1)].append(row)
        return found

    def rows(self) -> Iterator[Row]:
        """Yield every key and its value.  What is written meanwhile may be among them, or not."""
        after = _FIRST
        while rows := self._run(_NEXT, (after,)):
            for _, key, value in rows:
                yield key, value
            after = rows[-1][0]
        yield from self._equal.copy().items()

    def close(self) -> None:
        """Give up the file, and what it holds."""
        with self._lock:
            self._closed = True
            self._db.close()

    def _write(self, rows: Sequence[tuple[int, bytes, bytes]]) -> None:
        for _, key, _ in rows if self._equal else ():
            self._equal.pop(key, None)
        kept = [row for row in rows if row[2]]
        if len(kept) < len(rows):
            for number, key, value in rows:
                if not value:
                    self._run(_REMOVE, (number, key))
        for number, _, _ in kept:
            self._bits[(number >> 3) & _MASK] |= 1 << (number & 7)
        if kept and self._store(kept) != len(kept):
            for number, key, value in kept:
                if not self._run(_GET, (number, key)):
                    self._equal[key] = value

    def _store(self, rows: Sequence[tuple[int, bytes, bytes]]) -> int:
        """Store rows whose number no other key has; return how many these are."""
        return self._change(_upsert(len(rows)), [field for row in rows for field in row])

    def _run(self, statement: str, parameters: Sequence[Any] = ()) -> list[Any]:
        with self._lock:
            try:
                return self._db.execute(statement, parameters).fetchall()
            except sqlite3.Error as error:
                raise self._failed("used", error) from error

    def _change(self, statement: str, parameters: Sequence[Any]) -> int:
        with self._lock:
            try:
                return self._db.execute(statement, parameters).rowcount
            except sqlite3.Error as error:
                raise self._failed("written", error) from error

    def _failed(self, what: str, error: Exception) -> ConsistencyError:
        if self._closed:
            return ConsistencyError("the partition was given away while its state was read")
        return ConsistencyError(
            f"the file of state in {self._folder} cannot be {what}: {error}. State beyond "
            "SWITCHBOARD_STATE_MEMORY_MB lies there: free some of the disk, make the folder writable, name "
            "another one in SWITCHBOARD_DATA_DIR, or allow more memory, and start the worker again. Nothing is "
            "lost: the changelogs hold all of it"
        )


_TUNED = (
    f"PRAGMA page_size = {_PAGE_BYTES}",
    "PRAGMA journal_mode = OFF",
    "PRAGMA synchronous = OFF",
    "PRAGMA temp_store = MEMORY",
    # What was erased is written over.
    "PRAGMA secure_delete = ON",
    # No lock is taken and nothing is asked of the file system before each look-up.
    "PRAGMA locking_mode = EXCLUSIVE",
)


def _open(folder: Path) -> sqlite3.Connection:
    """Return a database whose file has lost its name."""
    folder.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=folder, prefix="state-", suffix=".db")
    os.close(handle)
    try:
        database = sqlite3.connect(name, isolation_level=None, check_same_thread=False)
        for pragma in _TUNED:
            database.execute(pragma)
        database.execute("BEGIN EXCLUSIVE")  # opens the file
    finally:
        Path(name).unlink()
    database.execute("CREATE TABLE state (hash INTEGER PRIMARY KEY, key BLOB, value BLOB)")
    database.execute("COMMIT")
    return database


@cache
def _upsert(rows: int) -> str:
    values = ", ".join(["(?, ?, ?)"] * rows)
    return (
        f"INSERT INTO state VALUES {values} "
        "ON CONFLICT (hash) DO UPDATE SET value = excluded.value WHERE key = excluded.key"
    )
