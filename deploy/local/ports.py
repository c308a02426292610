"""TCP ports on this machine's loopback interface."""

from __future__ import annotations

import contextlib
import random
import socket
from pathlib import Path

LOOPBACK = "127.0.0.1"
_EPHEMERAL_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")


def is_free(port: int) -> bool:
    """Whether a server could listen on ``port`` now."""
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
    could find its port taken, and a client that retries while it is down could connect to itself.  Another
    process may take a port between this call and its use: whoever starts a server on one tries again.
    """
    ephemeral = 32768
    with contextlib.suppress(OSError, ValueError, IndexError):
        ephemeral = int(_EPHEMERAL_RANGE.read_text().split()[0])
    candidates = range(20000, ephemeral) if ephemeral > 21000 else range(20000, 65535)
    # Not the seeded generator: two test runs with one seed must not pick the same ports.
    chosen: list[int] = []
    for port in random.SystemRandom().sample(candidates, k=min(len(candidates), 1000)):
        if is_free(port):
            chosen.append(port)
            if len(chosen) == count:
                return chosen
    raise OSError(f"fewer than {count} free ports between {candidates.start} and {candidates.stop}")
