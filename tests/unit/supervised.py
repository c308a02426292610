"""A supervisor as a process of its own, and children that do as they are told.

``python supervised.py FOLDER NAME=HOW...``: a child writes its pid to ``FOLDER/NAME.pid`` once it can be
signalled, and counts its lives in ``FOLDER/NAME.lives``.  HOW: ``stop`` ends with 0 on SIGTERM, ``ignore`` does
not end, ``fail`` ends with 70 on SIGTERM, and a number is an exit status at once.  Children are as nice as can
be; on SIGUSR1 all start again, as nice as others.
"""

from __future__ import annotations

import asyncio
import signal
import sys

from streams.config.settings import load_settings
from streams.server.process.supervisor import Process, Supervisor
from streams.telemetry.logs import configure_logging

_CHILD = """
import os, signal, sys
from pathlib import Path
folder, name, how = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
if how == "ignore":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
else:
    signal.signal(signal.SIGTERM, lambda *_: os._exit(70 if how == "fail" else 0))
with (folder / f"{name}.lives").open("a") as lives:
    lives.write("x")
if how.isdigit():
    sys.exit(int(how))
(folder / f"{name}.new").write_text(str(os.getpid()))
(folder / f"{name}.new").rename(folder / f"{name}.pid")
while True:
    signal.pause()
"""


def main(folder: str, *children: str) -> int:
    settings = load_settings()
    configure_logging("info", "json")
    processes = []
    for child in children:
        name, how = child.split("=")
        command = [sys.executable, "-I", "-S", "-c", _CHILD, folder, name, how]
        processes.append(Process(name, command, nice=19))

    async def run() -> int:
        supervisor = Supervisor(processes, settings)
        asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, supervisor.restart, 0)
        return await supervisor.run()

    return asyncio.run(run())


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
