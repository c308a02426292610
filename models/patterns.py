"""Regular expressions that people set: checked, and bounded in time by the engine that runs them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from models.errors import ConfigurationError

#: Patterns of one's own: more are a mistake, and each costs time for every message.
MOST_PATTERNS = 32
LONGEST_PATTERN = 500


def compiled(patterns: Sequence[str]) -> list[Any]:
    """Return the patterns compiled by RE2, whose matching takes linear time whatever the pattern.

    Raises:
        ConfigurationError: one of them is no regular expression, is too long, or matches the empty text.
    """
    if not patterns:
        return []
    import re2  # only who has patterns of his own needs it

    if len(patterns) > MOST_PATTERNS:
        raise ConfigurationError(f"{len(patterns)} patterns are too many: write at most {MOST_PATTERNS}")
    options = re2.Options()
    options.log_errors = False
    found = []
    for pattern in patterns:
        if len(pattern) > LONGEST_PATTERN:
            raise ConfigurationError(
                f"the pattern {pattern[:20]!r}... has {len(pattern)} characters, {LONGEST_PATTERN} are allowed"
            )
        try:
            one = re2.compile(pattern, options)
        except re2.error as error:
            why = error.args[0].decode(errors="replace") if isinstance(error.args[0], bytes) else error
            raise ConfigurationError(
                f"{pattern!r} is no regular expression of RE2 ({why}): see github.com/google/re2/wiki/Syntax"
            ) from error
        if one.search("") is not None:
            raise ConfigurationError(f"{pattern!r} matches the empty text: write what it must have at least")
        found.append(one)
    return found
