"""End of the demo when its terminal closes, at whatever stage it is.

The kernel tells only the first process of a terminal's session, with SIGHUP.  Under ``ssh -t HOST make demo``
that is make, which waits for us and tells nobody.
"""

from __future__ import annotations

import errno
import io
import select
import signal
import sys
import threading
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from typing_extensions import Buffer


def end_with_terminal() -> None:
    """From now on SIGHUP, or a closed terminal, is :class:`KeyboardInterrupt` in the main thread, once.

    Nothing is done where SIGHUP is ignored (``nohup``).  To be called by the main thread.
    """
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        return

    def hang_up(*_: object) -> None:
        # The signal may come twice, from the kernel and from our thread; a second one is no wish to hurry.
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        signal.raise_signal(signal.SIGINT)

    signal.signal(signal.SIGHUP, hang_up)
    terminals = [stream.fileno() for stream in (sys.stdin, sys.stdout, sys.stderr) if _is_terminal(stream)]
    sys.stdout, sys.stderr = _said_to_nobody(sys.stdout), _said_to_nobody(sys.stderr)
    if terminals:
        watch = threading.Thread(target=_wait_for_end, args=(terminals[0],), name="terminal", daemon=True)
        watch.start()


def _is_terminal(stream: TextIO) -> bool:
    return stream is not None and stream.isatty()  # None: it was closed when Python began


def _wait_for_end(terminal: int) -> None:
    poll = select.poll()
    poll.register(terminal, 0)  # POLLHUP is always told
    poll.poll()
    # To that thread, which may sleep: one that went to another would be handled when it wakes up.
    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGHUP)


def _said_to_nobody(stream: TextIO) -> TextIO:
    """``stream``, to which writing does not fail for want of a listener."""
    if not _is_terminal(stream):
        return stream
    raw = _Terminal(stream.fileno(), "w", closefd=False)
    return io.TextIOWrapper(io.BufferedWriter(raw), stream.encoding, stream.errors, line_buffering=True)


class _Terminal(io.FileIO):
    """It may be closed in the middle of a line, before the signal comes that says so."""

    def write(self, data: Buffer, /) -> int:
        try:
            return super().write(data)
        except OSError as error:
            if error.errno != errno.EIO:
                raise
            return memoryview(data).nbytes
