"""Acts of sentences: decided, to be done, left open, or set as a limit, by the reader model's scores."""

from __future__ import annotations

import re

from models.readings import ACTS, Act, Reading

#: A label says what a sentence is ("Todo for me: ..."), whatever the model thinks.
_LABELS = {
    Act.TODO: r"(?:to-?dos?|note to self|pendiente|à faire|zu erledigen)\b[^:.!?]{0,30}:",
    Act.DECISION: r"(?:decision|decided|entschieden|decidido|décidé)\b[^:.!?]{0,30}:",
    Act.QUESTION: r"(?:open|offene) (?:question|frage)\b[^:.!?]{0,30}:",
}
#: Words of a sentence that does one thing; a longer one tells many, and none of them is all of it.
_LONGEST = 24


def acts_of(text: str, reading: Reading) -> dict[Act, float]:
    """Return the probability of each act for a sentence."""
    label = next((act for act, pattern in _LABELS.items() if re.match(pattern, text, re.IGNORECASE)), None)
    if label is None and len(text.split()) > _LONGEST:
        label = Act.NONE
    return {
        act: share if label is None else float(act is label)
        for act, share in zip(ACTS, reading.acts, strict=True)
    }
