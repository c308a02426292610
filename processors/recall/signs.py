"""What of the candidates tells whether anything answers a question, by name.

A question about somebody that another person's words answer better is often about the wrong one; names that
are asked for and stand nowhere tell, too.  *Content* is a candidate's parts but for who said it; *theirs* are
the turns of whom the question names (of everybody, if it names nobody), *others* the rest.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from processors.recall.features import FEATURES, GRAPH, Candidate, Seen
from processors.recall.question import Question, words_of

#: So many of the best count.
_BEST, _MORE, _FIRST = 5, 10, 3

#: Parts that say who spoke.
_WHO = [name in ("speaker", "requested_speaker") for name in FEATURES]
_FITTED = [name != GRAPH for name in FEATURES]

_SELF = re.compile(r"\b(?:i|my|me|i'm|we|us|our)\b", re.IGNORECASE)
_YOU = re.compile(r"\byour?\b", re.IGNORECASE)
_I = re.compile(r"\b(?:i|my|me|mine|we|our|us)\b", re.IGNORECASE)
_TO_YOU = re.compile(r"\b(?:you|yours?)\b", re.IGNORECASE)
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")

#: Of so many of the best it is read, in so many characters, what they say of whom.
_READ, _CHARACTERS = 8, 1_500

#: In the order of the weights.  ``lead``: parts of the best; ``ahead``: how far it is ahead of the fifth;
#: ``meaning``, ``stands_out``: the best cosine, and how many spreads above the mean it is; ``covered``,
#: ``covered_often``: the best share of the question's words (by rarity), and the mean of the three best;
#: ``rival...``: by how much theirs are better than others' (content, cosine, share); ``named``: somebody is;
#: ``best_...``: of the best candidate; ``words``: how many the question has; ``missing``: the share of words
#: that nobody said, or they did not; ``..._covered``: the share that the three best have together, or one of
#: the five best alone, or with its neighbours; ``share...``: how many of the best by content are theirs, and
#: ``behind`` how many of others' stand before them; ``rarest...``: the rarity of a word, and whose it is;
#: ``adjacent``: the best of theirs stands beside the best of others'; ``about_...``: of the best of theirs,
#: whom it speaks of; ``facts_covered``: the best share of a fact.  The best share of the question's words in
#: sentences of theirs and of others' that state something, of the speaker or not of "you" (``..._self``,
#: ``..._statement``), with what they answer, and in those that ask or are about "you" (``their_address``);
#: ``rival_...``, ``stated...``: by how much theirs are better than others', and than what they say of "you";
#: ``best_self``: of the best of theirs alone.
NAMES = (
    *("lead", "ahead", "meaning", "stands_out", "covered", "covered_often", "named", "words"),
    *("rival", "rival_meaning", "rival_words", "best_meaning", "best_words", "best_around"),
    *("missing", "missing_theirs", "theirs_covered", "others_covered", "their_best_covered"),
    *("other_best_covered", "their_place_covered", "other_place_covered", "share", "share_of_more", "best_is"),
    *("behind", "rarest", "rarest_theirs", "rarest_is_theirs", "rarest_is_others", "their_meaning"),
    *("their_meanings", "other_meanings", "about_themselves", "about_you", "when", "request", "best_asks"),
    *("adjacent", "adjacent_rival", "facts_covered"),
    *("their_statement", "their_self", "their_address", "other_statement", "other_self"),
    *("rival_statement", "rival_self", "stated", "stated_of_self", "best_self"),
)


def signs(
    question: Question,
    candidates: Sequence[Candidate],
    seen: Seen,
    parts: NDArray[np.float64],
) -> dict[str, float]:
    """Return what is seen of the turns among the candidates (of all, if there are none), by :data:`NAMES`."""
    turns = [at for at, each in enumerate(candidates) if each.index is not None] or list(range(len(candidates)))
    sums = parts[:, _FITTED].sum(axis=1).tolist()
    content = (parts[:, _FITTED].sum(axis=1) - parts[:, _WHO].sum(axis=1)).tolist()
    order = sorted(turns, key=sums.__getitem__, reverse=True)
    best = order[0]
    meanings = seen.of("meaning")
    of_turns = [meanings[at] for at in turns]
    usual = fmean(of_turns)
    covered = sorted((seen.coverage[at] for at in turns), reverse=True)
    nearest = max(of_turns)
    found = dict.fromkeys(NAMES, 0.0)
    found |= {
        "lead": sums[best],
        "ahead": sums[best] - sums[order[min(4, len(order) - 1)]],
        "meaning": nearest,
        "stands_out": (nearest - usual) / (_spread(of_turns, usual) or 1.0),
        "covered": covered[0],
        "covered_often": fmean(covered[:_FIRST]),
        "named": float(bool(question.asked)),
        "best_meaning": meanings[best],
        "best_words": seen.coverage[best],
        "best_around": seen.of("around")[best],
        "words": float(len(seen.rarity)),
        "when": float(question.when),
        "request": float(question.request),
        "facts_covered": max(
            (share for share, each in zip(seen.coverage, candidates, strict=True) if each.index is None),
            default=0.0,
        ),
    }
    by_content = sorted(turns, key=content.__getitem__, reverse=True)
    theirs = [at for at in by_content if not question.asked or candidates[at].speaker == question.asked]
    others = [at for at in by_content if question.asked and candidates[at].speaker != question.asked]
    found |= _words(seen, turns, theirs, others)
    found |= _places(question, candidates, by_content, theirs, others)
    found |= _stated(candidates, seen, theirs, others)
    if theirs:
        found["their_meaning"] = max(meanings[at] for at in theirs)
        found["their_meanings"] = _best_mean(meanings, theirs)
    if others:
        found["other_meanings"] = _best_mean(meanings, others)
    if theirs and others:
        found["rival"] = content[theirs[0]] - content[others[0]]
        found["rival_meaning"] = max(meanings[at] for at in theirs) - max(meanings[at] for at in others)
        found["rival_words"] = max(seen.coverage[at] for at in theirs) - max(seen.coverage[at] for at in others)
        found["adjacent_rival"] = found["adjacent"] * found["rival"]
    return found


def _spread(values: Sequence[float], mean: float) -> float:
    """Return the standard deviation.  That of :mod:`statistics` reckons in fractions, which takes long."""
    return math.sqrt(math.fsum([(value - mean) ** 2 for value in values]) / len(values))


def _best_mean(values: Sequence[float], among: Iterable[int]) -> float:
    return fmean(sorted((values[at] for at in among), reverse=True)[:_FIRST])


def _words(seen: Seen, turns: Sequence[int], theirs: Sequence[int], others: Sequence[int]) -> dict[str, float]:
    """Return what the question's words tell; of each, ``rarity`` says how rare it is among the candidates."""
    rarity = seen.rarity
    whole = sum(rarity.values()) or 1.0

    def share(words: frozenset[str]) -> float:
        return sum(rarity[word] for word in sorted(words)) / whole

    def together(among: Iterable[int]) -> float:
        return share(frozenset[str]().union(*(seen.held[at] for at in among)))

    def alone(among: Sequence[int]) -> float:
        return max((seen.coverage[at] for at in among[:_BEST]), default=0.0)

    def in_place(among: Sequence[int]) -> float:
        return max((share(seen.held_around[at]) for at in among[:_BEST]), default=0.0)

    rarest = max(sorted(rarity), key=lambda word: rarity[word], default="")
    return {
        "missing": 1.0 - together(turns),
        "missing_theirs": 1.0 - together(theirs),
        "theirs_covered": together(theirs[:_FIRST]),
        "others_covered": together(others[:_FIRST]),
        "their_best_covered": alone(theirs),
        "other_best_covered": alone(others),
        "their_place_covered": in_place(theirs),
        "other_place_covered": in_place(others),
        "rarest": rarity.get(rarest, 0.0),
        "rarest_theirs": max((rarity[word] for at in theirs[:_BEST] for word in seen.held[at]), default=0.0),
        "rarest_is_theirs": float(any(rarest in seen.held[at] for at in theirs)),
        "rarest_is_others": float(any(rarest in seen.held[at] for at in others)),
    }


class _Told(NamedTuple):
    """Which share of the question's words a text states, of its speaker, and says to or of "you"."""

    statement: float = 0.0
    self: float = 0.0
    address: float = 0.0


def _stated(
    candidates: Sequence[Candidate], seen: Seen, theirs: Sequence[int], others: Sequence[int]
) -> dict[str, float]:
    """Return who states what is asked.  Who only asks about it, or speaks of "you", does not answer: the other
    one does, and another one was asked about.
    """
    answers = seen.of("answers")
    whole = sum(seen.rarity.values()) or 1.0

    def best(told: Sequence[tuple[_Told, float]]) -> _Told:
        return _Told(
            max((each.statement + answer for each, answer in told), default=0.0),
            max((each.self + answer for each, answer in told), default=0.0),
            max((each.address for each, _ in told), default=0.0),
        )

    told, told_by_others = (
        [(_told(seen.rarity, whole, candidates[at].text), answers[at]) for at in among[:_READ]]
        for among in (theirs, others)
    )
    own, other = best(told), best(told_by_others)
    return {
        "their_statement": own.statement,
        "their_self": own.self,
        "their_address": own.address,
        "other_statement": other.statement,
        "other_self": other.self,
        "rival_statement": own.statement - other.statement,
        "rival_self": own.self - other.self,
        "stated": own.statement - own.address,
        "stated_of_self": own.self - own.address,
        "best_self": told[0][0].self if told else 0.0,
    }


def _told(rarity: Mapping[str, float], whole: float, text: str) -> _Told:
    statement, of_self, address = set[str](), set[str](), set[str]()
    for sentence in _SENTENCE.split(text[:_CHARACTERS]):
        held = rarity.keys() & words_of(sentence)
        if not held:
            continue
        asks = sentence.rstrip().endswith(("?", "？"))
        (address if asks or _TO_YOU.search(sentence) else statement).update(held)
        if not asks and _I.search(sentence):
            of_self |= held
    return _Told(
        *(sum(rarity[word] for word in sorted(words)) / whole for words in (statement, of_self, address))
    )


def _places(
    question: Question,
    candidates: Sequence[Candidate],
    by_content: Sequence[int],
    theirs: Sequence[int],
    others: Sequence[int],
) -> dict[str, float]:
    """Return who stands first, and what the first ones look like."""
    ours = frozenset(theirs)
    found = {
        "share": sum(at in ours for at in by_content[:_BEST]) / _BEST if question.asked else 0.5,
        "share_of_more": sum(at in ours for at in by_content[:_MORE]) / _MORE if question.asked else 0.5,
        "best_is": float(by_content[0] in ours) if question.asked else 0.5,
        "behind": math.log1p(by_content.index(theirs[0]) if theirs else 2 * _MORE),
        "best_asks": float(candidates[by_content[0]].text.rstrip().endswith(("?", "？"))),
    }
    if theirs:
        first = candidates[theirs[0]]
        found["about_themselves"] = float(_SELF.search(first.text) is not None)
        found["about_you"] = float(_YOU.search(first.text) is not None)
        other = candidates[others[0]] if others else None
        found["adjacent"] = float(
            other is not None
            and first.conversation_id == other.conversation_id
            and abs((first.index or 0) - (other.index or 0)) <= 2
        )
    return found
