"""Nothing is left out (rule 6): a fetch begins where the last one ended."""

from __future__ import annotations

from models.errors import ConsistencyError
from streams.runtime.consumer_thread import BatchConsumerThread, Fetch
from streams.runtime.epoch import Epoch
from streams.runtime.faust_internals import TP


def reset_hint(service: str, generation: str) -> str:
    """Return advice for a person when state and topic contradict each other."""
    if generation:
        return (
            "A replay reads all from its beginning: throw it away (`switchboard replay drop "
            f"{generation}`) and start it again; `switchboard replay plan` says what the log still holds"
        )
    return (
        "To start over from what the topics hold now, stop the service's workers and run: "
        f"switchboard state reset {service}"
    )


async def check_start(
    tp: TP, fetched: int, fetch: Fetch, thread: BatchConsumerThread, epoch: Epoch, reset_hint: str
) -> None:
    """Refuse a fetch that does not begin at ``fetched``, where the one before it ended.

    Raises:
        ConsistencyError: retention or a deleted topic took what lies between.
    """
    if fetch.start == fetched:
        return
    beginning = (await thread.offsets([tp]))[tp].beginning
    if not epoch.running:
        return
    if beginning > fetched:
        raise ConsistencyError(
            f"{tp.topic}-{tp.partition}: retention removed offsets {fetched} to {beginning - 1} "
            f"before they were read. Restore them, or accept the loss: {reset_hint}"
        )
    raise ConsistencyError(
        f"{tp.topic}-{tp.partition} was read up to offset {fetched}, which the broker no longer has: the "
        f"topic was deleted and made again. {reset_hint}"
    )
