"""What is said to a terminal that has just closed, in a process of its own."""

from __future__ import annotations

import os
import pty
import subprocess
import sys

# The signal waits while the terminal is written to: as in the moment before it comes.
_SAYS_MORE = """
import select, signal, sys, time
from deploy.local.terminal import end_with_terminal

# Whoever runs the tests may have started them with these ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGHUP})
end_with_terminal()
print("ready")
closed = select.poll()
closed.register(1, 0)
closed.poll()
try:
    print("to nobody")
    print("to nobody", file=sys.stderr, flush=True)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGHUP})
    time.sleep(60)
except KeyboardInterrupt:
    sys.exit(130)
"""


def test_a_line_said_to_a_terminal_that_has_just_closed_does_not_fail() -> None:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-c", _SAYS_MORE]
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True)
    os.close(theirs)
    said = b""
    while b"ready" not in said:
        said += os.read(ours, 100)
    os.close(ours)
    assert process.wait(60) == 130
