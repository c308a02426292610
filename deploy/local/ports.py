"""TCP ports on this machine's loopback interface."""

from __future__ import annotations

import contextlib
import fcntl
import os
import random
import socket
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

LOOPBACK = "127.0.0.1"

#: A port that was given to somebody is given to nobody else for so long: who asked has its server up by then.
_PROMISED_SECONDS = 600.0

_EPHEMERAL_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")


def is_free(port: int) -> bool:
    """Return whether a server could listen on ``port`` now."""
    with socket.socket() as candidate:
        # As servers do it: connections of an earlier server that still linger (TIME_WAIT) are no obstacle.
        candidate.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            candidate.bind((LOOPBACK, port))
            candidate.listen()
        except OSError:
            return False
        return True


def free_ports(count: int) -> list[int]:
    """``count`` different ports that are free now, from below the kernel's ephemeral range.

    Not "bind to 0": those ports are handed out to outgoing connections too, so a server that is restarted
    could find its port taken, and a client that retries while it is down could connect to itself.  Whoever
    else on this machine asks here is given others for some minutes.  A stranger may take a port between this
    call and its use: whoever starts a server on one tries again.
    """
    ephemeral = 32768
    with contextlib.suppress(OSError, ValueError, IndexError):
        ephemeral = int(_EPHEMERAL_RANGE.read_text().split()[0])
    candidates = range(20000, ephemeral) if ephemeral > 21000 else range(20000, 65535)
    # Not the seeded generator: two test runs with one seed must not pick the same ports.
    chosen: list[int] = []
    with _promised() as promised:
        for port in random.SystemRandom().sample(candidates, k=min(len(candidates), 2000)):
            if port not in promised and is_free(port):
                promised[port] = time.time()
                chosen.append(port)
                if len(chosen) == count:
                    return chosen
    raise OSError(f"fewer than {count} free ports between {candidates.start} and {candidates.stop}")


@contextlib.contextmanager
def _promised() -> Iterator[dict[int, float]]:
    """Yield when each port was given away lately, by any process of this user; who adds one gives it away."""
    try:
        path = Path(tempfile.gettempdir(), f"switchboard-ports-{os.getuid()}")
        notes = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    except OSError:  # nowhere to note it: whoever starts a server tries again anyway
        yield {}
        return
    with os.fdopen(notes, "r+", errors="replace") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        now, given = time.time(), {}
        for line in file:
            port, _, at = line.partition(" ")
            with contextlib.suppress(ValueError):  # half a line, of a process that was killed
                if 0 <= now - float(at) < _PROMISED_SECONDS:
                    given[int(port)] = float(at)
        yield given
        file.seek(0)
        file.truncate()
        file.writelines(f"{port} {at}\n" for port, at in given.items())
