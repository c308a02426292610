"""A service that ends itself at the worst moment: ``python dying.py SERVICE FOLDER``.

The real service; but while there is a file ``die`` in FOLDER, the process is killed between the confirmation of
outputs and that of the state that goes with them: of a ``batch`` or of a ``timer``, as the file says.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Mapping
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from patient import be_patient

from streams.config.settings import load_settings
from streams.runtime.lane import Lane
from streams.runtime.publisher import Packed, Publisher
from streams.server.process.worker import run

#: What the running task carries out, if outputs are part of it.
_doing: ContextVar[str] = ContextVar("doing", default="")


def main(service: str, control: Path) -> int:
    finish, pack_values = Lane._finish, Publisher.pack_values
    order = control / "die"

    async def noting_finish(self: Lane, prepared: Any, event: Any, *links: Any) -> None:
        _doing.set(("timer" if event is None else "batch") if prepared.packed else "")
        await finish(self, prepared, event, *links)

    def deadly_pack_values(
        self: Publisher, topic: str, partition: int, values: Mapping[bytes, bytes]
    ) -> Packed:
        if values and _doing.get() and order.exists() and order.read_text() == _doing.get():
            os.kill(os.getpid(), signal.SIGKILL)
        return pack_values(self, topic, partition, values)

    Lane._finish = noting_finish  # type: ignore[method-assign,assignment]  # the moment lies inside
    Publisher.pack_values = deadly_pack_values  # type: ignore[method-assign]  # see above
    be_patient()
    return run(service, load_settings())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2])))
