"""What a sentence is worth telling: how much it says, how central it is, where it stands, how it is put."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from math import fsum, log, log2, sqrt
from typing import NamedTuple

from models.messages import Role
from processors.summaries.ending import Ending, ending
from processors.summaries.reading import Sentence, Turn

_POINTS_BACK = re.compile(r"\A(?:it|that|this|they|these|those|he|she|there)\b", re.IGNORECASE)
_SECOND_PERSON = re.compile(r"\byou(?:['’]\w+|rs?|rself)?\b", re.IGNORECASE)
_NEGATION = re.compile(r"n't\b|\b(?:not|no|never)\b", re.IGNORECASE)
WANTS = re.compile(r"\b(?:want|would like|'d like|need|looking for)\b", re.IGNORECASE)
_SPECIFIC = re.compile(
    r"\d|(?<=[^.!?] )[A-Z][a-z]+|\b(?:yesterday|today|tonight|tomorrow|(?:last|next|this) \w+|ago|weekend)\b"
)
#: A number, a day or a time: plans and what things cost.
_DATED = re.compile(
    r"\d|\b(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day|today|tonight|tomorrow|yesterday|next|last|weekend|"
    r"o'clock)\b",
    re.IGNORECASE,
)

#: Somebody, some number or some name that a sentence is about.
_SOMEBODY = re.compile(
    r"\b(?:[Ii]|[Mm]y|[Mm]e|[Mm]ine|[Ww]e|[Uu]s|[Oo]ur|[Yy]ou|[Yy]our)\b|\b\d|(?<=[a-z,] )[A-Z]"
)

#: What the worth of a sentence is made of, besides the logarithm of its words.  The proportions are near those
#: of a ridge regression on half of a set of dialogues that people summarized (benchmarks/quality/summaries.py).
SHORTEST = -0.9  #: What a sentence has to make up for to be told at all.
CENTRAL = 3.5  #: It is about what all are about (its cosine with their centroid, mostly 0.1 to 0.5).
EARLY = 0.85  #: It stands in the first two turns, where people say what they come for ...
LATE = 0.5  #: ... or in the last three, where they say what comes of it.
WANTED = 0.5  #: Somebody wants or needs something.
CROWDED = -0.3  #: For each doubling of the sentences of its turn: the more, the less each matters.
MOST_CROWDED = 2.5
DATED = 0.1  #: It says when, or how much.
DENIED = -0.15  #: What is not so,
ADDRESSED = -0.25  #: and what is said to somebody is told less often.
DENSE = -0.13  #: For each content word: of two as long, the one that joins more to fewer is plainer.
POINTING = -0.1  #: It begins with what only the sentence before explains.
IMPERSONAL = -0.4  #: It is about nobody, mostly a maxim or a remark.
LEAST = 0.05  #: No less than this: lists of one short line are summaries too.


class Conversation(NamedTuple):
    """What the worth of a sentence is measured by: how many sentences used a word, how rare that is (inverse
    document frequency), and the length of their centroid.  ``named``: lines have to say whose they are;
    ``end``: what undoes what was said before.
    """

    turns: Sequence[Turn]
    used: Mapping[str, int]
    rarity: Mapping[str, float]
    norm: float
    named: bool
    end: Ending


def conversation(turns: Sequence[Turn], owner: str) -> Conversation:
    """Return what the worth of its sentences is measured by."""
    sentences = [sentence for turn in turns for sentence in turn.sentences]
    used = Counter(word for sentence in sentences for word in sentence.words)
    rarity = {word: log((len(sentences) + 1) / n) for word, n in used.items()}
    # Summed exactly: sets are in another order in each process, and equals must stay equal.
    norm = sqrt(fsum((rarity[word] * n) ** 2 for word, n in used.items()))
    people = {turn.speaker for turn in turns if turn.role is Role.USER and turn.sentences}
    named = len(people | {owner or min(people, default="")}) > 1
    return Conversation(turns, used, rarity, norm, named, ending(turns))


def worth_of(said: Conversation, sentence: Sentence, text: str, about: frozenset[str]) -> float:
    """How much telling ``text``, which is made of a sentence and ``about`` so many words, is worth."""
    turn, plain = sentence.turn, sentence.plain
    value = SHORTEST + log(1 + len(text.split())) + CENTRAL * _centrality(said, about) + DENSE * len(about)
    value += EARLY * (turn <= 1) + LATE * (turn >= len(said.turns) - 3)
    value += CROWDED * min(log2(len(said.turns[turn].sentences)), MOST_CROWDED)
    for cue, worth in (
        (_NEGATION, DENIED),
        (_SECOND_PERSON, ADDRESSED),
        (WANTS, WANTED),
        (_DATED, DATED),
        (_POINTS_BACK, POINTING),
    ):
        value += worth * (cue.search(plain) is not None)
    return value if _SOMEBODY.search(plain) or _SOMEBODY.search(text) else value + IMPERSONAL


def _centrality(said: Conversation, about: frozenset[str]) -> float:
    """The cosine of a sentence with the centroid of all (Radev et al. 2004)."""
    rarity = [(said.rarity[word], said.used[word]) for word in about if word in said.used]
    own = sqrt(fsum(rare * rare for rare, _ in rarity))
    return fsum(rare * rare * used for rare, used in rarity) / (own * said.norm) if own else 0.0


def substance(text: str, found: frozenset[str]) -> float:
    """About 1: more for names, numbers and the first person, less for what points back to something unsaid."""
    value = 1.0 + 0.05 * min(len(_SPECIFIC.findall(text)), 3)
    if _POINTS_BACK.match(text):
        value -= 0.2
    if _SECOND_PERSON.search(text):
        value -= 0.1
    return value if len(found) >= 3 else value * 0.7
