"""What a later sentence takes back of an earlier one in the same range."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from models.messages import Role
from processors.extraction.cues import CUES
from processors.extraction.units import Unit
from processors.summaries.reading import asks, words

#: Cosine from which on two sentences that share a word are of the same thing; without vectors, words they share.
_SAME_THING, _SHARED_WORDS = 0.5, 2
#: Letters of a word that says what is talked of: so many must be the same.
_STEM = 5
#: Messages between a sentence and the next of its speaker.
_NEXT = 2

_CUE = {cue.name: cue.pattern for cue in CUES}
#: It takes back what was said just before, whatever that was.
_SCRATCHED = re.compile(
    r"\b(?:scratch that|no,? wait|wait,? no|forget (?:that|what i said)|i take (?:that|it) back|(?:just|only|i'?m|was) (?:kidding|joking)|"
    r"quatsch|vergiss das|war nur spa(?:ß|ss)|olvídalo|es broma|laisse tomber|je plaisante|deixa pra lá|brincadeira)\b",
    re.IGNORECASE,
)
#: It changes something that was said before.
_CHANGED = re.compile(
    r"\b(?:changed? (?:my|our) mind|instead|after all|on second thoughts?|call\w* off|cancel\w*|fell through|not going (?:to|after)|"
    r"correction|i meant|actually|no longer|any ?more|umentschieden|doch (?:nicht|lieber)|stattdessen|abgesagt|nicht mehr|cambiado de idea|"
    r"en vez de|cancelad\w+|ya no|changé d['’]avis|finalement|annulé\w*|ne \w+ plus|mudei de ideia|em vez d\w+|não \w+ mais)\b",
    re.IGNORECASE,
)
#: What was to be done was done.
_DONE = re.compile(
    r"\b(?:done|finished|sorted|i(?:'ve| have)? (?:just )?(?:called|sent|booked|bought|paid|asked|told|wrote|made|ordered)|erledigt|gemacht|"
    r"angerufen|geschickt|gebucht|hecho|ya está|llamé|envié|c['’]est fait|j['’]ai (?:appelé|envoyé|réservé|payé)|já \w+ei|feito)\b",
    re.IGNORECASE,
)


class Sentence(NamedTuple):
    """A sentence with its vector, if there is one; ``is_todo``: it says what is to be done."""

    unit: Unit
    vector: NDArray[np.float32] | None = None
    is_todo: bool = False


def taken_back(said: Sequence[Sentence]) -> set[int]:
    """Return the places of sentences that a later one of their speaker takes back, or says is done."""
    pairs = combinations(enumerate(said), 2)
    return {at for (at, old), (_, new) in pairs if _ends(new, old)}


def _ends(new: Sentence, old: Sentence) -> bool:
    """Tell whether ``new`` takes back the earlier ``old``: a rule of thumb for one pair."""
    message, earlier = new.unit.message, old.unit.message
    if message.user_id != earlier.user_id or {message.role, earlier.role} != {Role.USER}:
        return False
    text = new.unit.text
    if _SCRATCHED.search(text):
        is_first = new.unit.number == 0 and message.index - earlier.index <= _NEXT
        return is_first or (message.index == earlier.index and new.unit.number == old.unit.number + 1)
    if asks(text) or not _is_same_thing(new, old):
        return False
    turned = bool(_CUE["negation"].search(text)) != bool(_CUE["negation"].search(old.unit.text))
    is_done = old.is_todo and not new.is_todo and _DONE.search(text) is not None
    return is_done or bool(_CHANGED.search(text)) or (turned and bool(_CUE["change"].search(text)))


def _is_same_thing(new: Sentence, old: Sentence) -> bool:
    shared = _stems(new.unit.text) & _stems(old.unit.text)
    if new.vector is None or old.vector is None:
        return len(shared) >= _SHARED_WORDS
    # Sentences of other languages than English are all near each other: a word must be the same, too.
    return bool(shared) and float(new.vector @ old.vector) >= _SAME_THING


def _stems(text: str) -> set[str]:
    return {word[:_STEM] for word in words(text) if len(word) >= _STEM}
