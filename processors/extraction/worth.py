"""What is left out: drafts that tell a later reader nothing, and clauses that ask to be told something."""

from __future__ import annotations

import re

from models.statements import Assertion, Polarity
from processors.extraction.drafts import Draft
from processors.extraction.parsing import Clause, Mood

#: What somebody does, likes or plans; elsewhere such a word may be a name.
_OPEN = frozenset(("", "like", "habit", "plan", "event", "constraint"))
_PARTICLES = r"(?:in|out|up|off|on|into|for|of|to|at|with|about|through|away|back|over|by|from)"
#: "Going to do that in 2 months", "moving in with theirs": a verb, and a word that only the talk explains.
_POINTS_ONLY = re.compile(
    rf"(?:(?:be |not )?(?:going|planning|hoping|looking|trying|about|plan|start|starting|stop|try) "
    rf"(?:to |on )?)?(?:to )?(?:[a-z-]+ )?(?:{_PARTICLES} )*(?-i:that|this|it|mine|theirs|yours|one)"
    r"(?: (?:any ?more|again|too|soon|myself|themselves|together|once|twice|"
    r"(?:in|for|within) (?:\d+|an?|the|two|three|four|five|six|a few) [a-z]+|"
    r"every [a-z]+|(?:this|next|last) [a-z]+|(?-i:in [A-Z][a-z]+)))*",
    re.IGNORECASE,
)
#: What everybody likes.
_TRUISM = re.compile(
    r"(?:eating|eating (?:food|meals?|things?|stuff)|drinking|drinking (?:water|drinks?|things?|stuff)|"
    r"(?:having )?(?:some )?fun|having (?:a )?good time|doing (?:things?|stuff|activities))",
    re.IGNORECASE,
)
#: "I'm interested in learning more about comets": it asks for that now.
_TO_BE_TOLD = re.compile(
    r"(?:(?:very|really|also|quite|particularly|still) )*(?:interested in|hoping to|looking to|trying to) "
    r"(?:learn(?:ing)?|know(?:ing)?|hear(?:ing)?|find(?:ing)? out|reading) (?:(?:a (?:bit|little|lot) )?more\b|about\b)",
    re.IGNORECASE,
)
_WANTS_TO_BE_TOLD = re.compile(
    r"want to (?:learn|know|hear|find out) (?:(?:a (?:bit|little|lot) )?more|about)\b", re.IGNORECASE
)


def tells(draft: Draft) -> bool:
    """Tell whether a draft says something to who has not heard the talk, and not of everybody."""
    if draft.attribute in _OPEN and _POINTS_ONLY.fullmatch(draft.value):
        return False
    is_liked = draft.polarity is Polarity.AFFIRMED and draft.assertion is Assertion.HOLDS
    return not (draft.attribute == "like" and is_liked and _TRUISM.fullmatch(draft.value))


def asks_to_be_told(clause: Clause) -> bool:
    """Tell whether a clause is a request for information, put as an interest."""
    if clause.negated or clause.ended:
        return False
    asks = {Mood.BE: _TO_BE_TOLD, Mood.DO: _WANTS_TO_BE_TOLD}.get(clause.mood)
    return asks is not None and asks.match(clause.rest) is not None
