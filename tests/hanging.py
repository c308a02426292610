"""Limit for tests that pytest-timeout does not end: it has none for the clean-up after a failure."""

from __future__ import annotations

import asyncio
import faulthandler
import gc
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

import pytest

_GRACE_SECONDS = 300.0  # for the clean-up of what pytest-timeout ended
_EXIT_STATUS = 1


class Limit:
    """Ends this process if a test takes far longer than pytest-timeout allows, and shows where it stands."""

    def __init__(self) -> None:
        # Before pytest captures it.
        self._said: TextIO = os.fdopen(os.dup(2), "w")

    @contextmanager
    def on(self, item: pytest.Item) -> Iterator[None]:
        """Limit the whole of a test, with its fixtures."""
        seconds = _timeout_of(item)
        timer = threading.Timer(seconds + _GRACE_SECONDS, self._end, [item.nodeid])
        timer.daemon = True
        if seconds > 0:
            timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def _end(self, nodeid: str) -> None:
        print(f"\n{nodeid} hangs and cannot be ended; its process ends.  Threads:", file=self._said, flush=True)
        faulthandler.dump_traceback(file=self._said, all_threads=True)
        for loop in [each for each in gc.get_objects() if isinstance(each, asyncio.AbstractEventLoop)]:
            for task in asyncio.all_tasks(loop):
                task.print_stack(file=self._said)
        self._said.flush()
        os._exit(_EXIT_STATUS)


def _timeout_of(item: pytest.Item) -> float:
    marker = item.get_closest_marker("timeout")
    given = marker.args[0] if marker is not None else item.config.getoption("timeout")
    return float(item.config.getini("timeout") if given is None else given)
