"""Nothing is left out (rule 6): a fetch begins where the last one ended, a changelog is read to its end."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from models.errors import ConsistencyError
from streams.runtime.faust_internals import TP

if TYPE_CHECKING:
    from streams.runtime.consumer_thread import BatchConsumerThread, Fetch
    from streams.runtime.service import ServiceRuntime

#: How long Faust's recovery may be silent before what it has left out of a changelog is fetched again.
_RECOVERY_PATIENCE = 0.5


async def check_start(
    tp: TP, position: int, fetch: Fetch, thread: BatchConsumerThread, reset_hint: str
) -> None:
    """Refuse a fetch that does not begin at ``position``, where the one before it ended.

    Raises:
        ConsistencyError: retention or a deleted topic took what lies between.
    """
    if fetch.start == position:
        return
    beginning = (await thread.offsets([tp]))[tp].beginning
    if beginning > position:
        raise ConsistencyError(
            f"{tp.topic}-{tp.partition}: retention removed offsets {position} to {beginning - 1} "
            f"before they were read. Restore them, or accept the loss: {reset_hint}"
        )
    raise ConsistencyError(
        f"{tp.topic}-{tp.partition} was read up to offset {position}, which the broker no longer has: the "
        f"topic was deleted and made again. {reset_hint}"
    )


async def read_to_end(changelogs: set[TP], thread: BatchConsumerThread, runtime: ServiceRuntime) -> None:
    """Make sure that the tables hold all of their changelogs before any step reads them.

    Faust's recovery takes a timeout for success, and drops what waits in its queue when it resumes the
    flow; what it left out is fetched again.
    """
    known = await thread.offsets(changelogs)
    before: dict[TP, int] = {}
    since = time.monotonic()
    while unread := runtime.unread_changelogs(known):
        now = time.monotonic()
        if unread != before:
            before, since = unread, now
        elif now - since > _RECOVERY_PATIENCE:
            runtime.log.warning("reading on where recovery left a changelog", partitions=len(unread))
            since = now
            await thread.seek_all(unread)
        await asyncio.sleep(0.01)
