"""Which turns and facts answer a question best: a weighted sum of what can be seen of each.

The weights were fitted by a softmax over each question's candidates, on conversations of two people who have
names and on long chats with an assistant together.  Each
feature is standardised with the means and spreads of that fit, so a weight says how much one spread counts.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from models.messages import Role
from processors.recall.question import Question, words_of

#: Two turns at most so many apart are about the same thing, perhaps.
NEAR_TURNS = 12

#: Words that a turn needs to say something: a longer one gains nothing by its length.
_LONG_ENOUGH = 20

#: BM25 (Robertson and Zaragoza, "The probabilistic relevance framework", 2009).
_K1, _B = 1.2, 0.75

_TIME = re.compile(
    r"\b(?:yesterday|today|tonight|tomorrow|last|next|ago|weeks?|weekends?|months?|years?|recently|just|since"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)days?|january|february|march|april|may|june|july|august"
    r"|september|october|november|december|(?:19|20)\d\d)\b",
    re.IGNORECASE,
)


class Feature(NamedTuple):
    """How much one spread of a feature counts, and what it is like among candidates."""

    weight: float
    mean: float
    spread: float


#: ``meaning``: cosine; ``words``, ``around``: BM25 of the text, and of it with its neighbours, each of the best
#: candidate's; ``speaker``: said by who is asked about; ``question``: ends with a question mark; ``length``:
#: log of 1 + words, up to 20; ``time``: names one, and the question asks for it; ``near``: the best cosine
#: among other candidates within 12 turns.
FEATURES: Mapping[str, Feature] = {
    "meaning": Feature(0.503, 0.274, 0.069),
    "words": Feature(0.239, 0.188, 0.204),
    "around": Feature(0.482, 0.230, 0.218),
    "speaker": Feature(1.081, 0.473, 0.456),
    "question": Feature(-0.181, 0.323, 0.456),
    "length": Feature(0.272, 2.607, 0.387),
    "time": Feature(0.168, 0.047, 0.074),
    "near": Feature(0.398, 0.339, 0.111),
}

#: Where the sum of parts is an even chance, and how steep it is there (a logistic fit of the same data).
_EVEN, _STEEPNESS = 8.530, 0.617

#: A question is answered by something of what was found if the best cosine and a third of the best coverage of
#: its words are above what the best of so many unrelated texts may reach, sqrt(2 ln n) spreads above the mean.
#: Mean and spread were chosen, not measured: so that 80 texts give .41, the floor that the fit's data gave.
_UNRELATED_MEAN, _UNRELATED_SPREAD, _COVERAGE_COUNTS = 0.10, 0.105, 0.33

#: From fewer texts the largest cosine says little (a profession and an engineer: .19), so only the mean counts.
_ENOUGH = 20

#: What was not compared by meaning answers by its words alone, if it has so many of the question's.
_LEAST_COVERAGE = 0.5


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of something that may answer.

    ``before`` and ``after`` are the texts of the neighbours, ``""`` if there are none.  ``conversation_id`` and
    ``index`` say where it was said; ``index`` is ``None`` for a fact, which stands by itself.
    ``cosine`` is ``None`` if its text was not compared with the question by meaning.
    """

    text: str
    role: Role
    speaker: str = ""
    conversation_id: str = ""
    index: int | None = None
    cosine: float | None = None
    before: str = ""
    after: str = ""


class Seen(NamedTuple):
    """The values of a candidate's features, and which share of the question's words it has (by rarity)."""

    values: dict[str, float]
    coverage: float


class Ranked(NamedTuple):
    """A candidate's position in what was given, its score, and what each feature added to it.

    The score, 0..1, is the share of the candidates with such parts that bore on their questions in the fit.
    ``parts`` add up to the score's log odds, apart from a constant and a factor.
    """

    position: int
    score: float
    parts: dict[str, float]


def rank(question: Question, candidates: Sequence[Candidate]) -> list[Ranked]:
    """Return the candidates that may answer, best first; none if none does."""
    seen = features(question, candidates)
    if not _is_answered(candidates, seen):
        return []
    ranked = []
    for position, (values, _) in enumerate(seen):
        parts = {name: _part(FEATURES[name], value) for name, value in values.items()}
        ranked.append(Ranked(position, _score(sum(parts.values())), parts))
    return sorted(ranked, key=lambda one: (-one.score, one.position))


def features(question: Question, candidates: Sequence[Candidate]) -> list[Seen]:
    """Return what is seen of each candidate, in their order.

    Cosines that are not known count as the lowest that is known: the index gave the nearest ones.
    """
    if not candidates:
        return []
    known = [each.cosine for each in candidates if each.cosine is not None]
    lowest = min(known, default=FEATURES["meaning"].mean)
    cosines = [lowest if each.cosine is None else each.cosine for each in candidates]
    words = _Words(question.text, candidates)
    most_alone, most_around = (max(bm25) or 1.0 for bm25 in (words.alone, words.around))
    near = _near(candidates, cosines) if known else [FEATURES["near"].mean] * len(candidates)
    found = []
    for position, each in enumerate(candidates):
        values = {
            "meaning": cosines[position],
            "words": words.alone[position] / most_alone,
            "around": words.around[position] / most_around,
            "speaker": float(_is_asked(question, each)),
            "question": float(each.text.rstrip().endswith(("?", "？"))),
            "length": _length(each, words.counts[position]),
            "time": float(question.when and _TIME.search(each.text) is not None),
            "near": near[position],
        }
        found.append(Seen(values, words.coverage[position]))
    return found


def _is_answered(candidates: Sequence[Candidate], seen: Sequence[Seen]) -> bool:
    known = [each.cosine for each in candidates if each.cosine is not None]
    coverage = max((each.coverage for each in seen), default=0.0)
    least = _UNRELATED_MEAN
    if len(known) >= _ENOUGH:
        least += _UNRELATED_SPREAD * math.sqrt(2 * math.log(len(known)))
    if known and max(known) + _COVERAGE_COUNTS * coverage >= least:
        return True
    by_words = (each.coverage for each, one in zip(seen, candidates, strict=True) if one.cosine is None)
    return max(by_words, default=0.0) >= _LEAST_COVERAGE


def _is_asked(question: Question, candidate: Candidate) -> bool:
    if question.asked:
        return candidate.speaker == question.asked
    return question.role is not None and candidate.role == question.role


def _length(candidate: Candidate, words: int) -> float:
    """Return how much a text can say; a statement that stands by itself says something, however short."""
    return FEATURES["length"].mean if candidate.index is None else math.log1p(min(words, _LONG_ENOUGH))


def _near(candidates: Sequence[Candidate], cosines: Sequence[float]) -> list[float]:
    """Return the best cosine of another candidate nearby; 0 if there is none.

    Of what has no place of its own nothing is known: it counts as usual.
    """
    places: dict[str, list[tuple[int, int]]] = {}
    for position, each in enumerate(candidates):
        if each.index is not None:
            places.setdefault(each.conversation_id, []).append((each.index, position))
    found = [FEATURES["near"].mean] * len(candidates)
    for place in places.values():
        for index, position in place:
            found[position] = max(
                (cosines[other] for at, other in place if other != position and abs(at - index) <= NEAR_TURNS),
                default=0.0,
            )
    return found


class _Words:
    """BM25 over the candidates and their neighbours, whose texts stand for what the person said."""

    def __init__(self, query: str, candidates: Sequence[Candidate]) -> None:
        texts = {text for each in candidates for text in (each.text, each.before, each.after) if text}
        split = {text: words_of(text) for text in texts}
        split[""] = []
        asked = dict.fromkeys(words_of(query))
        seen = Counter(word for text in texts for word in asked.keys() & split[text])
        rarity = {word: math.log1p((len(texts) - seen[word] + 0.5) / (seen[word] + 0.5)) for word in asked}
        average = max(1.0, sum(len(split[text]) for text in texts) / max(1, len(texts)))
        whole = sum(rarity.values())

        def bm25(parts: Iterable[str], usual: float) -> float:
            length, times = 0, Counter[str]()
            for text in parts:
                length += len(split[text])
                times.update(word for word in split[text] if word in rarity)
            damping = _K1 * (1 - _B + _B * length / usual)
            return sum(rarity[word] * count * (_K1 + 1) / (count + damping) for word, count in times.items())

        self.alone = [bm25((each.text,), average) for each in candidates]
        self.around = [bm25((each.before, each.text, each.after), 3 * average) for each in candidates]
        self.counts = [len(split[each.text]) for each in candidates]
        self.coverage = [
            sum(rarity[word] for word in asked.keys() & split[each.text]) / whole if whole else 0.0
            for each in candidates
        ]


def _part(feature: Feature, value: float) -> float:
    return feature.weight * (value - feature.mean) / feature.spread


def _score(parts: float) -> float:
    return 1.0 / (1.0 + math.exp(-max(-60.0, min(60.0, _STEEPNESS * (parts - _EVEN)))))
