"""The token table of a conversation: what is summarized, when to ask for a summary (requirement 5.1).

Messages are numbered 0, 1, 2, ... in the order of the log.  The table cuts them in three: those that accepted
summaries cover, those that the open request covers, and the rest::

    0 ............ 9 | 10 ........... 19 | 20 ....... 23
    summary (81)     | open request      | unsummarized       context = 81 + tokens of 10..23

The rule: when the unsummarized messages and the summaries together exceed the threshold, ask for a summary
of the unsummarized messages.  What the requirement leaves open is decided here:

* **Where a range ends.**  At the first message that carries the context above the threshold, even if later
  ones are already in the table.  Ranges then depend on the messages and the summaries alone, not on how they
  were batched or on how long a summary took: a replay asks for the same ranges, so it writes the same ids.
  It also bounds a request by the threshold and one message, however many came in while the last was open.
* **One message above the threshold** ends its range like any other; it is summarized, the context shrinks.
* **A range that fits into no record** (a threshold far above the default) ends earlier, by the bytes of its
  messages alone: :func:`shortened`.
* **Summaries that fill the context.**  As soon as they exceed their share of the threshold (half), all of
  them are rolled up into one.  Messages therefore always have the other half, and a request is due per half
  a threshold of messages, never per message.
* **A roll-up that does not shrink** cannot loop: one summary alone is never rolled up, and summaries count
  against the threshold with no more than their share.  Whoever builds summaries bounds their tokens, so this
  is the last line of defence, not the usual case.
* **A summary that is no shorter than what it replaces** is refused: its messages stay, and the range grows
  until it has twice the tokens of what was refused.  At a threshold of a few tokens a summary would else be
  longer than each message, and there would be one for each.  What was once too little stays too little, until
  a summary is taken from less than half of it.  After :data:`MAXIMUM_REFUSALS` in a row one is taken as it is:
  whoever never shortens anything must not keep messages for ever.  An empty summary takes up nothing, so it
  is never refused, nor is a roll-up: there is one summary less after it.
* **No answer** (a crash, a failure: failures mark nothing): the same range is asked for again, with the same
  id and a higher attempt, after ``retry_after`` seconds, then twice that, and so on up to 64 times.
* **An answer to anything but the open request** changes nothing: it is a duplicate, or it belongs to a request
  that this table will open (again) and that will be answered (again).  A request is told by its id, which is
  made of what it is about (:mod:`models.ids`): indices count from wherever the log began when the state did,
  so what was once said of 0..6 may be about other messages.

No range is asked for again once its summary was accepted: messages move past it, and a roll-up spans at least
two summaries.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from itertools import accumulate

import msgspec

#: The part of the threshold that summaries may fill before they are rolled up into one.
ROLL_UP_SHARE = 0.5

#: So many summaries are rolled up even if they are small, or the table would grow for ever.
MAXIMUM_SUMMARIES = 32

#: So many summaries in a row are refused for being too long; each time the range has to double.
MAXIMUM_REFUSALS = 4

#: The waiting time between repeats doubles no more often than this: 64 times ``retry_after``.
MAXIMUM_DOUBLINGS = 6


class AcceptedSummary(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A summary of ``from_index``..``to_index``.  ``replaces``: ids of those it rolled up, or empty."""

    summary_id: str
    from_index: int
    to_index: int
    tokens: int
    replaces: tuple[str, ...] = ()


class OpenRequest(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A request that waits for its summary.  ``asked_at``: seconds, on the clock that the caller passes in;
    ``arrived_at``: when the last message of the range arrived (epoch seconds).
    """

    request_id: str
    from_index: int
    to_index: int
    arrived_at: float
    asked_at: float
    attempt: int = 1
    roll_up: bool = False


class TokenTable(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The state of one conversation; immutable, and small enough to be stored with every change.

    ``from_index`` is the first unsummarized message and ``counts`` the tokens of it and all after it.
    ``too_few`` tokens are not worth a summary, as ``refusals`` in a row have shown.
    """

    from_index: int = 0
    counts: tuple[int, ...] = ()
    summaries: tuple[AcceptedSummary, ...] = ()
    open: OpenRequest | None = None
    too_few: int = 0
    refusals: int = 0

    @property
    def next_index(self) -> int:
        """The index that the next message gets."""
        return self.from_index + len(self.counts)


class RequestPlan(msgspec.Struct, frozen=True):
    """A request to publish.  ``tokens``: the context that led to it, summaries and messages up to ``to_index``.

    A roll-up carries the summaries ``replaces`` instead of messages.
    """

    from_index: int
    to_index: int
    tokens: int
    replaces: tuple[str, ...] = ()
    roll_up: bool = False
    attempt: int = 1


class RangeState(StrEnum):
    """Status of a range of messages."""

    SUMMARIZED = "summarized"
    REQUESTED = "requested"
    UNSUMMARIZED = "unsummarized"


class TableRange(msgspec.Struct, frozen=True):
    """A row of the table as shown to people; ``tokens`` of a summarized range are those of its summary."""

    from_index: int
    to_index: int
    tokens: int
    state: RangeState
    summary_id: str = ""


def add(table: TokenTable, counts: Sequence[int]) -> TokenTable:
    """Return the table with a run of messages appended; ``counts``: tokens of each (``message_tokens``)."""
    if not counts:
        return table
    return TokenTable(
        table.from_index, (*table.counts, *counts), table.summaries, table.open, table.too_few, table.refusals
    )


def summary_tokens(table: TokenTable) -> int:
    """Return the tokens of all accepted summaries."""
    return sum([summary.tokens for summary in table.summaries])


def context_tokens(table: TokenTable) -> int:
    """Return the tokens of the conversation's context: unsummarized messages and summaries."""
    return summary_tokens(table) + sum(table.counts)


def due(table: TokenTable, threshold: int, roll_up_share: float = ROLL_UP_SHARE) -> RequestPlan | None:
    """Return the request that is to be opened now, or ``None``.

    ``threshold`` in tokens; a context of exactly that many is not above it.  ``roll_up_share``: 0 to 1.
    """
    if table.open is not None:
        return None
    summaries = summary_tokens(table)
    share = int(threshold * roll_up_share)
    count = len(table.summaries)
    if count > 1 and (summaries > share or count >= MAXIMUM_SUMMARIES):
        return _roll_up(table, attempt=1)
    room = max(threshold - min(summaries, share), table.too_few)
    if sum(table.counts) <= room:
        return None
    last = next(i for i, total in enumerate(accumulate(table.counts)) if total > room)
    return _summarize(table, table.from_index + last, attempt=1)


def shortened(table: TokenTable, plan: RequestPlan, to_index: int) -> RequestPlan:
    """Return the request for no more than the messages up to ``to_index``."""
    return _summarize(table, to_index, plan.attempt)


def opened(
    table: TokenTable, plan: RequestPlan, request_id: str, now: float, *, arrived_at: float = 0.0
) -> TokenTable:
    """Return the table with ``plan`` as its open request, for a new request and for a repeat alike."""
    request = OpenRequest(
        request_id, plan.from_index, plan.to_index, arrived_at, now, plan.attempt, plan.roll_up
    )
    return TokenTable(table.from_index, table.counts, table.summaries, request, table.too_few, table.refusals)


def repeat_at(table: TokenTable, retry_after: float) -> float | None:
    """Return when the open request's answer is overdue, on the clock of ``opened``; ``None``: none is open.

    Waiting times double from ``retry_after`` seconds on: a summarizer that was away for hours must not find
    each request a hundred times.
    """
    request = table.open
    if request is None:
        return None
    doublings = min(request.attempt - 1, MAXIMUM_DOUBLINGS)
    return request.asked_at + float(retry_after * 2**doublings)


def repeat_due(table: TokenTable, now: float, retry_after: float) -> RequestPlan | None:
    """Return the open request again, one attempt higher, if its answer is overdue (:func:`repeat_at`)."""
    request, overdue_at = table.open, repeat_at(table, retry_after)
    if request is None or overdue_at is None or now < overdue_at:
        return None
    if request.roll_up:
        return _roll_up(table, request.attempt + 1)
    return _summarize(table, request.to_index, request.attempt + 1)


def is_refused(table: TokenTable, tokens: int) -> bool:
    """Tell whether a summary of ``tokens`` is no shorter than the messages of the open request."""
    request = table.open
    if request is None or request.roll_up or table.refusals >= MAXIMUM_REFUSALS:
        return False
    return tokens >= sum(table.counts[: request.to_index + 1 - request.from_index])


def accept(table: TokenTable, request_id: str, summary_id: str, tokens: int) -> TokenTable:
    """Return the table with the open request answered; the next one may be due at once.

    Returns ``table`` itself unless ``request_id`` is the open request's: ``is`` tells whether it was taken.  A
    refused summary (:func:`is_refused`) closes the request, and its messages stay unsummarized.
    """
    request = table.open
    if request is None or request.request_id != request_id:
        return table
    if is_refused(table, tokens):
        too_few = max(2 * tokens, table.too_few)
        return TokenTable(table.from_index, table.counts, table.summaries, None, too_few, table.refusals + 1)
    from_index, to_index = request.from_index, request.to_index
    if request.roll_up:
        replaces = tuple(summary.summary_id for summary in table.summaries)
        accepted = AcceptedSummary(summary_id, from_index, to_index, tokens, replaces)
        return TokenTable(table.from_index, table.counts, (accepted,), None, table.too_few, table.refusals)
    accepted = AcceptedSummary(summary_id, from_index, to_index, tokens)
    cut = to_index + 1 - from_index
    if table.refusals >= MAXIMUM_REFUSALS:
        too_few = 0
    else:  # an empty summary says nothing of how long others are
        too_few = min(table.too_few, 2 * tokens) if tokens else table.too_few
    return TokenTable(to_index + 1, table.counts[cut:], (*table.summaries, accepted), None, too_few)


def ranges(table: TokenTable) -> list[TableRange]:
    """Return the table's rows in the order of the messages: no overlap, no hole."""
    rows = [
        TableRange(
            summary.from_index, summary.to_index, summary.tokens, RangeState.SUMMARIZED, summary.summary_id
        )
        for summary in table.summaries
    ]
    start, request = table.from_index, table.open
    if request is not None and not request.roll_up:
        tokens = sum(table.counts[: request.to_index + 1 - start])
        rows.append(TableRange(start, request.to_index, tokens, RangeState.REQUESTED))
        start = request.to_index + 1
    if start < table.next_index:
        tokens = sum(table.counts[start - table.from_index :])
        rows.append(TableRange(start, table.next_index - 1, tokens, RangeState.UNSUMMARIZED))
    return rows


def _summarize(table: TokenTable, to_index: int, attempt: int) -> RequestPlan:
    counted = table.counts[: to_index + 1 - table.from_index]
    return RequestPlan(table.from_index, to_index, summary_tokens(table) + sum(counted), attempt=attempt)


def _roll_up(table: TokenTable, attempt: int) -> RequestPlan:
    return RequestPlan(
        table.summaries[0].from_index,
        table.summaries[-1].to_index,
        summary_tokens(table),
        replaces=tuple(summary.summary_id for summary in table.summaries),
        roll_up=True,
        attempt=attempt,
    )
