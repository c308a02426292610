"""What the demo does when its terminal closes: it ends, at whatever stage it is.

The kernel tells only the first process of a terminal's session, with SIGHUP.  Under ``ssh -t HOST make demo``
that is make, which waits for us and tells nobody.
"""

from __future__ import annotations

import os
import select
import signal
import threading

_STANDARD = (0, 1, 2)


def end_with_terminal() -> None:
    """From now on SIGHUP, or a closed terminal, is :class:`KeyboardInterrupt` in the main thread, once.

    Nothing is done where SIGHUP is ignored (``nohup``).  To be called by the main thread.
    """
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        return
    terminals = [fd for fd in _STANDARD if _is_terminal(fd)]

    def hang_up(*_: object) -> None:
        # The signal may come twice, from the kernel and from our thread; a second one is no wish to hurry.
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        _write_nowhere(terminals)
        signal.raise_signal(signal.SIGINT)

    signal.signal(signal.SIGHUP, hang_up)
    if terminals:
        watch = threading.Thread(target=_wait_for_end, args=(terminals[0],), name="terminal", daemon=True)
        watch.start()


def _is_terminal(fd: int) -> bool:
    try:
        return os.isatty(fd)
    except OSError:
        return False


def _wait_for_end(terminal: int) -> None:
    poll = select.poll()
    poll.register(terminal, 0)  # POLLHUP is always told
    poll.poll()
    # To that thread, which may sleep: one that went to another would be handled when it wakes up.
    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGHUP)


def _write_nowhere(terminals: list[int]) -> None:
    """What is said from now on must not fail for want of a listener."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for fd in terminals:
        os.dup2(nowhere, fd)
    os.close(nowhere)
