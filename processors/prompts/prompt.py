"""Parts of every prompt, and the reading of a truncated answer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from pydantic_core import from_json


class Prompt(NamedTuple):
    """Prompt for a model: the task (``system``), the material (``user``), and the JSON Schema of its answer.

    ``version`` names prompt and reading together; ``most_tokens`` bounds the answer.
    """

    version: str
    system: str
    user: str
    schema: Mapping[str, Any]
    most_tokens: int


#: How long the time of a message stands for those that follow on the same day.
_NAMED_FOR = timedelta(hours=1)


def named_times(sent: Iterable[datetime]) -> Iterator[datetime | None]:
    """Yield of each message when it was sent (UTC), ``None`` where that is soon after the last time named.

    With each message it was a quarter of what short messages take.
    """
    named: datetime | None = None
    for each in sent:
        at = each.astimezone(UTC)
        if named is not None and at.date() == named.date() and named <= at < named + _NAMED_FOR:
            yield None
        else:
            named = at
            yield at


class DecodedAnswer(NamedTuple):
    """Decoded JSON of an answer; ``cut``: its end is missing, and its last value may be incomplete."""

    content: Any
    cut: bool


def told(answer: str) -> DecodedAnswer | None:
    """Return the JSON of an answer, as far as it can be read; ``None`` if there is none."""
    text = _unwrapped(answer)
    try:
        return DecodedAnswer(from_json(text), False)
    except ValueError:
        pass
    try:
        return DecodedAnswer(from_json(text, allow_partial=True), True)
    except ValueError:
        return None


def _unwrapped(answer: str) -> bytes:
    """Return the contents of a code block, if a model has put its answer into one."""
    text = answer.strip()
    if text.startswith("```"):
        text = text.partition("\n")[2].removesuffix("```")
    return text.encode(errors="replace")  # halves of surrogate pairs


def items(value: Any) -> list[Any]:
    """Return a list as it is, and of anything else, ``null`` too, none (requirement 5)."""
    return value if isinstance(value, list) else []
