"""Scratch file of an import, for sets that may not fit into memory.

The file is SQLite's own, below the folder for temporary files; it is written only when there is much, and gone
with the process, however that ends.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from typing import Any

from models.errors import DependencyUnavailable

#: What is held in memory of each (KiB).
_CACHE_KIB = 16_384

_READ_AT_ONCE = 500


class Numbers:
    """A set of numbers of 64 bits."""

    def __init__(self) -> None:
        self._ask = _opened("CREATE TABLE numbers (number INTEGER PRIMARY KEY)").execute

    def add(self, number: int) -> bool:
        """Add a number; tell whether it is new.  Raises :class:`DependencyUnavailable`: the disk is full."""
        with _on_disk():
            return self._ask("INSERT OR IGNORE INTO numbers VALUES (?)", (number,)).rowcount > 0

    def discard(self, number: int) -> None:
        """Remove a number."""
        with _on_disk():
            self._ask("DELETE FROM numbers WHERE number = ?", (number,))

    def __contains__(self, number: int) -> bool:
        with _on_disk():
            return self._ask("SELECT 1 FROM numbers WHERE number = ?", (number,)).fetchone() is not None


class Repeats:
    """How often names have been met."""

    def __init__(self) -> None:
        self._ask = _opened("CREATE TABLE names (name INTEGER PRIMARY KEY, times INTEGER)").execute

    def met(self, name: str) -> int:
        """Meet a name; return how often it was, by now.  Raises :class:`DependencyUnavailable`: a full disk."""
        number = (number_of(name),)
        with _on_disk():
            if self._ask("INSERT OR IGNORE INTO names VALUES (?, 1)", number).rowcount:
                return 1
            self._ask("UPDATE names SET times = times + 1 WHERE name = ?", number)
            [times] = self._ask("SELECT times FROM names WHERE name = ?", number).fetchone()
        return int(times)


class Places:
    """Conversations of tenants, each once."""

    def __init__(self) -> None:
        self._ask = _opened(
            "CREATE TABLE places (tenant TEXT, conversation TEXT, PRIMARY KEY (tenant, conversation))"
            " WITHOUT ROWID"
        ).execute
        self._number = 0
        self._last = ("", "")

    def __len__(self) -> int:
        return self._number

    def add(self, tenant_id: str, conversation_id: str) -> None:
        """Add one.  Raises :class:`DependencyUnavailable`: the disk is full."""
        if self._last == (place := (tenant_id, conversation_id)):
            return
        self._last = place
        with _on_disk():
            added = self._ask("INSERT OR IGNORE INTO places VALUES (?, ?)", place)
            self._number += added.rowcount

    def pages(self) -> Iterator[list[tuple[str, str]]]:
        """Yield all of them, some hundred at a time."""
        with _on_disk():
            found = self._ask("SELECT tenant, conversation FROM places")
            while some := found.fetchmany(_READ_AT_ONCE):
                yield some


class Rows:
    """A table of one's own."""

    def __init__(self, table: str, *more: str) -> None:
        self._ask = _opened(table, *more).execute

    def ask(self, statement: str, values: Sequence[str | int | float] = ()) -> list[Any]:
        """Execute a statement; return the rows found.  Raises :class:`DependencyUnavailable`: a full disk."""
        with _on_disk():
            return self._ask(statement, values).fetchall()


def number_of(*names: str | int) -> int:
    """Return a number for names: 64 bits, so of ten million different ones two are alike once in 400,000."""
    return int.from_bytes(blake2b(repr(names).encode(), digest_size=8).digest(), signed=True)


def _opened(*tables: str) -> sqlite3.Connection:
    with _on_disk():
        database = sqlite3.connect("", isolation_level=None)  # no name: a file that nobody else finds
        for line in ("journal_mode = OFF", "synchronous = OFF", f"cache_size = -{_CACHE_KIB}"):
            database.execute(f"PRAGMA {line}")
        for table in tables:
            database.execute(table)
        database.execute("BEGIN")
    return database


@contextmanager
def _on_disk() -> Iterator[None]:
    try:
        yield
    except sqlite3.OperationalError as error:
        raise DependencyUnavailable(
            "disk", f"what was imported cannot be noted ({error}): make room, or let TMPDIR name another folder"
        ) from error
