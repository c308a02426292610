"""What can be seen of turns and facts that may answer a question, and how much it counts.

The weights were fitted by a softmax over each question's candidates, on conversations of two people who have
names and on long chats with an assistant together (``benchmarks/quality/recall``).  Each
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

#: The end of a sentence that is no question, with more behind it.
_STATES = re.compile(r"[^\s?？.!][.!。！]+[\"'”’)]*\s+\S|[。！]\S|\n\s*\S")

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

    def part(self, value: float) -> float:
        """Return what a value adds."""
        return self.weight * (value - self.mean) / self.spread


#: ``meaning``: cosine; ``words``, ``around``: BM25 of the text, and of it with its neighbours, each of the best
#: candidate's; ``speaker``: said by who is asked about; ``question``: only asks (1), or ends with a question (a
#: half); ``length``: log of 1 + words, up to 20; ``time``: names one, and the question asks for it; ``near``:
#: the best cosine among other candidates within 12 turns.
FEATURES: Mapping[str, Feature] = {
    "meaning": Feature(0.656, 0.230, 0.096),
    "words": Feature(0.180, 0.137, 0.178),
    "around": Feature(0.521, 0.193, 0.201),
    "speaker": Feature(1.149, 0.469, 0.466),
    "question": Feature(-0.131, 0.181, 0.267),
    "length": Feature(0.191, 2.636, 0.373),
    "time": Feature(0.186, 0.055, 0.073),
    "near": Feature(0.358, 0.343, 0.105),
}


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of something that may answer.

    ``before`` and ``after`` are the texts of the neighbours, ``""`` if there are none.  ``conversation_id`` and
    ``index`` say where it was said; ``index`` is ``None`` for a fact, which stands by itself.
    ``cosine`` is ``None`` if its text was not compared with the question by meaning.  ``said_at`` (epoch
    seconds) is when it was said, and ``message_ids`` are the messages that it rests on.
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


class Seen(NamedTuple):
    """The values of a candidate's features, and which share of the question's words it has (by rarity)."""

    values: dict[str, float]
    coverage: float


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
            "question": _asks(each.text),
            "length": _length(each, words.counts[position]),
            "time": float(question.when and _TIME.search(each.text) is not None),
            "near": near[position],
        }
        found.append(Seen(values, words.coverage[position]))
    return found


def _is_asked(question: Question, candidate: Candidate) -> bool:
    if question.asked:
        return candidate.speaker == question.asked
    return question.role is not None and candidate.role == question.role


def _asks(text: str) -> float:
    """Return 1 for a text that only asks, a half for one that ends with a question, else 0."""
    if not text.rstrip().endswith(("?", "？")):
        return 0.0
    return 0.5 if _STATES.search(text) else 1.0


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
