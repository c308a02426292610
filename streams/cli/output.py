"""Printing: for a person at a terminal, for a pipe, and as JSON for a script.

Whatever came from outside passes through :mod:`streams.config.printing`, since a message may hold escape
sequences that would otherwise reach the terminal.
"""

from __future__ import annotations

import select
import sys
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from streams.config.printing import encode_json
from streams.config.printing import printable as printable

#: What is said of a person of whom there is nothing at all.
UNREAD = "What {user} said is not read yet: ask again in a moment."
UNKNOWN = "Nobody called {user} is known in tenant {tenant}: ids are case-sensitive."

#: An option that every command has.
Json = Annotated[bool, typer.Option("--json", help="JSON instead of text.")]


def console() -> Console:
    """Return a console on the current stdout; nothing in what it prints is read as markup."""
    return Console(file=sys.stdout, markup=False, highlight=False, emoji=False, soft_wrap=True)


def print_table(headers: Sequence[str], rows: Iterable[Sequence[object]], right: Iterable[int] = ()) -> None:
    """Print rows under headers; the columns numbered in ``right`` (from 0) are aligned to the right.

    At a terminal cells wrap to its width; in a pipe every row is one line, columns two spaces apart.
    """
    cells = [[printable(str(cell)) for cell in row] for row in rows]
    numbers = frozenset(right)
    out = console()
    if out.is_terminal:
        table = Table(box=SIMPLE_HEAD, pad_edge=False)
        for at, header in enumerate(headers):
            table.add_column(header, justify="right" if at in numbers else "left", overflow="fold")
        for row in cells:
            table.add_row(*map(Text, row))
        out.print(table, soft_wrap=False)
        return
    widths = [max(map(len, column)) for column in zip(headers, *cells, strict=True)]
    for row in [list(headers), *cells]:
        padded = [
            cell.rjust(width) if at in numbers else cell.ljust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        print("  ".join(padded).rstrip())


def print_json(value: Any) -> None:
    """Print ``value`` (structs included) as one line of JSON, with escapes for what controls a terminal."""
    print(encode_json(value).decode())


def nobody_reads() -> bool:
    """Tell whether stdout is a pipe whose reader has gone, as in ``switchboard tail ... | head -1``.

    Writing would show it too, but a command that waits for the next record may wait for ever.
    """
    try:
        descriptor = sys.stdout.fileno()
    except OSError:
        return False  # stdout was replaced by something that is no file
    poll = select.poll()
    poll.register(descriptor, 0)
    return any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0))


def moment(seconds: float) -> str:
    """Return a time (epoch seconds) as every command shows it: ``2026-01-05 07:12:00 UTC``."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def count(number: int, noun: str, plural: str = "") -> str:
    """Return ``1 message``, ``12,000 messages``."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"
