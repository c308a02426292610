"""Difference between this machine's clock and the broker's, seen where the broker stamps what is written."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any

#: What is tolerated (seconds): machines without a time service drift by a few seconds a day.
TOLERATED = 30.0

#: A record's time is that of its arrival, by the broker (``LogAppendTime``).
_LOG_APPEND_TIME = 1


class BrokerClock:
    """Compares clocks.  A stamp must lie between the send and the confirmation, however long that took.

    ``ahead``: seconds by which this machine's clock is ahead, as the latest stamp says; negative: behind; 0: no
    more than is tolerated.  ``clock`` tells this machine's time (epoch seconds).
    """

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self.now = clock
        self.ahead = 0.0

    def note(self, sent: float, confirmed: Any) -> None:
        """Take what the broker answered to a batch that was sent at ``sent``."""
        if confirmed.timestamp_type != _LOG_APPEND_TIME:
            return
        stamped = confirmed.timestamp / 1000
        ahead = max(0.0, sent - stamped) or min(0.0, self.now() - stamped)
        self.ahead = ahead if abs(ahead) > TOLERATED else 0.0

    def note_latest(self, stamps: Iterable[float]) -> None:
        """Take stamps of records that were written by now: one of the future says that this clock is behind.

        That it is ahead cannot be told so: a topic to which nobody has written for an hour looks the same.
        """
        behind = max((stamped - self.now() for stamped in stamps), default=0.0)
        if behind > TOLERATED:
            self.ahead = -behind

    @property
    def complaint(self) -> str:
        """Sentence for a person, with what to do; ``""``: the clocks agree."""
        if not self.ahead:
            return ""
        direction, fire = ("ahead of", "early") if self.ahead > 0 else ("behind", "late")
        return (
            f"the clock of this machine is {abs(self.ahead):,.0f} s {direction} the broker's: set the one that "
            "is wrong, and keep both with a time service (NTP). Messages and facts follow the broker's; but "
            f"timers look {fire}, and lags, retention and the expiry of tokens are reckoned wrongly"
        )
