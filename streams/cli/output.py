"""Printing: for a person at a terminal, for a pipe, and as JSON for a script.

Whatever came from outside passes through :func:`printable`, since a message may hold escape sequences that
would otherwise reach the terminal.
"""

from __future__ import annotations

import re
import select
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

#: C0 and C1 controls, DEL, and the characters that reverse the direction of what follows.
_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")

#: Lone surrogates (they come from undecodable bytes) cannot be written as UTF-8.
_SURROGATES = re.compile("[\ud800-\udfff]")


def console() -> Console:
    """Return a console on the current stdout; nothing in what it prints is read as markup."""
    return Console(file=sys.stdout, markup=False, highlight=False, emoji=False, soft_wrap=True)


def printable(text: str) -> str:
    """Return ``text`` on one line, its control characters shown as escapes (``\\n``, ``\\x1b``)."""
    text = _SURROGATES.sub("�", text)
    return _CONTROLS.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


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
    """Print ``value`` (structs included) as one line of JSON."""
    print(_SURROGATES.sub("�", msgspec.json.encode(value).decode()))


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


def count(number: int, noun: str, plural: str = "") -> str:
    """Return ``1 message``, ``12,000 messages``."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"
