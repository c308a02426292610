"""Features of the turns and facts that may answer a question, and their weights.

The weights (:mod:`.weights`) are those of a softmax over each question's candidates, fitted to the questions of
made-up people (``benchmarks/quality/recall/fitting.py``).  Each feature is standardised with the mean and
spread of that fit, so a weight is what one spread counts.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from models.messages import Role
from processors.retrieval.recall.asking import NAME, NUMBER, PLACE, TIME, asks_for, names_unsaid
from processors.retrieval.recall.dating import told_by
from processors.retrieval.recall.question import Question, says_nothing
from processors.retrieval.recall.rarity import Rarity
from processors.retrieval.recall.weights import WEIGHTS
from processors.text.languages import is_phrase, language_of

#: Turns at most so many apart are about the same thing, perhaps.
NEAR_TURNS = 2

#: Words that a turn needs to say something: a longer one gains nothing by its length.
_LONG_ENOUGH = 20

#: The end of a sentence that is no question, with more behind it.
_STATES = re.compile(r"[^\s?？.!][.!。！]+[\"'”’)]*\s+\S|[。！]\S|\n\s*\S")

_NUMBER = re.compile(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|dozen|hundred|thousand|half|once"
    r"|twice|first|second|third)\b",
    re.I,
)
_TIME = re.compile(
    r"\d|\b(?:yesterday|today|tonight|tomorrow|last|next|ago|weeks?|weekends?|months?|years?|since|every|until"
    r"|(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?s?|jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?"
    r"|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?|spring"
    r"|summer|autumn|winter|morning|evening|noon|night)\b",
    re.I,
)
_HAS = {TIME: _TIME, NUMBER: _NUMBER}
_WORD = re.compile(r"\w+")
#: Characters of a text in which a number, a time or a name is looked for.
_READ = 4_000


class Feature(NamedTuple):
    """How much one spread of a feature counts, and its mean and spread among candidates."""

    weight: float
    mean: float
    spread: float


#: What the graph adds; chosen, as what is tied is too rare for a fit.
GRAPH = "graph"

#: ``meaning``: cosine; ``around``: BM25 of the text with its neighbours, of the best candidate's; ``speaker``:
#: said by who is asked about; ``question``: only asks (1), or ends with a question (a half); ``length``: log of
#: 1 + words, up to 20; ``importance``: of a fact, 1 to 3, else 0; ``near``: the best cosine of another turn
#: within 2 turns; ``lacks``: the question asks for a time, a number or a name, and it has none; ``period``:
#: said before the end of the time that the question names, and not long before it (a half: long before);
#: ``graph``: says what is tied to whom the question names.
FEATURES: Mapping[str, Feature] = {name: Feature(*row) for name, row in WEIGHTS.items()} | {
    GRAPH: Feature(1.0, 0.0, 1.0)
}

#: What is not known of a candidate: it adds nothing.
_UNKNOWN = math.nan


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """Features of a candidate.

    ``before`` and ``after`` are the texts of the neighbours, ``""`` if there are none.  ``conversation_id`` and
    ``index`` say where it was said; ``index`` is ``None`` for a fact, which stands by itself.
    ``cosine`` is ``None`` if its text was not compared with the question by meaning.  ``said_at`` (epoch
    seconds) is when it was said, and ``message_ids`` are the messages that it rests on.  ``importance``: of a
    fact, else 0.  ``tied``: it says what is tied, in the person's graph, to whom the question names.
    """

    text: str
    role: Role
    speaker: str = ""
    conversation_id: str = ""
    index: int | None = None
    cosine: float | None = None
    before: str = ""
    after: str = ""
    said_at: float = 0.0
    message_ids: tuple[str, ...] = ()
    importance: int = 0
    tied: bool = False


class Seen(NamedTuple):
    """The values of the candidates' features, NaN for what is not known.

    ``values`` has a row for each candidate and a column for each of :data:`FEATURES`.  ``coverage`` is the
    share of the question's words in each, by rarity.  ``asked`` are signs of the question itself: ``unsaid``,
    the share of its words that no candidate has; ``bare``, it has no other words, and none that only asks;
    ``stranger``, it names somebody of whom none tells; what it asks for
    (``time``, ``number``, ``name``, ``place``), and whether it names a time in the ``past``.  ``is_empty``: the
    question has only words that ask, and asks for none of these ("the", "what is it").
    """

    values: NDArray[np.float64]
    coverage: Sequence[float]
    asked: Mapping[str, float]
    is_empty: bool = False

    def parts(self, weights: Mapping[str, Feature] = FEATURES) -> NDArray[np.float64]:
        """Return each feature's contribution, in the shape of ``values``."""
        weight, mean, spread = np.array([weights[name] for name in FEATURES]).T
        found: NDArray[np.float64] = np.nan_to_num(weight * (self.values - mean) / spread)
        return found


def features(question: Question, candidates: Sequence[Candidate]) -> Seen:
    """Return the features of each candidate, in their order.

    Cosines that are not known count as the lowest that is known: the index gave the nearest ones.
    """
    known = [each.cosine for each in candidates if each.cosine is not None]
    lowest = min(known, default=_UNKNOWN)
    cosines = [lowest if each.cosine is None else each.cosine for each in candidates]
    words = Rarity(question.text, [(each.before, each.text, each.after) for each in candidates])
    places = _places(candidates)
    columns: dict[str, Sequence[float]] = {
        "meaning": cosines,
        "around": _around(candidates, words),
        "speaker": _speaks(question, candidates),
        "question": [_asks(each.text) for each in candidates],
        "length": [math.log1p(min(count, _LONG_ENOUGH)) for count in words.counts],
        "importance": [float(each.importance) for each in candidates],
        "near": _near(candidates, cosines, places) if known else [_UNKNOWN] * len(candidates),
        "lacks": _lacks(question.query, candidates),
        "period": [
            _UNKNOWN if question.period is None else told_by(question.period, each.said_at)
            for each in candidates
        ],
        GRAPH: [float(each.tied) for each in candidates],
    }
    values = np.array([columns[name] for name in FEATURES], dtype=np.float64).T
    return Seen(values, words.coverage, _asked(question, candidates, words), says_nothing(question))


def _asked(question: Question, candidates: Sequence[Candidate], words: Rarity) -> dict[str, float]:
    said = frozenset[str]().union(*words.held)
    told = (text for each in candidates for text in (each.speaker, each.text, each.before, each.after))
    wanted = asks_for(question.query)
    unsaid = 1.0 - len(said) / len(words.rarity) if words.rarity else 0.0
    return {
        "unsaid": unsaid,
        "bare": float(unsaid == 1.0 and not is_phrase(question.query)),
        "stranger": float(names_unsaid(question.query, (question.person, *told))),
        **{kind: float(wanted == kind) for kind in (TIME, NUMBER, NAME, PLACE)},
        "past": float(question.period is not None),
    }


def _around(candidates: Sequence[Candidate], words: Rarity) -> list[float]:
    """Return BM25 of each with its neighbours, of the best one's; a fact has none, so its own counts."""
    alone, around = max(words.alone, default=0.0) or 1.0, max(words.around, default=0.0) or 1.0
    return [
        words.alone[at] / alone if each.index is None else words.around[at] / around
        for at, each in enumerate(candidates)
    ]


def _speaks(question: Question, candidates: Sequence[Candidate]) -> list[float]:
    """Return 1 for each that was said by who is asked about, else 0."""
    if question.asked:
        return [float(each.speaker == question.asked) for each in candidates]
    return [float(each.role is question.role) for each in candidates]


def _asks(text: str) -> float:
    """Return 1 for a text that only asks, a half for one that ends with a question, else 0."""
    text = text.rstrip()  # or each of many line ends behind it would be looked at from each other
    if not text.endswith(("?", "？")):
        return 0.0
    return 0.5 if _STATES.search(text) else 1.0


def _places(candidates: Sequence[Candidate]) -> list[tuple[str, int] | None]:
    """Return where each was said: of a fact, where the turn was that it rests on, if that is a candidate."""
    turns = {
        each.message_ids[0]: (each.conversation_id, each.index)
        for each in candidates
        if each.index is not None and each.message_ids
    }
    found: list[tuple[str, int] | None] = []
    for each in candidates:
        if each.index is not None:
            found.append((each.conversation_id, each.index))
        else:
            found.append(next((turns[name] for name in each.message_ids if name in turns), None))
    return found


def _near(
    candidates: Sequence[Candidate], cosines: Sequence[float], places: Sequence[tuple[str, int] | None]
) -> list[float]:
    """Return the best cosine of another turn nearby; the lowest one of all where there is none."""
    there = {
        place: cosines[at]
        for at, place in enumerate(places)
        if place is not None and candidates[at].index is not None
    }
    lowest = min(cosines)
    steps = [step for step in range(-NEAR_TURNS, NEAR_TURNS + 1) if step]
    return [
        lowest
        if place is None
        else max((there.get((place[0], place[1] + step), lowest) for step in steps), default=lowest)
        for place in places
    ]


def _lacks(query: str, candidates: Sequence[Candidate]) -> list[float]:
    """Return 1 for each that has no time, number or name where the question asks for one."""
    wanted = asks_for(query) if language_of(query) == "en" else ""
    if wanted in _HAS:
        return [float(_HAS[wanted].search(each.text, 0, _READ) is None) for each in candidates]
    if wanted == NAME:
        asked = {word.casefold() for word in _WORD.findall(query)}
        return [float(not _has_name(each.text[:_READ], asked)) for each in candidates]
    return [0.0] * len(candidates)


def _has_name(text: str, asked: set[str]) -> bool:
    """Return whether a text has a capitalized word inside a sentence that the question lacks."""
    for match in _WORD.finditer(text):
        word, start = match.group(), match.start()
        if word[0].isupper() and len(word) > 1 and word.casefold() not in asked and start > 1:
            before = text[:start].rstrip(" \"'“‘(")
            if before and before[-1] not in ".!?\n–":
                return True
    return False
