"""What becomes of a question or a proposal in the turns that follow it.

Adjacency pairs (Schegloff and Sacks 1973): a question asks for an answer, a proposal for agreement.  A summary
tells how it ended, not how it began.
"""

from __future__ import annotations

from collections.abc import Sequence

from processors.summaries.reading import Sentence, Turn
from processors.summaries.speech_acts import (
    accepts,
    changes_plans,
    contradicts,
    counters,
    is_evasive,
    is_phatic,
    objects,
    takes_back,
)

#: Sentences of a reply that tell whether it agrees.
REPLY = 2

#: Sentences that share this part of the smaller one's words are about the same.
SAME_MATTER = 0.5

#: Turns after which "I changed my mind" is about something else.
TAKEN_BACK_WITHIN = 4


def reply_to(turns: Sequence[Turn], place: int) -> Turn | None:
    """Return the first turn of somebody else after ``turns[place]`` that does more than ask back."""
    speaker = turns[place].speaker
    return next((turn for turn in turns[place + 1 :] if turn.speaker != speaker and turn.statements), None)


def is_answered(turns: Sequence[Turn], question: Sentence) -> bool:
    """Tell whether somebody else answered: at once, or later if they put it off."""
    reply = reply_to(turns, question.turn)
    if reply is None:
        return False
    if not any(is_evasive(sentence.plain) for sentence in reply.statements):
        return True
    later = turns[reply.statements[0].turn + 1 :]
    told = [*reply.statements, *(statement for turn in later for statement in _told_to(turns, question, turn))]
    return any(not is_evasive(statement.plain) and not is_phatic(statement.plain) for statement in told)


def _told_to(turns: Sequence[Turn], question: Sentence, turn: Turn) -> tuple[Sentence, ...]:
    return turn.statements if turn.speaker != turns[question.turn].speaker else ()


def next_turn(turns: Sequence[Turn], place: int) -> Turn | None:
    """Return the turn right after, if somebody else's."""
    after = turns[place + 1] if place + 1 < len(turns) else None
    return after if after is not None and after.speaker != turns[place].speaker else None


def is_agreed(turns: Sequence[Turn], proposal: Sentence) -> bool:
    """Tell whether the next turn agrees to a proposal."""
    after = next_turn(turns, proposal.turn)
    return after is not None and accepts(_beginning(after))


def is_turned_down(turns: Sequence[Turn], proposal: Sentence) -> bool:
    """Tell whether the next turn objects to a proposal."""
    after = next_turn(turns, proposal.turn)
    return after is not None and objects(_beginning(after)) and not accepts(_beginning(after))


def is_countered(turns: Sequence[Turn], decision: Sentence) -> bool:
    """Tell whether the next turn begins with something else instead of a decision."""
    after = next_turn(turns, decision.turn)
    return after is not None and counters(_beginning(after))


def is_superseded(turns: Sequence[Turn], decision: Sentence) -> bool:
    """Tell whether the same matter is decided anew later on, or the decision taken back."""
    later = [
        sentence
        for turn in turns[decision.turn :]
        for sentence in turn.sentences
        if (sentence.turn, sentence.nth) > (decision.turn, decision.nth)
    ]
    return any(_replaces(turns, sentence, decision) for sentence in later)


def _replaces(turns: Sequence[Turn], sentence: Sentence, decision: Sentence) -> bool:
    if takes_back(sentence.plain):
        same_speaker = turns[sentence.turn].speaker == turns[decision.turn].speaker
        return same_speaker and sentence.turn - decision.turn <= TAKEN_BACK_WITHIN
    if not changes_plans(sentence.plain) or (sentence.asks and not is_agreed(turns, sentence)):
        return False
    fewer = min(len(sentence.words), len(decision.words))
    return fewer > 0 and len(sentence.words & decision.words) >= SAME_MATTER * fewer


def is_contradicted(turns: Sequence[Turn], statement: Sentence) -> bool:
    """Tell whether the next turn denies a statement, which the turn ends with."""
    after = next_turn(turns, statement.turn)
    last = turns[statement.turn].sentences[-1] is statement
    return last and after is not None and contradicts(_beginning(after))


def is_answer(turns: Sequence[Turn], statement: Sentence) -> bool:
    """Tell whether a statement is what its turn answers a question with."""
    if statement.nth or not statement.turn:
        return False
    before = turns[statement.turn - 1]
    asked = before.speaker != turns[statement.turn].speaker and before.sentences
    return bool(asked) and before.sentences[-1].asks


def _beginning(turn: Turn) -> str:
    return " ".join(sentence.lead + sentence.plain for sentence in turn.sentences[:REPLY])
