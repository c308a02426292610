"""An answer to what was asked back: which reading somebody chose, or that they said it in their own words."""

from __future__ import annotations

import re
from collections.abc import Sequence

from models.messages import Role
from models.turns import Turn
from models.understanding import QueryUnderstanding
from processors.prompts.answering.plain import ASKS_BACK

_READING = re.compile(r"^(\d)\. (.+)$", re.M)
_CHOSEN = re.compile(r"^\W*(?:the )?(?:(\d)|(first|second|third))(?: one)?\W*$", re.I)
_WORDS = {"first": "1", "second": "2", "third": "3"}


def chosen(text: str, recent: Sequence[Turn]) -> QueryUnderstanding | None:
    """Return the meaning chosen by the reply to a clarifying question; ``None`` if there was none.

    They are not asked back a second time: what they say then is taken as it is.
    """
    asked = recent[-1] if recent else None
    if (
        asked is None
        or asked.role is not Role.ASSISTANT
        or not asked.text.startswith(tuple(ASKS_BACK.values()))
    ):
        return None
    readings = dict(_READING.findall(asked.text))
    found = _CHOSEN.match(text.strip())
    number = "" if found is None else found[1] or _WORDS[found[2].lower()]
    meant = readings.get(number)
    return QueryUnderstanding(
        query=text,
        is_ambiguous=False,
        score=0.0,
        rewritten_query=meant,
        final_augmented_context=meant or text,
    )
