"""The wait that a response asks for in its ``Retry-After`` header."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

#: Longest wait that a response may ask for (seconds).
LONGEST_WAIT = 3600.0


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the wait that headers ask for (seconds, or a date), ``None`` if they ask for none."""
    if (ms := _number(headers.get("retry-after-ms", ""))) is not None:
        return _within(ms / 1000)
    header = headers.get("retry-after", "")
    if (seconds := _number(header)) is not None:
        return _within(seconds)
    try:
        return _within((parsedate_to_datetime(header) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError):
        return None


def _within(seconds: float) -> float:
    return min(max(seconds, 0.0), LONGEST_WAIT)


def _number(text: str) -> float | None:
    try:
        return None if math.isnan(number := float(text)) else number
    except ValueError:
        return None
