"""What of a conversation still stands at its end; where that is not sure, a summary is silent.

Among people only: an assistant may warn or ask back, and what it says undoes nothing.
"""

from __future__ import annotations

from processors.summaries.dialogue import (
    is_agreed,
    is_countered,
    is_met,
    is_rescheduled,
    is_served,
    next_turn,
)
from processors.summaries.ending import (
    is_opposed,
    is_recounted,
    is_refused,
    is_reversed,
    is_settled_after,
    is_superseded,
)
from processors.summaries.reading import Sentence
from processors.summaries.reservations import is_choice, is_guess, is_intention
from processors.summaries.speech_acts import is_proposal, objects
from processors.summaries.worth import Conversation


def is_outdated(said: Conversation, last: Sentence, told: str, about: frozenset[str], by: str = "") -> bool:
    """Tell whether the talk went on to say otherwise, or another number."""
    if is_reversed(said.end, last, told, about, by):
        return True
    return said.named and is_recounted(said.end, last, told, about)


def is_in_doubt(said: Conversation, sentence: Sentence) -> bool:
    """Tell whether others have something against what somebody wants, do not confirm what they suppose, or all
    agree in the end whatever was wanted or objected before.
    """
    intended = is_intention(sentence.plain)
    if is_settled_after(said.end, sentence.turn) and (intended or _is_bargaining(said, sentence)):
        return True
    if intended and is_opposed(said.turns, said.end, sentence):
        return True
    if is_choice(sentence.plain) and next_turn(said.turns, sentence.turn) is not None:
        return not is_agreed(said.turns, sentence)
    return is_guess(sentence.plain) and not is_agreed(said.turns, sentence)


def _is_bargaining(said: Conversation, objection: Sentence) -> bool:
    """Tell whether somebody objects where something is proposed: before or after they do."""
    around = said.turns[max(objection.turn - 1, 0) : objection.turn + 2]
    return objects(objection.plain) and any(is_proposal(s.plain) for turn in around for s in turn.sentences)


def is_outweighed(said: Conversation, proposal: Sentence, agreed: bool) -> bool:
    """Tell whether what was agreed later counts, not this proposal."""
    if agreed:
        return is_superseded(said.turns, said.end, proposal)
    return said.named and is_settled_after(said.end, proposal.turn)


def is_undone(said: Conversation, decision: Sentence) -> bool:
    """An assistant may ask back or warn; among people, who is countered has decided nothing yet."""
    return is_superseded(said.turns, said.end, decision) or (said.named and is_countered(said.turns, decision))


def is_over(said: Conversation, to_do: Sentence) -> bool:
    """Tell whether a to-do is not to be, or is seen to."""
    if is_refused(said.turns, said.end, to_do):
        return True
    if not said.named:
        return False
    return is_met(said.turns, to_do) or is_served(said.turns, to_do) or is_rescheduled(said.turns, to_do)
