"""What can be seen of turns and facts that may answer a question, and how much it counts.

The weights were fitted by a softmax over each question's candidates, on conversations of two people who have
names, on long chats with an assistant and on short ones about preferences (``benchmarks/quality/recall``).
Each feature is standardised with the means and spreads of that fit, so a weight says how much one spread
counts.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import NamedTuple

import msgspec

from models.messages import Role
from processors.recall.question import Question, words_of

#: Two turns at most so many apart are about the same thing, perhaps.
NEAR_TURNS = 12

#: Turns of one conversation with a longer silence between them (seconds) were said in two sessions.
SESSION_GAP = 6 * 3600.0

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

#: What the person wants of every answer about something: "always ... when I ask about ...".  Looked for one
#: after the other: a pattern of both would read the rest of a part again for each "always" in it.
_EVER = re.compile(r"\b(?:always|never|whenever|from now on|every time|each time)\b", re.IGNORECASE)
_ON_AN_OCCASION = re.compile(r"\bwhen(?:ever)? (?:i|we|you)\b|\bif i\b", re.IGNORECASE)
_WHEN_ASKED = re.compile(r"\bwhen(?:ever)? i (?:ask|request|mention|talk|want|say)\b", re.IGNORECASE)
_PART_ENDS = re.compile(r"[.?!\n]")


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
#: the best cosine among other candidates within 12 turns; ``session``, ``session_meaning``: the best cosine in
#: its session, and the mean one; ``session_words``: the share of the question's words (by rarity) that stand in
#: its session; ``instruction``: the person says what every answer shall be like; ``recounted_instruction``: the
#: same where it is asked what was said, which an instruction does not bear on; ``graph``: says what is tied to
#: whom the question names (chosen: what is tied is too rare for a fit).  ``requested_...``: the same as the
#: feature of that name where something is requested rather than asked, else 0: the words of a request say what
#: is wanted, less what was said.
FEATURES: Mapping[str, Feature] = {
    "meaning": Feature(0.537, 0.238, 0.107),
    "words": Feature(0.228, 0.166, 0.190),
    "around": Feature(0.352, 0.228, 0.208),
    "speaker": Feature(1.023, 0.490, 0.410),
    "question": Feature(-0.014, 0.179, 0.268),
    "length": Feature(0.282, 2.606, 0.327),
    "time": Feature(0.137, 0.051, 0.053),
    "near": Feature(0.193, 0.364, 0.102),
    "session": Feature(0.307, 0.379, 0.103),
    "session_meaning": Feature(0.177, 0.238, 0.060),
    "session_words": Feature(0.271, 0.405, 0.154),
    "instruction": Feature(0.108, 0.005, 0.035),
    "recounted_instruction": Feature(-0.041, 0.003, 0.020),
    "graph": Feature(1.0, 0.0, 1.0),
    "requested_speaker": Feature(-0.133, 0.169, 0.087),
    "requested_words": Feature(-0.091, 0.040, 0.053),
    "requested_around": Feature(-0.072, 0.054, 0.060),
}


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of something that may answer.

    ``before`` and ``after`` are the texts of the neighbours, ``""`` if there are none.  ``conversation_id`` and
    ``index`` say where it was said; ``index`` is ``None`` for a fact, which stands by itself.
    ``cosine`` is ``None`` if its text was not compared with the question by meaning.  ``said_at`` (epoch
    seconds) is when it was said, and ``message_ids`` are the messages that it rests on.  ``tied``: it says what
    is tied, in the person's graph, to whom the question names.
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
    tied: bool = False


class Seen(NamedTuple):
    """The values of a candidate's features, and which of the question's words it has.

    ``coverage`` is their share by ``rarity``, which is that of all words of the question among the candidates;
    ``held`` are those of its text, ``held_around`` those of it and its neighbours.
    """

    values: dict[str, float]
    coverage: float
    rarity: Mapping[str, float]
    held: frozenset[str]
    held_around: frozenset[str]


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
    session = _of_sessions(candidates, cosines, words, bool(known))
    found = []
    for position, each in enumerate(candidates):
        alone, around = words.alone[position] / most_alone, words.around[position] / most_around
        speaker = float(_is_asked(question, each))
        instruction = float(each.role is Role.USER and _is_standing(each.text))
        values = {
            "meaning": cosines[position],
            "words": alone,
            "around": around,
            "speaker": speaker,
            "question": _asks(each.text),
            "length": _length(each, words.counts[position]),
            "time": float(question.when and _TIME.search(each.text) is not None),
            "near": near[position],
            **session[position],
            "instruction": instruction,
            "recounted_instruction": instruction * question.recounts,
            "graph": float(each.tied),
            "requested_speaker": speaker * question.request,
            "requested_words": alone * question.request,
            "requested_around": around * question.request,
        }
        found.append(
            Seen(
                values,
                words.coverage[position],
                words.rarity,
                words.held[each.text],
                words.held[each.before] | words.held[each.text] | words.held[each.after],
            )
        )
    return found


def _is_asked(question: Question, candidate: Candidate) -> bool:
    if question.asked:
        return candidate.speaker == question.asked
    return question.role is not None and candidate.role == question.role


def _is_standing(text: str) -> bool:
    """Say whether a text tells what answers shall be like from now on."""
    for part in _PART_ENDS.split(text):
        ever = _EVER.search(part)
        if ever is not None and _ON_AN_OCCASION.search(part, ever.end()):
            return True
    return _WHEN_ASKED.search(text) is not None


def _asks(text: str) -> float:
    """Return 1 for a text that only asks, a half for one that ends with a question, else 0."""
    text = text.rstrip()  # or each of many line ends behind it would be looked at from each other
    if not text.endswith(("?", "？")):
        return 0.0
    return 0.5 if _STATES.search(text) else 1.0


def _length(candidate: Candidate, words: int) -> float:
    """Return how much a text can say; a statement that stands by itself says something, however short."""
    return FEATURES["length"].mean if candidate.index is None else math.log1p(min(words, _LONG_ENOUGH))


def _near(candidates: Sequence[Candidate], cosines: Sequence[float]) -> list[float]:
    """Return the best cosine of another candidate nearby; 0 if there is none.

    Of what has no place of its own, or is all that was said in its conversation, nothing is known: it counts
    as usual.
    """
    places: dict[str, list[tuple[int, int]]] = {}
    for position, each in enumerate(candidates):
        if each.index is not None:
            places.setdefault(each.conversation_id, []).append((each.index, position))
    found = [FEATURES["near"].mean] * len(candidates)
    for place in places.values():
        place.sort()
        first = last = 0
        for index, position in place:
            if len(place) == 1 and not (candidates[position].before or candidates[position].after):
                continue
            while index - place[first][0] > NEAR_TURNS:
                first += 1
            while last < len(place) and place[last][0] - index <= NEAR_TURNS:
                last += 1
            beside = (cosines[other] for _, other in place[first:last] if other != position)
            found[position] = max(beside, default=0.0)
    return found


def sessions(candidates: Sequence[Candidate]) -> list[list[int]]:
    """Return the positions of the turns among the candidates by session, in the order of time."""
    order = sorted(
        (at for at, each in enumerate(candidates) if each.index is not None),
        key=lambda at: (candidates[at].said_at, candidates[at].conversation_id, candidates[at].index or 0),
    )
    found: list[list[int]] = []
    current: dict[str, list[int]] = {}
    for at in order:
        each = candidates[at]
        last = current.get(each.conversation_id)
        if last is None or each.said_at - candidates[last[-1]].said_at > SESSION_GAP:
            last = current[each.conversation_id] = []
            found.append(last)
        last.append(at)
    return found


def _of_sessions(
    candidates: Sequence[Candidate], cosines: Sequence[float], words: _Words, known: bool
) -> list[dict[str, float]]:
    """Return what is seen of the session of each; ``known``: there are cosines.

    What has no place is as near as itself, and else like the turns here.
    """
    usual = {name: FEATURES[name].mean for name in ("session", "session_meaning", "session_words")}
    found = [usual] * len(candidates)
    turns: list[int] = []
    for session in sessions(candidates):
        held = frozenset[str]().union(*(words.held[candidates[at].text] for at in session))
        seen = usual | {"session_words": words.share(held)}
        if known:
            near = [cosines[at] for at in session]
            seen |= {"session": max(near), "session_meaning": fmean(near)}
        for at in session:
            found[at] = seen
        turns += session
    if turns:
        usual = {name: fmean(found[at][name] for at in turns) for name in usual}
    for at, each in enumerate(candidates):
        if each.index is None:
            found[at] = usual | {"session": cosines[at]} if known else usual
    return found


class _Words:
    """BM25 over the candidates and their neighbours, whose texts stand for what the person said."""

    def __init__(self, query: str, candidates: Sequence[Candidate]) -> None:
        texts = {text for each in candidates for text in (each.text, each.before, each.after) if text}
        split = {text: words_of(text) for text in texts}
        split[""] = []
        asked = dict.fromkeys(words_of(query))
        length = {text: len(words) for text, words in split.items()}
        counts = {text: Counter(filter(asked.__contains__, words)) for text, words in split.items()}
        seen = Counter(word for text in texts for word in counts[text])
        rarity = {word: math.log1p((len(texts) - seen[word] + 0.5) / (seen[word] + 0.5)) for word in asked}
        average = max(1.0, sum(length.values()) / max(1, len(texts)))
        self._whole = sum(rarity.values())
        self.rarity: Mapping[str, float] = rarity
        self.held = {text: frozenset(times) for text, times in counts.items()}

        def bm25(parts: Iterable[str], usual: float) -> float:
            total, times = 0, Counter[str]()
            for text in parts:
                total += length[text]
                if counts[text]:
                    times.update(counts[text])
            damping = _K1 * (1 - _B + _B * total / usual)
            return sum(rarity[word] * count * (_K1 + 1) / (count + damping) for word, count in times.items())

        self.alone = [bm25((each.text,), average) for each in candidates]
        self.around = [bm25((each.before, each.text, each.after), 3 * average) for each in candidates]
        self.counts = [length[each.text] for each in candidates]
        self.coverage = [self.share(self.held[each.text]) for each in candidates]

    def share(self, words: Iterable[str]) -> float:
        """Return which share of the question's words these are, by rarity."""
        return sum(self.rarity[word] for word in sorted(words)) / self._whole if self._whole else 0.0
