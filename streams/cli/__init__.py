"""The command `switchboard`: one file per command (group), and what they share.

* :mod:`.main` puts the commands together and turns errors into one line and an exit status.
* :mod:`.loading` loads a command when it is asked for.
* :mod:`.output` prints: tables, JSON lines, and text that cannot control the terminal.
* :mod:`.broker` reads from Kafka for people: no group, no commits, nothing changed.
"""

from __future__ import annotations

import sys
from types import TracebackType


def _without_interrupts(
    kind: type[BaseException], error: BaseException, traceback: TracebackType | None
) -> None:
    if not issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, traceback)


# Loading a command takes up to a second: Ctrl-C meanwhile is no error that anybody needs to see.
sys.excepthook = _without_interrupts
