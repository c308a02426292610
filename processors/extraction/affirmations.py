"""Plain affirmations and denials of one thing: "I like jazz", "I don't drink coffee any more", "I sold my car".

They fill a slot that holds many values, so that a denial ends the affirmation and the other way round.  Only short
English sentences that begin with the first person are read; everything else stays a quotation without a slot.
"""

from __future__ import annotations

import re

from models.statements import Polarity
from processors.extraction.slots import Slot

#: Words of a sentence that is read, at most.
_LONGEST = 12

_I = r"^(?:(?:and|but|also|no|yes|well|btw|by the way|actually|ok)[, ]+)*i(?: (?:really|just|also|now|still|actually|absolutely|do))*"
_VALUE = (
    r"(?P<v>(?!to\b|again\b|now\b|too\b|it\b|that\b|this\b|them\b|him\b|her\b|you\b)[\w'’ -]{2,40}?)"
    r"(?=[.!,;]|$| (?:now|again|any ?more|anymore|every|these days|at all|a lot|very much|too|but|because|so|since|when|on|with|for|at|in|last|this)\b)"
)
_NOT = r"(?:don['’]?t|do not|dont|no longer|never|can['’]?t|cannot)"
_VERBS = "drink|eat|smoke|play|use|drive|wear"
_GERUNDS = {
    "drinking": "drink",
    "eating": "eat",
    "smoking": "smoke",
    "playing": "play",
    "using": "use",
    "driving": "drive",
    "wearing": "wear",
}
_ARTICLE = r"(?:an?|any|my|our|the|another|one) "
_ROWS = tuple(
    (attribute, denied, re.compile(_I + pattern, re.IGNORECASE))
    for attribute, denied, pattern in (
        (
            "like",
            True,
            rf" (?:(?:{_NOT}) (?:even )?(?:like|love|enjoy|stand)|hate|dislike|detest|can['’]?t stand) {_VALUE}",
        ),
        ("like", False, rf" (?:like|love|enjoy|adore) {_VALUE}"),
        ("habit", True, rf" (?:{_NOT}) (?P<verb>{_VERBS})(?: {_VALUE})?"),
        (
            "habit",
            True,
            rf"(?:['’]ve| have)? (?:quit|stopped|gave up|given up) (?P<verb>{'|'.join(_GERUNDS)})(?: {_VALUE})?",
        ),
        ("habit", False, rf" (?P<verb>{_VERBS})(?: {_VALUE})?"),
        ("possession", True, rf" (?:(?:{_NOT}) (?:have|own)|(?:['’]ve )?sold|gave away) {_ARTICLE}{_VALUE}"),
        ("possession", False, rf"(?:['’]ve)? (?:have|own|bought|got|have got) {_ARTICLE}{_VALUE}"),
    )
)
#: An article tells one thing from what people have in mind: "I have a dog called Rex" is read by the table of slots.
_NO_POSSESSION = re.compile(
    r"\b(?:dog|cat|daughter|son|sister|brother|wife|husband|friend|question|idea|problem|called|named)\b", re.I
)


def affirmed_or_denied(text: str) -> list[Slot]:
    """Return the slot that a plain affirmation or denial fills; none for any other sentence."""
    if len(text.split()) > _LONGEST or text.rstrip().endswith("?"):
        return []
    for attribute, denied, pattern in _ROWS:
        match = pattern.search(text)
        if match is None:
            continue
        groups = match.groupdict()
        value = " ".join((groups.get("v") or "").split()).strip(" '’-")
        if verb := groups.get("verb"):
            value = f"{_GERUNDS.get(verb.lower(), verb.lower())} {value}".strip()
        if not value or (attribute == "possession" and _NO_POSSESSION.search(text)):
            return []
        return [Slot(attribute, value, Polarity.NEGATED if denied else Polarity.AFFIRMED)]
    return []
