"""What of a conversation undoes what was said before it: changes, refusals, denials, other numbers, agreement.

Read once (:func:`ending`); then each question about a decision or a to-do takes as long as there is to look at.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from models.messages import Role
from processors.summaries.corrections import counts_of, prices_of
from processors.summaries.dialogue import (
    SAME_MATTER,
    SAME_TALK,
    TAKEN_BACK_WITHIN,
    beginning,
    is_agreed,
    is_same_matter,
    is_turned_down,
    next_turn,
)
from processors.summaries.reading import Sentence, Turn, words
from processors.summaries.reservations import declines, refuses
from processors.summaries.speech_acts import (
    accepts,
    changes_plans,
    counters,
    is_negative,
    is_proposal,
    takes_back,
)

#: Another number of what is counted, with as many of the same words, is another one of the same.
RECOUNTED = 2

#: Two words of a statement, or all of a shorter one; in the reply, one will do if it is half of the statement.
REVERSED = 2

#: An assistant says what it did or suggests to do; the rest of what it says is praise and advice.
_ACTS = re.compile(r"\b(?:I|[Ll]et['’]s)\b")

#: Between what a "not" reaches and what it does not.
_CLAUSES = re.compile(
    r"[,.;:?!–—]\s|\b(?:and|but|because|so|if|when|while|that|which|who|than)\b", re.IGNORECASE
)

#: Of more sentences that may undo something, the last of a conversation count.
MOST_TURNS_OF_MIND = 40


class Ending(NamedTuple):
    """What of a conversation undoes what was said before it.

    ``changes``: sentences that put something in the place of something else; ``refusals``: what is not to be,
    and what somebody does not want any more; ``agreed``: the turns with a proposal that was agreed to;
    ``places``: where (turn, sentence, how many words it has) somebody ("": anybody) said a word in a statement
    that denies, and in one that does not; ``counted``: sentences with
    numbers, and what they count.
    """

    changes: Sequence[Sentence]
    refusals: Sequence[Sentence]
    agreed: Sequence[int]
    places: Mapping[tuple[str, str, bool], Sequence[tuple[int, int, int]]]
    counted: Sequence[tuple[Sentence, Mapping[str, frozenset[str]]]]


def ending(turns: Sequence[Turn]) -> Ending:
    """Read once what is asked of every decision and to-do."""
    said = [sentence for turn in turns for sentence in turn.sentences]
    changes = [sentence for sentence in said if takes_back(sentence.plain) or changes_plans(sentence.plain)]
    refusals = [
        sentence
        for sentence in said
        # An assistant advises; whether that is an end of it, the person says.
        if turns[sentence.turn].role is Role.USER
        and not sentence.asks
        and (refuses(sentence.plain) or declines(sentence.lead + sentence.plain))
    ]
    agreed = [s.turn for s in said if is_proposal(s.plain) and is_agreed(turns, s)]
    places = defaultdict[tuple[str, str, bool], list[tuple[int, int, int]]](list)
    for sentence in said:
        if not sentence.asks and turns[sentence.turn].role is Role.USER:
            place = (sentence.turn, sentence.nth, len(sentence.words))
            for denied, about in enumerate(_by_polarity(sentence.lead + sentence.plain, sentence.words)):
                for speaker in ("", turns[sentence.turn].speaker):
                    for word in about:
                        places[speaker, word, bool(denied)].append(place)
    counted = [(sentence, counts) for sentence in said if (counts := counts_of(sentence.plain))]
    changes, refusals = (part[-MOST_TURNS_OF_MIND:] for part in (changes, refusals))
    return Ending(changes, refusals, agreed, places, counted[-MOST_TURNS_OF_MIND:])


def is_settled_after(end: Ending, turn: int) -> bool:
    """Tell whether a proposal is agreed to soon after a turn."""
    following = bisect_right(end.agreed, turn)
    return following < len(end.agreed) and end.agreed[following] - turn <= SAME_TALK


def is_superseded(turns: Sequence[Turn], end: Ending, decision: Sentence) -> bool:
    """Tell whether the same matter is decided anew later on, or the decision taken back."""
    return any(
        _replaces(turns, sentence, decision)
        for sentence in end.changes
        if (sentence.turn, sentence.nth) > (decision.turn, decision.nth)
    )


def is_refused(turns: Sequence[Turn], end: Ending, to_do: Sentence) -> bool:
    """Tell whether a to-do or a request is not to be: the reply, or what is said of the same matter anywhere,
    refuses it, or its speaker declines it later on.
    """
    return any(_ends(turns, refusal, to_do) for refusal in end.refusals)


def is_opposed(turns: Sequence[Turn], end: Ending, intended: Sentence) -> bool:
    """Tell whether what somebody wants or is about to do meets with an objection, a refusal at any time, or
    something else in its place.
    """
    after = next_turn(turns, intended.turn)
    if after is not None:
        if is_turned_down(turns, intended) or counters(beginning(after)):
            return True
        if any(is_proposal(s.plain) and s.words & intended.words for s in after.sentences):
            return not accepts(beginning(after))
    return is_refused(turns, end, intended)


def is_reversed(end: Ending, last: Sentence, told: str, about: frozenset[str], by: str = "") -> bool:
    """Tell whether something told is denied soon after, or was denied itself and is no more: a later statement
    of the same, as far as words tell, is the other way.  ``last`` is the last sentence of it; ``by``: only
    theirs count.
    """
    shared = Counter[tuple[int, int, int]]()
    for denied, part in enumerate(_by_polarity(told, about)):
        for word in part:
            places = end.places.get((by, word, not denied), ())
            following = bisect_right(places, (last.turn, last.nth + 1))
            for place in places[following : following + MOST_TURNS_OF_MIND]:
                if place[0] - last.turn > SAME_TALK:
                    break
                shared[place] += 1
    return any(
        number >= SAME_MATTER * min(many, len(about))
        and (turn <= last.turn + 1 or number >= min(REVERSED, many))
        for (turn, _, many), number in shared.items()
    )


def is_recounted(end: Ending, last: Sentence, told: str, about: frozenset[str]) -> bool:
    """Tell whether another price is named after something told, or another number of the same matter."""
    counts, prices = counts_of(told), prices_of(told)
    if not counts and not prices:
        return False
    later = ((s, c) for s, c in end.counted if (s.turn, s.nth) > (last.turn, last.nth))
    return any(
        (prices and prices_of(s.plain) and not prices & prices_of(s.plain))
        or (len(s.words & about) >= RECOUNTED and _differ(counts, c))
        for s, c in later
    )


def _differ(counts: Mapping[str, frozenset[str]], later: Mapping[str, frozenset[str]]) -> bool:
    """Tell whether other numbers are said of what is counted."""
    return any(not counts[unit] & later[unit] for unit in counts.keys() & later.keys())


def _by_polarity(text: str, about: frozenset[str]) -> tuple[frozenset[str], frozenset[str]]:
    """Which of its words a text says so of, and which it denies: a "not" denies the clause that it is in."""
    if not is_negative(text):
        return about, frozenset()
    denied = frozenset[str]().union(*(words(clause) for clause in _CLAUSES.split(text) if is_negative(clause)))
    return about - denied, about & denied


def _ends(turns: Sequence[Turn], refusal: Sentence, to_do: Sentence) -> bool:
    after = refusal.turn - to_do.turn
    if turns[refusal.turn].speaker != turns[to_do.turn].speaker:
        return 0 < after <= TAKEN_BACK_WITHIN or is_same_matter(refusal, to_do)
    return 0 < after <= TAKEN_BACK_WITHIN and declines(refusal.lead + refusal.plain)


def _replaces(turns: Sequence[Turn], sentence: Sentence, decision: Sentence) -> bool:
    if takes_back(sentence.plain):
        same_speaker = turns[sentence.turn].speaker == turns[decision.turn].speaker
        return same_speaker and sentence.turn - decision.turn <= TAKEN_BACK_WITHIN
    if not changes_plans(sentence.plain) or (sentence.asks and not is_agreed(turns, sentence)):
        return False
    if turns[sentence.turn].role is not Role.USER and not (sentence.asks or _ACTS.search(sentence.plain)):
        return False  # praise and advice
    return is_same_matter(sentence, decision)
