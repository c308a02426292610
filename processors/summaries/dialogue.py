"""What becomes of a question or a proposal in the turns that follow it.

Adjacency pairs (Schegloff and Sacks 1973): a question asks for an answer, a proposal for agreement.  A summary
tells how it ended, not how it began.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from models.messages import Role
from processors.summaries.corrections import are_other_times, numbers_of, prices_of
from processors.summaries.reading import Sentence, Turn
from processors.summaries.reservations import (
    arranges,
    declines,
    hands_over,
    is_done,
    is_found,
    is_solved,
    is_trouble,
    leaves_open,
    offers,
    refuses,
    retracts,
    serves,
)
from processors.summaries.speech_acts import (
    accepts,
    changes_plans,
    contradicts,
    counters,
    denies_that,
    is_evasive,
    is_negative,
    is_phatic,
    is_proposal,
    is_yes_or_no,
    objects,
    takes_back,
)

#: Sentences of a reply that tell whether it agrees.
REPLY = 2

#: Sentences that share this part of the smaller one's words are about the same.
SAME_MATTER = 0.5

#: Another number behind as many of the same words is another one of the same.
RECOUNTED = 2

#: Turns after which "I changed my mind" is about something else.
TAKEN_BACK_WITHIN = 4


#: Of more sentences that may undo something, the last of a conversation count.
MOST_TURNS_OF_MIND = 40


class Ending(NamedTuple):
    """What of a conversation undoes what was said before it.

    ``changes``: sentences that put something in the place of something else; ``refusals``: what is not to be,
    and what somebody does not want any more; ``agreed``: the last turn with a proposal that was agreed to;
    ``last``: where somebody ("": anybody) last said a word in a statement that denies, and in one that does
    not; ``counted``: sentences with numbers.
    """

    changes: Sequence[Sentence]
    refusals: Sequence[Sentence]
    agreed: int
    last: Mapping[tuple[str, str, bool], tuple[int, int]]
    counted: Sequence[Sentence]


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
    agreed = (s.turn for s in reversed(said) if is_proposal(s.plain) and is_agreed(turns, s))
    last = {
        (speaker, word, is_negative(sentence.lead + sentence.plain)): (sentence.turn, sentence.nth)
        for sentence in said
        if not sentence.asks and turns[sentence.turn].role is Role.USER
        for speaker in ("", turns[sentence.turn].speaker)
        for word in sentence.words
    }
    counted = [sentence for sentence in said if numbers_of(sentence.plain)]
    changes, refusals, counted = (part[-MOST_TURNS_OF_MIND:] for part in (changes, refusals, counted))
    return Ending(changes, refusals, next(agreed, -1), last, counted)


def reply_to(turns: Sequence[Turn], place: int) -> Turn | None:
    """Return the first turn of somebody else after ``turns[place]`` that does more than ask back."""
    speaker = turns[place].speaker
    return next((turn for turn in turns[place + 1 :] if turn.speaker != speaker and turn.statements), None)


def is_answered(turns: Sequence[Turn], question: Sentence) -> bool:
    """Tell whether somebody else answered: at once, or later if they put it off."""
    after = next_turn(turns, question.turn)
    if after is not None and after.sentences and is_yes_or_no(_beginning(after)):
        return True
    reply = reply_to(turns, question.turn)
    if reply is None:
        return False
    if not any(is_evasive(sentence.plain) for sentence in reply.statements):
        return True
    later = turns[reply.statements[0].turn + 1 :]
    told = [*reply.statements, *(statement for turn in later for statement in _told_to(turns, question, turn))]
    return any(
        not is_evasive(said.plain) and (not is_phatic(said.plain) or is_yes_or_no(said.lead + said.plain))
        for said in told
    )


def _told_to(turns: Sequence[Turn], question: Sentence, turn: Turn) -> tuple[Sentence, ...]:
    return turn.statements if turn.speaker != turns[question.turn].speaker else ()


def next_turn(turns: Sequence[Turn], place: int) -> Turn | None:
    """Return the turn right after, if somebody else's."""
    after = turns[place + 1] if place + 1 < len(turns) else None
    return after if after is not None and after.speaker != turns[place].speaker else None


def is_agreed(turns: Sequence[Turn], proposal: Sentence) -> bool:
    """Tell whether the next turn agrees to a proposal, and so settles it; a yes answers what was asked last."""
    after = next_turn(turns, proposal.turn)
    if after is None or not accepts(_beginning(after)):
        return False
    if any(sentence.asks for sentence in _rest(turns, proposal)):
        return False
    return not (proposal.asks and leaves_open(proposal.plain, _beginning(after)))


def is_turned_down(turns: Sequence[Turn], proposal: Sentence) -> bool:
    """Tell whether the next turn objects to a proposal."""
    after = next_turn(turns, proposal.turn)
    return after is not None and objects(_beginning(after)) and not accepts(_beginning(after))


def is_countered(turns: Sequence[Turn], decision: Sentence) -> bool:
    """Tell whether the next turn begins with something else instead of a decision."""
    after = next_turn(turns, decision.turn)
    return after is not None and counters(_beginning(after))


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
        if is_turned_down(turns, intended) or counters(_beginning(after)):
            return True
        if any(is_proposal(s.plain) and s.words & intended.words for s in after.sentences):
            return not accepts(_beginning(after))
    return is_refused(turns, end, intended)


def is_served(turns: Sequence[Turn], to_do: Sentence) -> bool:
    """Tell whether something is done as soon as it is said (handed over, or the other asks what else), or the
    other has arranged it in the end.
    """
    speaker = turns[to_do.turn].speaker
    later = (turn for turn in turns[to_do.turn + 1 :] if turn.speaker != speaker)
    if any(arranges(statement.plain) for turn in later for statement in turn.statements):
        return True
    if any(hands_over(sentence.lead + sentence.plain) for sentence in _rest(turns, to_do)):
        return True
    after = next_turn(turns, to_do.turn)
    return after is not None and any(
        hands_over(s.lead + s.plain) or (s.asks and serves(s.plain)) for s in after.sentences
    )


def is_rescheduled(turns: Sequence[Turn], to_do: Sentence) -> bool:
    """Tell whether another time of the same kind is named later on."""
    return any(
        are_other_times(to_do.plain, s.plain) for turn in turns[to_do.turn + 1 :] for s in turn.statements
    )


def _ends(turns: Sequence[Turn], refusal: Sentence, to_do: Sentence) -> bool:
    after = refusal.turn - to_do.turn
    if turns[refusal.turn].speaker != turns[to_do.turn].speaker:
        return 0 < after <= TAKEN_BACK_WITHIN or _is_same_matter(refusal, to_do)
    return 0 < after <= TAKEN_BACK_WITHIN and declines(refusal.lead + refusal.plain)


def _is_same_matter(one: Sentence, other: Sentence) -> bool:
    fewer = min(len(one.words), len(other.words))
    return fewer > 0 and len(one.words & other.words) >= SAME_MATTER * fewer


def _replaces(turns: Sequence[Turn], sentence: Sentence, decision: Sentence) -> bool:
    if takes_back(sentence.plain):
        same_speaker = turns[sentence.turn].speaker == turns[decision.turn].speaker
        return same_speaker and sentence.turn - decision.turn <= TAKEN_BACK_WITHIN
    if not changes_plans(sentence.plain) or (sentence.asks and not is_agreed(turns, sentence)):
        return False
    return _is_same_matter(sentence, decision)


def is_outdone(turns: Sequence[Turn], question: Sentence, answer: Sentence) -> bool:
    """Tell whether an answer was not the last word: who gave it says that it was wrong, that what troubled them
    is over, offers after a no what was asked for, or proposes another time; or it is denied, or asked again.
    """
    speaker = turns[answer.turn].speaker
    soon = turns[answer.turn + 1 : answer.turn + 1 + TAKEN_BACK_WITHIN]
    if any(retracts(s.plain) for turn in soon if turn.speaker == speaker for s in turn.statements):
        return True
    if (is_trouble(answer.plain) and is_met(turns, answer)) or is_contradicted(turns, answer):
        return True
    said_no = objects(answer.lead + answer.plain) or refuses(answer.plain)
    later = (turn for turn in turns[answer.turn + 1 :] if turn.speaker == speaker)
    if any(is_proposal(s.plain) and are_other_times(answer.plain, s.plain) for t in later for s in t.sentences):
        return True
    return any(
        s.asks if turn.speaker != speaker else (said_no and not s.asks and offers(s.plain))
        for turn in turns[answer.turn + 1 :]
        if turn.speaker in (speaker, turns[question.turn].speaker)
        for s in turn.sentences
        if _is_same_matter(s, question)
    )


def is_reversed(end: Ending, last: Sentence, told: str, about: frozenset[str], by: str = "") -> bool:
    """Tell whether something told is denied later on, or was denied itself and is no more: a later statement
    about one of its words is the other way.  ``last`` is the last sentence of it; ``by``: only theirs count.
    """
    here, denied = (last.turn, last.nth), is_negative(told)
    return any(end.last.get((by, word, not denied), here) > here for word in about)


def is_recounted(end: Ending, last: Sentence, told: str, about: frozenset[str]) -> bool:
    """Tell whether another price is named after something told, or another number of the same matter."""
    numbers, prices = numbers_of(told), prices_of(told)
    if not numbers:
        return False
    later = (s for s in end.counted if (s.turn, s.nth) > (last.turn, last.nth))
    return any(
        (prices and prices_of(s.plain) and not prices & prices_of(s.plain))
        or (len((s.words & about) - numbers) >= RECOUNTED and not numbers & numbers_of(s.plain))
        for s in later
    )


def is_met(turns: Sequence[Turn], statement: Sentence) -> bool:
    """Tell whether what somebody has to do, or what troubles them, is over before the talk is."""
    trouble, speaker = is_trouble(statement.plain), turns[statement.turn].speaker
    rest = turns[statement.turn + 1 :]
    if trouble and any(is_found(later.plain) for turn in rest for later in turn.statements):
        return True
    return any(
        (trouble and is_solved(later.plain)) or (is_done(later.plain) and _is_same_matter(later, statement))
        for turn in rest
        if turn.speaker == speaker
        for later in turn.statements
    )


def is_contradicted(turns: Sequence[Turn], statement: Sentence) -> bool:
    """Tell whether the next turn denies a statement, which the turn ends with, or its speaker does at once."""
    after = next_turn(turns, statement.turn)
    said = turns[statement.turn].sentences
    if any(denies_that(s.lead + s.plain) for s in said if statement.nth < s.nth <= statement.nth + REPLY):
        return True
    last = said[-1] is statement
    return last and after is not None and contradicts(_beginning(after))


def is_answer(turns: Sequence[Turn], statement: Sentence) -> bool:
    """Tell whether a statement is what its turn answers a question with."""
    if statement.nth or not statement.turn:
        return False
    before = turns[statement.turn - 1]
    asked = before.speaker != turns[statement.turn].speaker and before.sentences
    return bool(asked) and before.sentences[-1].asks


def _rest(turns: Sequence[Turn], said: Sentence) -> list[Sentence]:
    """What its turn goes on with; sentences before it may have been left out, so that places are no numbers."""
    return [sentence for sentence in turns[said.turn].sentences if sentence.nth > said.nth]


def _beginning(turn: Turn) -> str:
    return " ".join(sentence.lead + sentence.plain for sentence in turn.sentences[:REPLY])
