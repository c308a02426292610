"""Two clocks: the producer's (``sent_at``) and the log's (``arrived_at``)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

#: How far a producer's clock may be ahead of the log's.
AHEAD_MOST = timedelta(minutes=5)

_EPOCH = datetime.fromtimestamp(0, UTC)


def said_at(sent_at: datetime, arrived_at: datetime) -> datetime:
    """Return when something was said, for what supersedes what.

    That is when it was sent, unless it arrived before: what a clock says that runs ahead would win until the
    others have caught up.  A record without a time of its own (epoch) tells nothing of the producer's clock.
    """
    return arrived_at if _EPOCH < arrived_at < sent_at - AHEAD_MOST else sent_at
