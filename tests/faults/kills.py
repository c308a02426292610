"""Ways to kill a worker: at any time, or at the worst one (see dying.py)."""

from __future__ import annotations

import asyncio
import random
import signal
import sys
from pathlib import Path

from workers import Worker, eventually

DYING = Path(__file__).with_name("dying.py")


def dying_command(service: str, control: Path) -> list[str]:
    """A service that :func:`dies` can end."""
    return [sys.executable, str(DYING), service, str(control)]


async def kill_and_restart(worker: Worker, chance: random.Random, *, times: int) -> None:
    """Kill the worker at any time, now and then again while it starts."""
    for _ in range(times):
        await has_processed(worker, chance.randint(200, 4000))
        worker.kill()
        worker.start()
        if chance.random() < 0.3:
            await asyncio.sleep(chance.uniform(0.5, 4.0))
            worker.kill()
            worker.start()


async def dies(worker: Worker, control: Path, moment: str) -> None:
    """Have the worker killed after the outputs of a ``batch`` or a ``timer`` and before their state."""
    order = control / "die"
    order.write_text(moment)
    try:
        assert await worker.exits() == -signal.SIGKILL
    finally:
        order.unlink()


async def has_processed(worker: Worker, records: int) -> None:
    await worker.ready()

    async def enough() -> bool:
        return await worker.metric("records_total") >= records

    await eventually(enough, f"{records} records are taken")
