"""Requests for vectors that wait for a tenant's budget, so that those of other tenants need not.

What waits is kept in the table of the stage that embeds, under the key of the request: the latest one; what is
asked for later, or erased, takes its place.  When the day is over (UTC), and after a restart, which may have
brought another budget, it is asked for again: by a record with the header :data:`WAITED`, which says which
request waited.  If by then another one does, or none, nothing comes of it.

No request waits for ever.  What has waited for :data:`MOST_DAYS`, has failed :data:`MOST_FAILED` times when it
was asked for again, or is the oldest of more than :data:`MOST_WAITING` in its partition, goes to the
dead-letter queue, from where it can be asked for again.  How long it has waited is told by the clocks of
records.

That record holds no text and has a key of its own: compaction would keep a copy of a request instead of the
erasure, or the later request, that it comes behind, and whoever reads the topic anew would take it for the
latest.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from heapq import nsmallest

import msgspec

from models.vectors import EmbeddingRequest
from streams.agents.emitting import emit_tombstone
from streams.clients.records import Record, RecordBatch, SourceRecord, header
from streams.runtime.codec import Codec
from streams.runtime.effects import DeadLetter, Effects
from streams.runtime.stage import StateReader, TimerContext
from streams.runtime.work import Work

#: Of what asks again: where the request stands that waited.
WAITED = "waited-at"

#: What the key of a request has before it there.
_AGAIN = b"waits/"

#: How many requests of a partition wait, for how long, and how often one may fail that is asked for again.
MOST_WAITING = 10_000
MOST_DAYS = 30
MOST_FAILED = 5

_SOURCE = "/switchboard/recall"

_encode = msgspec.json.Encoder().encode

_DAY_MS = 24 * 3600 * 1000


class Waiting(msgspec.Struct, frozen=True, array_like=True):
    """A request that waits, and its offset.

    ``since``: when it, or what stood in its place, came (ms, of the record).  ``attempts``: how often it was
    asked for again since it was last over budget.
    """

    offset: int
    request: EmbeddingRequest
    since: int = 0
    attempts: int = 0


WAITING: Codec[Waiting] = Codec("waiting-request", Waiting)


def asks_again(record: SourceRecord) -> bool:
    """Say whether a record asks again for what waits."""
    return header(record.headers, WAITED) is not None


def what_waits(
    record: SourceRecord, later: Collection[bytes], answered: int, work: Work
) -> tuple[bytes, Waiting] | None:
    """Return the key of what a record asks for again, and that; ``None``: something was said about it since.

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
    if not waiting.since:  # an earlier release did not say
        waiting = msgspec.structs.replace(waiting, since=record.timestamp)
    return key, waiting


def wait(key: bytes, waiting: Waiting, now: datetime, work: Work) -> None:
    """Have a request wait until the next day."""
    work.put(key, waiting, WAITING, _mark(key, waiting.offset, work))
    work.wake(key, _tomorrow(now))


def settle(key: bytes, offset: int, work: Work) -> None:
    """Nothing about this thing waits any more, after what stands at ``offset``."""
    if work.get(key, WAITING) is not None:
        work.remove(key, _mark(key, offset, work))
        work.wake(key, None)


def gives_up(key: bytes, waiting: Waiting, record: SourceRecord, work: Work) -> bool:
    """Say whether what ``record`` asks for again has waited or failed enough; then it is dead-lettered."""
    if record.timestamp - waiting.since > MOST_DAYS * _DAY_MS:
        why = "waited_too_long", f"it waited for {MOST_DAYS} days for a budget; {_RAISE}"
    elif waiting.attempts > MOST_FAILED:
        why = "failed_too_often", f"it was asked for again {MOST_FAILED} times and failed each time; {_SEE}"
    else:
        return False
    _give_up(key, waiting, (record.topic, record.partition), why, work)
    settle(key, record.offset, work)
    return True


def keep_most(batch: RecordBatch, touched: Iterable[bytes], work: Work) -> None:
    """Dead-letter the oldest of what waits above :data:`MOST_WAITING`; ``touched``: keys of the batch."""
    keys = {*work.keys_ending(b""), *touched}
    if len(keys) <= MOST_WAITING:
        return
    found = ((key, work.get(key, WAITING)) for key in keys)
    waiting = [(each.since, each.offset, key, each) for key, each in found if each is not None]
    why = "too_many_wait", f"more than {MOST_WAITING:,} requests of its partition wait for a budget; {_RAISE}"
    for *_, key, oldest in nsmallest(len(waiting) - MOST_WAITING, waiting, key=lambda each: each[:3]):
        _give_up(key, oldest, (batch.topic, batch.partition), why, work)
        settle(key, batch.offset, work)


_RAISE = "raise SWITCHBOARD_MODEL_BUDGET_USD, then `switchboard dlq retry` asks for it again"
_SEE = "the letters before it say with what; mended, `switchboard dlq retry` asks for it again"


def _give_up(key: bytes, waiting: Waiting, at: tuple[str, int], why: tuple[str, str], work: Work) -> None:
    topic, partition = at
    record = Record(_encode(waiting.request), key, waiting.offset, topic, partition, waiting.since)
    work.dead_letters.append(DeadLetter(record, *why, max(1, waiting.attempts - 1)))


def ask_again(keys: Sequence[bytes], context: TimerContext, state: StateReader) -> Effects:
    """Ask again for what waits: now, and, if nothing comes of it, when the next day is over.

    It is counted only once all is read: before, what asked the last time may not have failed, but lie unread.
    """
    work = Work("embedding", state)
    for key in keys:
        waiting = work.get(key, WAITING)
        if waiting is not None:
            name = _name(waiting)
            emit_tombstone(
                work,
                EmbeddingRequest,
                (_AGAIN + key).decode(),
                f"{key.decode()}/waits/{name.decode()}",
                [(WAITED, name)],
                source=_SOURCE,
                partition=context.partition,
            )
            if context.caught_up:
                asked = msgspec.structs.replace(waiting, attempts=waiting.attempts + 1)
                work.put(key, asked, WAITING)
            work.wake(key, _tomorrow(datetime.fromtimestamp(context.now, UTC)))
    work.flush()
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
