"""What can be seen of turns and facts that may answer a question, and how much it counts.

The weights (:mod:`.feature_weights`) were fitted by a softmax over each question's candidates, on conversations
of two people who have names, on long chats with an assistant and on short ones about preferences
(``benchmarks/quality/recall``).  Each feature is standardised with the means and spreads of that fit, so a
weight says how much one spread counts.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from models.messages import Role
from processors.recall.dating import said_then
from processors.recall.feature_weights import WEIGHTS
from processors.recall.question import Question, words_of
from processors.recall.rarity import Rarity

#: Two turns at most so many apart are about the same thing, perhaps.
NEAR_TURNS = 12

#: Turns of one conversation with a longer silence between them (seconds) were said in two sessions.
SESSION_GAP = 6 * 3600.0

#: Words that a turn needs to say something: a longer one gains nothing by its length.
_LONG_ENOUGH = 20

#: The end of a sentence that is no question, with more behind it.
_STATES = re.compile(r"[^\s?？.!][.!。！]+[\"'”’)]*\s+\S|[。！]\S|\n\s*\S")

#: Of case-folded text: to ignore the case takes three times as long.
_TIME = re.compile(
    r"\b(?:yesterday|today|tonight|tomorrow|last|next|ago|weeks?|weekends?|months?|years?|recently|just|since"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)days?|january|february|march|april|may|june|july|august"
    r"|september|october|november|december|(?:19|20)\d\d)\b"
)

#: What the person wants of every answer about something: "always ... when I ask about ...".  Looked for one
#: after the other: a pattern of both would read the rest of a part again for each "always" in it.
_EVER = re.compile(r"\b(?:always|never|whenever|from now on|every time|each time)\b", re.IGNORECASE)
_ON_AN_OCCASION = re.compile(r"\bwhen(?:ever)? (?:i|we|you)\b|\bif i\b", re.IGNORECASE)
_WHEN_ASKED = re.compile(r"\bwhen(?:ever)? i (?:ask|request|mention|talk|want|say)\b", re.IGNORECASE)
_PART_ENDS = re.compile(r"[.?!\n]")

#: What somebody answers is asked in the last so many characters before it.
_SENTENCE_ENDS = re.compile(r"(?<=[.!?？。！\n])")
_ASKED_IN = 400


class Feature(NamedTuple):
    """How much one spread of a feature counts, and what it is like among candidates."""

    weight: float
    mean: float
    spread: float


#: What the graph adds says which is better, and not whether anything answers: the chance is fitted without it.
GRAPH = "graph"

#: ``meaning``: cosine; ``words``, ``around``: BM25 of the text, and of it with its neighbours, each of the best
#: candidate's; ``speaker``: said by who is asked about; ``question``: only asks (1), or ends with a question (a
#: half); ``length``: log of 1 + words, up to 20, and ``longer``: log of how many times as long it is; ``time``:
#: names one, and the question asks for it; ``dated``: said at a date that the question names; ``near``: the
#: best cosine among other candidates within 12 turns; ``session``, ``session_meaning``: the best cosine in its
#: session, and the mean one; ``session_words``: the share of the question's words (by rarity) that stand in its
#: session; ``instruction``: the person says what every answer shall be like; ``recounted_instruction``: the
#: same where it is asked what was said, which an instruction does not bear on; ``graph``: says what is tied to
#: whom the question names (chosen: what is tied is too rare for a fit); ``answers``: the share of the
#: question's words that the turn before asks with and the turn itself leaves out, unless something is
#: requested.  ``broad_...``, where something as a whole is asked for: ``later``, log of 1 + turns since its
#: session began, and ``instruction``.  ``requested_...``: the same as the feature of that name where something
#: is requested rather than asked, else 0: the words of a request say what is wanted, less what was said.
FEATURES: Mapping[str, Feature] = {name: Feature(*row) for name, row in WEIGHTS.items()} | {
    GRAPH: Feature(1.0, 0.0, 1.0)
}

#: What is not known of a candidate: it adds nothing.
_UNKNOWN = math.nan


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
    """The values of the candidates' features, and which of the question's words each has.

    ``values`` has a row for each candidate, with a column for each of :data:`FEATURES`; NaN is what is not
    known.  ``coverage`` is the share of the question's words by ``rarity``, which is that of all of them among
    the candidates; ``held`` are those of a text, ``held_around`` those of it and its neighbours.
    """

    values: NDArray[np.float64]
    coverage: Sequence[float]
    rarity: Mapping[str, float]
    held: Sequence[frozenset[str]]
    held_around: Sequence[frozenset[str]]

    def of(self, name: str) -> list[float]:
        """Return the values of one feature."""
        found: list[float] = self.values[:, _COLUMNS[name]].tolist()
        return found

    def parts(self, weights: Mapping[str, Feature] = FEATURES) -> NDArray[np.float64]:
        """Return what each value adds, in the shape of ``values``."""
        weight, mean, spread = np.array([weights[name] for name in FEATURES]).T
        found: NDArray[np.float64] = np.nan_to_num(weight * (self.values - mean) / spread)
        return found


_COLUMNS = {name: column for column, name in enumerate(FEATURES)}


def features(question: Question, candidates: Sequence[Candidate]) -> Seen:
    """Return what is seen of each candidate, in their order.

    Cosines that are not known count as the lowest that is known: the index gave the nearest ones.
    """
    known = [each.cosine for each in candidates if each.cosine is not None]
    lowest = min(known, default=_UNKNOWN)
    cosines = [lowest if each.cosine is None else each.cosine for each in candidates]
    words = Rarity(question.text, [(each.before, each.text, each.after) for each in candidates])
    alone, around = (_of_best(bm25) for bm25 in (words.alone, words.around))
    speaker = _speaks(question, candidates)
    instruction = [float(each.role is Role.USER and _is_standing(each.text)) for each in candidates]
    columns: dict[str, Sequence[float]] = {
        "meaning": cosines,
        "words": alone,
        "around": around,
        "speaker": speaker,
        "question": [_asks(each.text) for each in candidates],
        "length": [_length(each, count) for each, count in zip(candidates, words.counts, strict=True)],
        "longer": [_longer(each, count) for each, count in zip(candidates, words.counts, strict=True)],
        "time": [float(question.when and _names_time(each.text)) for each in candidates],
        "dated": said_then(question.query, [each.said_at for each in candidates]),
        "near": _near(candidates, cosines) if known else [_UNKNOWN] * len(candidates),
        **_of_sessions(candidates, cosines, words, bool(known)),
        "broad_later": _later(candidates) if question.broad else [0.0] * len(candidates),
        "instruction": instruction,
        "recounted_instruction": [value * question.recounts for value in instruction],
        GRAPH: [float(each.tied) for each in candidates],
        "answers": [0.0] * len(candidates) if question.request else _answers(candidates, words),
        "broad_instruction": [value * question.broad for value in instruction],
        "requested_speaker": [value * question.request for value in speaker],
        "requested_words": [value * question.request for value in alone],
        "requested_around": [value * question.request for value in around],
    }
    values = np.array([columns[name] for name in FEATURES], dtype=np.float64).T
    return Seen(values, words.coverage, words.rarity, words.held, words.held_around)


def _of_best(bm25: Sequence[float]) -> list[float]:
    most = max(bm25, default=0.0) or 1.0
    return [value / most for value in bm25]


def _speaks(question: Question, candidates: Sequence[Candidate]) -> list[float]:
    """Return 1 for each that was said by who is asked about, else 0."""
    if question.asked:
        return [float(each.speaker == question.asked) for each in candidates]
    return [float(each.role is question.role) for each in candidates]


def _names_time(text: str) -> bool:
    return _TIME.search(text.casefold()) is not None


def _is_standing(text: str) -> bool:
    """Say whether a text tells what answers shall be like from now on."""
    folded = text.casefold()
    if "when" not in folded and "if i" not in folded:  # as in most texts, and said sooner than by a pattern
        return False
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
    return _UNKNOWN if candidate.index is None else math.log1p(min(words, _LONG_ENOUGH))


def _longer(candidate: Candidate, words: int) -> float:
    """Return how much longer than it needs to be a text is: the more it says, the more of it by chance."""
    return _UNKNOWN if candidate.index is None else math.log(max(words, _LONG_ENOUGH) / _LONG_ENOUGH)


def _answers(candidates: Sequence[Candidate], words: Rarity) -> list[float]:
    """Return which share of the question's words stands in what each answers, and not in itself."""
    found = [0.0] * len(candidates)
    for at, each in enumerate(candidates):
        left_out = words.held_before[at] - words.held[at]
        if left_out and ("?" in each.before or "？" in each.before):
            sentences = _SENTENCE_ENDS.split(each.before[-_ASKED_IN:])
            asked = "".join(sentence for sentence in sentences if sentence.endswith(("?", "？")))
            found[at] = words.share(left_out.intersection(words_of(asked)))
    return found


def _near(candidates: Sequence[Candidate], cosines: Sequence[float]) -> list[float]:
    """Return the best cosine of another candidate nearby; 0 if there is none.

    Of what has no place of its own, or is all that was said in its conversation, nothing is known.
    """
    places: dict[str, list[tuple[int, int]]] = {}
    for position, each in enumerate(candidates):
        if each.index is not None:
            places.setdefault(each.conversation_id, []).append((each.index, position))
    found = [_UNKNOWN] * len(candidates)
    for place in places.values():
        place.sort()
        near = [cosines[position] for _, position in place]
        first = last = 0
        for at, (index, position) in enumerate(place):
            if len(place) == 1 and not (candidates[position].before or candidates[position].after):
                continue
            while index - place[first][0] > NEAR_TURNS:
                first += 1
            while last < len(place) and place[last][0] - index <= NEAR_TURNS:
                last += 1
            found[position] = max(near[first:at] + near[at + 1 : last], default=0.0)
    return found


def sessions(candidates: Sequence[Candidate]) -> list[list[int]]:
    """Return the positions of the turns among the candidates by session, in the order of time."""
    order = sorted(
        [
            (each.said_at, each.conversation_id, each.index, at)
            for at, each in enumerate(candidates)
            if each.index is not None
        ]
    )
    found: list[list[int]] = []
    current: dict[str, list[int]] = {}
    for said_at, conversation_id, _, at in order:
        last = current.get(conversation_id)
        if last is None or said_at - candidates[last[-1]].said_at > SESSION_GAP:
            last = current[conversation_id] = []
            found.append(last)
        last.append(at)
    return found


def _later(candidates: Sequence[Candidate]) -> list[float]:
    """Return how far each stands behind the first candidate of its session: what a session is about is said
    at its beginning.
    """
    found = [_UNKNOWN] * len(candidates)
    for session in sessions(candidates):
        first = candidates[session[0]].index or 0
        for at in session:
            found[at] = math.log1p(max(0, (candidates[at].index or 0) - first))
    return found


def _of_sessions(
    candidates: Sequence[Candidate], cosines: Sequence[float], words: Rarity, known: bool
) -> dict[str, list[float]]:
    """Return what is seen of the session of each; ``known``: there are cosines.

    What has no place is as near as itself, and else like the turns here.
    """
    best, mean, share = ([_UNKNOWN] * len(candidates) for _ in range(3))
    turns: list[int] = []
    for session in sessions(candidates):
        near = [cosines[at] for at in session]
        of_session = (
            max(near) if known else _UNKNOWN,
            fmean(near) if known else _UNKNOWN,
            words.share(frozenset[str]().union(*(words.held[at] for at in session))),
        )
        for at in session:
            best[at], mean[at], share[at] = of_session
        turns += session
    usual = [fmean([each[at] for at in turns]) if turns else _UNKNOWN for each in (mean, share)]
    for at, each in enumerate(candidates):
        if each.index is None:
            best[at], mean[at], share[at] = cosines[at], *usual
    return {"session": best, "session_meaning": mean, "session_words": share}
