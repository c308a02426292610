"""Child processes that never outlive the process that started them, not even when that is killed with -9.

The kernel is asked (``PR_SET_PDEATHSIG``) to kill the child when its parent goes.  Two traps are avoided:

* the signal follows the *thread* that forked, so all children are started from one thread that lives as long
  as the process does;
* the request is made by the child itself, in a small program that then turns into the real one (``exec``):
  running Python between fork and exec (``preexec_fn``) can deadlock in a process that has threads.

Where the kernel cannot do this (macOS), children are ended when the interpreter exits normally.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import IO

_PR_SET_PDEATHSIG = 1
_KILL_SECONDS = 10.0  # longer than the kernel takes to clear away what was killed
_children: set[subprocess.Popen[bytes]] = set()
_spawner: ThreadPoolExecutor | None = None
_spawner_pid = 0


def spawn(
    command: Sequence[str | Path],
    *,
    output: IO[bytes] | int | None = None,
    errors: IO[bytes] | int | None = None,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    nice: int = 0,
) -> subprocess.Popen[bytes]:
    """Start ``command`` in a session of its own: Ctrl-C reaches its parent, which stops it in order.

    ``output`` takes both stdout and stderr, unless ``errors`` takes stderr.  ``nice``: 19 leaves the processors
    to whoever else wants them.  The returned pid is that of the command itself.
    """
    arguments = [sys.executable, "-I", "-S", __file__, str(os.getpid()), str(nice), *map(str, command)]

    def start() -> subprocess.Popen[bytes]:
        _children.difference_update([child for child in _children if child.returncode is not None])
        child = subprocess.Popen(
            arguments,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output if errors is None else errors,
            env=None if env is None else dict(env),
            cwd=cwd,
            start_new_session=True,
        )
        _children.add(child)  # here: whoever waits for us may be interrupted before it learns of its child
        return child

    starting: Future[subprocess.Popen[bytes]] | None = None
    try:
        with _ctrl_c_waits():
            starting = _spawning_thread().submit(start)
        return starting.result()
    except BaseException:  # Ctrl-C: nobody else will hear of this child
        if starting is not None and not starting.cancel() and starting.exception() is None:
            end(starting.result(), 0.0)
        raise


@contextlib.contextmanager
def _ctrl_c_waits() -> Iterator[None]:
    """Let Ctrl-C be heard at the end of the block.

    A pool that is interrupted while its thread starts forgets that thread, and the process waits for it for
    ever when it ends.
    """
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield  # nothing is raised here
        return
    came: list[int] = []
    signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if came:
            signal.raise_signal(signal.SIGINT)


def end(child: subprocess.Popen[bytes], grace: float) -> int:
    """SIGTERM, wait up to ``grace`` seconds, then SIGKILL.  Returns the exit status."""
    if child.poll() is None:
        # A process that is stopped (SIGSTOP) would only see the SIGTERM once continued.
        for number in (signal.SIGTERM, signal.SIGCONT):
            with contextlib.suppress(ProcessLookupError):
                child.send_signal(number)
        try:
            child.wait(grace)
        except subprocess.TimeoutExpired:
            child.kill()
    return child.wait()


def _spawning_thread() -> ThreadPoolExecutor:
    global _spawner, _spawner_pid
    if _spawner is None or _spawner_pid != os.getpid():  # a forked process has no copy of the thread
        _spawner = ThreadPoolExecutor(1, thread_name_prefix="child_process")
        _spawner_pid = os.getpid()
    return _spawner


@atexit.register
def _end_children() -> None:
    if _spawner_pid == os.getpid():
        left = [child for child in _children if child.poll() is None]
        for child in left:
            child.kill()
        for child in left:  # or who saw us end would still find them
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(_KILL_SECONDS)


def _become(parent: int, nice: int, command: list[str]) -> None:
    if sys.platform == "linux":
        import ctypes

        libc = ctypes.CDLL(None, use_errno=True)
        if libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) != 0:
            sys.exit(f"prctl: {os.strerror(ctypes.get_errno())}")
    if os.getppid() != parent:  # it died before the kernel was asked
        sys.exit("the parent process is gone")
    if nice:
        os.nice(nice)
        # Where Linux shares processors out by sessions, how nice one is counts only within it.
        with contextlib.suppress(OSError):
            Path("/proc/self/autogroup").write_text(str(nice))
    try:
        os.execvp(command[0], command)
    except OSError as error:
        sys.exit(f"{command[0]}: {error.strerror}")


if __name__ == "__main__":
    _become(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
