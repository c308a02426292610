"""What a later sentence takes back of an earlier one in the same range."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from models.messages import Role
from processors.extraction.keeper import Judgement
from processors.extraction.units import Unit
from processors.merging.endings import Verdict, decide
from processors.merging.pair_features import Said
from processors.summaries.acts import Floats

#: It takes back what was said just before, whatever that was.
_SCRATCHED = re.compile(
    r"\b(?:scratch that|no,? wait|wait,? no|forget (?:that|what i said)|i take (?:that|it) back|(?:just|only|i'?m|was) (?:kidding|joking)|"
    r"quatsch|vergiss das|war nur spa(?:ß|ss)|olvídalo|es broma|laisse tomber|je plaisante|deixa pra lá|brincadeira)\b",
    re.IGNORECASE,
)
#: Probability from which on a sentence no longer holds: less than for a fact, nothing is lost by leaving it out.
_GONE = 0.4
#: Messages between a sentence and the next of its speaker.
_NEXT = 2


class Sentence(NamedTuple):
    """A sentence of the range, with what the extractor's model says of it."""

    unit: Unit
    judgement: Judgement
    vector: Floats


def taken_back(said: Sequence[Sentence]) -> set[int]:
    """Return the places of sentences that a later one of their speaker takes back, ends or replaces."""
    return {at for place, new in enumerate(said) for at in _ended(new, said[:place])}


def _ended(new: Sentence, earlier: Sequence[Sentence]) -> Iterator[int]:
    message = new.unit.message
    if message.role is not Role.USER:
        return
    own = [at for at, old in enumerate(earlier) if old.unit.message.user_id == message.user_id]
    if _SCRATCHED.search(new.unit.text):
        last = {earlier[at].unit.message.index for at in own[-1:]}
        yield from (
            at for at in own if earlier[at].unit.message.index in last and message.index - max(last) <= _NEXT
        )
    elif any(new.vector):
        verdicts = decide(_said(new), [_said(earlier[at]) for at in own])
        for at, each in zip(own, verdicts, strict=True):
            if each.verdict is not Verdict.SAME and each.probability >= _GONE:
                yield at


def _said(each: Sentence) -> Said:
    unit, judgement = each.unit, each.judgement
    message = unit.message
    return Said(unit.text, each.vector, judgement.kind, judgement.importance, message.sent_at)
