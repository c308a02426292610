"""How long to wait before something is tried again: exponentially longer, with jitter, up to a limit."""

from __future__ import annotations

import random

#: 2 to the power of more is above every limit, and in the end no float any more.
_MOST_DOUBLINGS = 20


def backoff(attempt: int, first: float, longest: float) -> float:
    """Return the wait (seconds) before repetition ``attempt`` (1, 2, ...).

    It lies between a half and the whole of ``first * 2**attempt``, but no more than ``longest``: what failed
    together must not come back together.  After Brooker, "Exponential Backoff And Jitter" (AWS Architecture
    Blog, 2015), "equal jitter".
    """
    return min(longest, first * 2.0 ** min(attempt, _MOST_DOUBLINGS)) * random.uniform(0.5, 1.0)
