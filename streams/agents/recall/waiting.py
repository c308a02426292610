"""Requests for vectors that wait for a tenant's budget, so that those of other tenants need not.

What waits is kept in the table of the stage that embeds, under the key of the request: the latest one; what is
asked for later, or erased, takes its place.  When the day is over (UTC), and after a restart, which may have
brought another budget, it is asked for again: a copy with the header :data:`WAITED`, which says which request
waited.  If by then another one does, or none, nothing comes of the copy.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import UTC, datetime, timedelta

import msgspec

from models.vectors import EmbeddingRequest
from streams import embedding_requests
from streams.runtime.codec import Codec
from streams.runtime.effects import Effects
from streams.runtime.records import SourceRecord, header
from streams.runtime.stage import StateReader, TimerContext
from streams.runtime.work import Work

#: Of a request that is asked again: where the one stands that waited.
WAITED = "waited-at"

_SOURCE = "/switchboard/recall"


class Waiting(msgspec.Struct, frozen=True, array_like=True):
    """A request that waits, and its offset."""

    offset: int
    request: EmbeddingRequest


WAITING: Codec[Waiting] = Codec("waiting-request", Waiting)


def is_over(record: SourceRecord, key: bytes, later: Collection[bytes], work: Work) -> bool:
    """Say whether a record asks again for what something was said about since; ``later``: in its batch."""
    waited = header(record.headers, WAITED)
    if waited is None:
        return False
    waiting = work.get(key, WAITING)
    return key in later or waiting is None or waited != _name(waiting)


def wait(key: bytes, request: EmbeddingRequest, offset: int, now: datetime, work: Work) -> None:
    """Have a request wait until the next day."""
    work.put(key, Waiting(offset, request), WAITING, _mark(key, offset, work))
    work.wake(key, _tomorrow(now))


def settle(key: bytes, offset: int, work: Work) -> None:
    """Nothing about this thing waits any more, after what stands at ``offset``."""
    if work.get(key, WAITING) is not None:
        work.remove(key, _mark(key, offset, work))
        work.wake(key, None)


def ask_again(keys: Sequence[bytes], context: TimerContext, state: StateReader) -> Effects:
    """Ask again for what waits."""
    work = Work("embedding", state)
    for key in keys:
        waiting = work.get(key, WAITING)
        if waiting is not None:
            again = (WAITED, _name(waiting))
            embedding_requests.ask(work, waiting.request, _SOURCE, again, partition=context.partition)
    return work


def at_once(key: bytes, payload: bytes) -> float:
    """Return when to ask again after a restart."""
    return 0.0


def _mark(key: bytes, offset: int, work: Work) -> int:
    # Requests may be read again (`switchboard state rewind`): a mark that goes back would be a zombie's.
    return max(work.mark(key), offset + 1)


def _name(waiting: Waiting) -> bytes:
    return str(waiting.offset).encode()


def _tomorrow(now: datetime) -> float:
    day = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    return (day + timedelta(days=1)).timestamp()
