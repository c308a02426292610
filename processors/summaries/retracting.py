"""Retractions: earlier sentences that a later one in the same range takes back."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from models.messages import Role
from processors.extraction.keeper import Judgement
from processors.extraction.units import Unit
from processors.facts.merging.endings import Verdict, decide
from processors.facts.merging.statement_features import ComparedStatement

#: It takes back what was said just before, whatever that was.
_SCRATCHED = re.compile(
    r"\b(?:scratch that|no,? wait|wait,? no|forget (?:that|what i said)|i take (?:that|it) back|(?:just|only|i'?m|was) (?:kidding|joking)|"
    r"quatsch|vergiss das|war nur spa(?:ß|ss)|olvídalo|es broma|laisse tomber|je plaisante|deixa pra lá|brincadeira)\b",
    re.IGNORECASE,
)
#: A "no" to such a question takes back what it doubts.
_DOUBTS = re.compile(
    r"(?:really|seriously|honestly|are you (?:sure|serious)|wirklich|im ernst|en serio|de verdad|vraiment|sério|mesmo)\W*",
    re.IGNORECASE,
)
_NO = re.compile(r"(?:no|nope|nah|nein|non|não)\b", re.IGNORECASE)
#: Probability from which on a sentence no longer holds: less than for a fact, nothing is lost by leaving it out.
_GONE = 0.4
#: Messages between a sentence and the next of its speaker.
_NEXT = 2


def taken_back(units: Sequence[Unit], judged: Sequence[Judgement], vectors: NDArray[np.float32]) -> set[int]:
    """Return the places of units that a later one of their speaker takes back, ends or replaces.

    ``vectors``: one of each unit's text.
    """
    said = [
        ComparedStatement(unit.text, vector, each.kind, each.importance, unit.message.sent_at)
        for unit, each, vector in zip(units, judged, vectors, strict=True)
    ]
    return {at for place in range(len(units)) for at in _ended(place, units, said)}


def _ended(place: int, units: Sequence[Unit], said: Sequence[ComparedStatement]) -> Iterator[int]:
    message = units[place].message
    if message.role is not Role.USER:
        return
    own = [at for at in range(place) if units[at].message.user_id == message.user_id]
    denied = _DOUBTS.fullmatch(units[place].asked) and _NO.match(said[place].text)
    if denied or _SCRATCHED.search(said[place].text):
        last = {units[at].message.index for at in own[-1:]}
        yield from (at for at in own if units[at].message.index in last and message.index - max(last) <= _NEXT)
    elif any(said[place].vector):
        verdicts = decide(said[place], [said[at] for at in own])
        for at, each in zip(own, verdicts, strict=True):
            if each.verdict is not Verdict.SAME and each.probability >= _GONE:
                yield at
