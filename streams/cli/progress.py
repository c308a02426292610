"""Progress line of a command that takes over two seconds, at a terminal, on stderr."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from streams.cli.output import printable

T = TypeVar("T")

#: Whoever is answered sooner sees nothing of it.
AFTER_SECONDS = 2.0


@contextmanager
def showing(doing: str) -> Iterator[Callable[[str], None]]:
    """Show what is being done, until it is; what it yields is told how far that is.

    Nothing may be printed meanwhile.
    """
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    # who is no terminal, or is answered at once, need not wait for it
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    text = TextColumn("{task.description}", markup=False)
    shown = Progress(
        SpinnerColumn(),
        text,
        TimeElapsedColumn(),
        console=Console(file=sys.stderr, highlight=False, emoji=False),
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    )
    task = shown.add_task(f"{printable(doing)} …")
    later = threading.Timer(AFTER_SECONDS, shown.start)
    later.daemon = True
    later.start()
    try:
        yield lambda far: shown.update(task, description=f"{printable(doing)}: {printable(far)}")
    finally:
        later.cancel()
        later.join()
        shown.stop()


def run(doing: str, work: Coroutine[Any, Any, T]) -> T:
    """Run something to its end, and show it if it takes long."""
    with showing(doing):
        return asyncio.run(work)
