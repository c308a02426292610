"""What becomes of a question or a proposal in the turns that follow it.

Adjacency pairs (Schegloff and Sacks 1973): a question asks for an answer, a proposal for agreement.  A summary
tells how it ended, not how it began.
"""

from __future__ import annotations

from collections.abc import Sequence

from models.messages import Role
from processors.summaries.contact import is_phatic
from processors.summaries.corrections import are_other_times
from processors.summaries.reading import Sentence, Turn
from processors.summaries.reservations import (
    arranges,
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
    charges,
    contradicts,
    counters,
    denies_that,
    is_evasive,
    is_negative,
    is_proposal,
    is_yes_or_no,
    objects,
)

#: Sentences of a reply that tell whether it agrees.
REPLY = 2

#: Sentences that share this part of the smaller one's words are about the same.
SAME_MATTER = 0.5

#: A question that shares one word with another, and has more, may well go on from its answer.
ASKED_AGAIN = 2

#: Turns after which "I changed my mind" is about something else.
TAKEN_BACK_WITHIN = 4

#: Turns after which people talk of something else: what does not name a matter is of none that is further back.
SAME_TALK = 12


def _soon(turns: Sequence[Turn], place: int, within: int = SAME_TALK) -> Sequence[Turn]:
    """The turns after ``turns[place]`` in which people still talk of the same."""
    return turns[place + 1 : place + 1 + within]


def reply_to(turns: Sequence[Turn], place: int) -> Turn | None:
    """Return the first turn of somebody else after ``turns[place]`` that does more than ask back."""
    speaker = turns[place].speaker
    return next((turn for turn in turns[place + 1 :] if turn.speaker != speaker and turn.statements), None)


def is_answered(turns: Sequence[Turn], question: Sentence) -> bool:
    """Tell whether somebody else answered: at once, or later if they put it off."""
    after = next_turn(turns, question.turn)
    if after is not None and after.sentences and is_yes_or_no(beginning(after)):
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
    if after is None or not accepts(beginning(after)):
        return False
    if any(sentence.asks for sentence in _rest(turns, proposal)):
        return False
    return not leaves_open(proposal.plain, beginning(after))


def is_turned_down(turns: Sequence[Turn], proposal: Sentence) -> bool:
    """Tell whether the next turn objects to a proposal."""
    after = next_turn(turns, proposal.turn)
    return after is not None and objects(beginning(after)) and not accepts(beginning(after))


def is_countered(turns: Sequence[Turn], decision: Sentence) -> bool:
    """Tell whether the next turn begins with something else instead of a decision."""
    after = next_turn(turns, decision.turn)
    return after is not None and counters(beginning(after))


def is_served(turns: Sequence[Turn], to_do: Sentence) -> bool:
    """Tell whether something is done as soon as it is said (handed over, or the other asks what else), or the
    other has arranged it in the end.
    """
    speaker = turns[to_do.turn].speaker
    later = (turn for turn in _soon(turns, to_do.turn) if turn.speaker != speaker)
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
        are_other_times(to_do.plain, s.plain) for turn in _soon(turns, to_do.turn) for s in turn.statements
    )


def is_same_matter(one: Sentence, other: Sentence) -> bool:
    """Tell whether two sentences are about the same."""
    fewer = min(len(one.words), len(other.words))
    return fewer > 0 and len(one.words & other.words) >= SAME_MATTER * fewer


def is_outdone(turns: Sequence[Turn], question: Sentence, answer: Sentence) -> bool:
    """Tell whether an answer was not the last word: who gave it says that it was wrong, that what troubled them
    is over, offers after a no what was asked for, or proposes another time; or it is denied, or asked again.
    An assistant ends each of its answers with the same offer: that asks nothing again.
    """
    speaker = turns[answer.turn].speaker
    at_once = _soon(turns, answer.turn, TAKEN_BACK_WITHIN)
    if any(retracts(s.plain) for turn in at_once if turn.speaker == speaker for s in turn.statements):
        return True
    if (is_trouble(answer.plain) and is_met(turns, answer)) or is_contradicted(turns, answer):
        return True
    said_no = objects(answer.lead + answer.plain) or refuses(answer.plain)
    later = (turn for turn in _soon(turns, answer.turn) if turn.speaker == speaker)
    if any(is_proposal(s.plain) and are_other_times(answer.plain, s.plain) for t in later for s in t.sentences):
        return True
    return any(
        (s.asks and turn.role is Role.USER and _asks_again(s, question))
        if turn.speaker != speaker
        else (said_no and not s.asks and offers(s.plain) and bool(s.words & question.words))
        for turn in _soon(turns, answer.turn)
        if turn.speaker in (speaker, turns[question.turn].speaker)
        for s in turn.sentences
    )


def _asks_again(later: Sentence, question: Sentence) -> bool:
    several = len(later.words & question.words) >= min(ASKED_AGAIN, len(later.words | question.words))
    return several and is_same_matter(later, question)


def is_met(turns: Sequence[Turn], statement: Sentence) -> bool:
    """Tell whether what somebody has to do, or what troubles them, is over before the talk is."""
    trouble, speaker = is_trouble(statement.plain), turns[statement.turn].speaker
    rest = _soon(turns, statement.turn)
    if trouble and any(is_found(later.plain) for turn in rest for later in turn.statements):
        return True
    return any(
        (trouble and is_solved(later.plain)) or (is_done(later.plain) and is_same_matter(later, statement))
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
    if said[-1] is not statement or after is None:
        return False
    replied = beginning(after)
    return contradicts(replied) or (
        charges(statement.plain) and is_negative(replied) and not is_yes_or_no(replied)
    )


def is_answer(turns: Sequence[Turn], statement: Sentence) -> bool:
    """Tell whether a statement is what its turn answers a question with."""
    if statement.nth or not statement.turn:
        return False
    before = turns[statement.turn - 1]
    asked = before.speaker != turns[statement.turn].speaker and before.sentences
    return bool(asked) and before.sentences[-1].asks


def is_asked(turns: Sequence[Turn], place: int, within: int = SAME_TALK) -> bool:
    """Tell whether one of so many turns before asks for something, which a turn may give."""
    return any(turn.asks for turn in turns[max(place - within, 0) : place])


def _rest(turns: Sequence[Turn], said: Sentence) -> list[Sentence]:
    """What its turn goes on with; sentences before it may have been left out, so that places are no numbers."""
    return [sentence for sentence in turns[said.turn].sentences if sentence.nth > said.nth]


def beginning(turn: Turn) -> str:
    """Return what a reply begins with, which says whether it agrees."""
    return " ".join(sentence.lead + sentence.plain for sentence in turn.sentences[:REPLY])
