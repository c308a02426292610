"""Selection of turns that may support known facts: those in which people speak of themselves."""

from __future__ import annotations

import re

from models.messages import Role
from models.turns import Turn
from models.vectors import Saying
from processors.facts.merging.guards import denies
from processors.text.sentences import sentences

#: Characters of a turn that are looked at: as many as are embedded.
_LONGEST = 4_000

_FIRST_PERSON = re.compile(r"\b(?:i|my|me|mine|we|our|us)\b", re.IGNORECASE)


def saying_of(turn: Turn) -> Saying | None:
    """Return where a turn was said; ``None`` if in no sentence of it the person tells of themselves.

    What they only ask says nothing of them.
    """
    text = turn.text[:_LONGEST]
    if turn.role is not Role.USER or not _FIRST_PERSON.search(text):
        return None
    told = [each for each in sentences(text) if not each.endswith("?") and _FIRST_PERSON.search(each)]
    if not told:
        return None
    return Saying(
        conversation_id=turn.conversation_id,
        sent_at=turn.sent_at,
        arrived_at=turn.arrived_at,
        denies=any(map(denies, told)),
    )
