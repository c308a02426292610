"""Cause of a dead letter, from its message: the wrong field, and the reason."""

from __future__ import annotations

import re

#: Where a message names a field: as a JSON path, by its name in backticks, or as its first word.
_FIELD = re.compile(
    r"at `\$(?:\[\.\.\.\]|\.)?(?P<path>[^`]*)`|required field `(?P<missing>[^`]*)`"
    r"|^(?P<first>content|sent_at|metadata|(?:message|conversation|user|tenant|response)_id)\b"
)
#: What differs between two messages of one cause: numbers, times, values in quotation marks.
_VARYING = re.compile(r"'[^']*'|\"[^\"]*\"|\d[\d.,:+TZ-]*")


def field_of(message: str) -> str:
    """Return the field that the message of a letter names; ``""`` if it names none."""
    found = _FIELD.search(message)
    return next(filter(None, found.groups()), "") if found else ""


def cause_of(message: str) -> str:
    """Return the common cause of letters with the same mistake."""
    return _VARYING.sub("…", message)
