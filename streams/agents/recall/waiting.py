"""Requests for vectors that wait for a tenant's budget, so that those of other tenants need not.

What waits is kept in the table of the stage that embeds, under the key of the request: the latest one; what is
asked for later, or erased, takes its place.  When the day is over (UTC), and after a restart, which may have
brought another budget, it is asked for again: by a record with the header :data:`WAITED`, which says which
request waited.  If by then another one does, or none, nothing comes of it.

That record holds no text and has a key of its own: compaction would keep a copy of a request instead of the
erasure, or the later request, that it comes behind, and whoever reads the topic anew would take it for the
latest.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import UTC, datetime, timedelta

import msgspec

from models.vectors import EmbeddingRequest
from streams import cloudevents
from streams.runtime.codec import Codec
from streams.runtime.effects import Effects
from streams.runtime.records import SourceRecord, header
from streams.runtime.stage import StateReader, TimerContext
from streams.runtime.work import Work
from streams.vectors.requests import EVENT, REQUESTS

#: Of what asks again: where the request stands that waited.
WAITED = "waited-at"

#: What the key of a request has before it there.
_AGAIN = b"waits/"

_SOURCE = "/switchboard/recall"


class Waiting(msgspec.Struct, frozen=True, array_like=True):
    """A request that waits, and its offset."""

    offset: int
    request: EmbeddingRequest


WAITING: Codec[Waiting] = Codec("waiting-request", Waiting)


def asks_again(record: SourceRecord) -> bool:
    """Say whether a record asks again for what waits."""
    return header(record.headers, WAITED) is not None


def what_waits(
    record: SourceRecord, later: Collection[bytes], answered: int, work: Work
) -> tuple[bytes, EmbeddingRequest] | None:
    """Return the key and request that a record asks for again; ``None``: something was said about it since.

    ``later``: what its batch has said something about.  ``answered``: up to which offset an index that was
    built anew has had all of them: answered, or erased, without a word here.
    """
    key = (record.key or b"").removeprefix(_AGAIN)
    waiting = work.get(key, WAITING)
    if key in later or waiting is None or header(record.headers, WAITED) != _name(waiting):
        return None
    if waiting.offset < answered:
        settle(key, record.offset, work)
        return None
    return key, waiting.request


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
            name = _name(waiting)
            headers = cloudevents.outgoing(EVENT, _SOURCE, f"{key.decode()}/waits/{name.decode()}")
            work.emit(REQUESTS, _AGAIN + key, None, [*headers, (WAITED, name)], partition=context.partition)
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
