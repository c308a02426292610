"""Into which list a sentence goes, or into none.  The first of these rules that knows it decides:

1. A fragment, and an answer that its speaker outdid later, is nowhere.
2. What only moves the talk on, cheers, or is laid out by an assistant, is nowhere.
3. A proposal is a decision once it is agreed to (:mod:`.dialogue`), and nowhere once it met with anything else.
4. What others doubt, refuse, or have seen to by the end is nowhere (:mod:`.standing`).
5. What its wording names (:mod:`.cues`) is what it names; habits and what is true only now are key facts.
6. A request is a to-do until it is answered, or once somebody agrees to do it.
7. All other statements that say something by themselves are key facts.

Whatever is not sure to be true for somebody who reads it alone is left out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from models.messages import Role
from processors.summaries.advice import is_instruction, is_shown
from processors.summaries.antecedents import leaves_open
from processors.summaries.contact import is_phatic
from processors.summaries.cues import Section, cued_section
from processors.summaries.dialogue import (
    is_agreed,
    is_answer,
    is_answered,
    is_asked,
    is_contradicted,
    is_met,
    is_outdone,
    is_turned_down,
    next_turn,
)
from processors.summaries.ending import is_refused
from processors.summaries.perspective import is_past
from processors.summaries.pointing import (
    follows_from_advice,
    is_own_we,
    is_seen,
    is_we_with_another,
    points_back,
)
from processors.summaries.reading import ELLIPSIS, Sentence, Turn, only_says_when
from processors.summaries.reservations import (
    encourages,
    is_habit,
    is_on_the_spot,
    is_passing,
    is_transition,
    is_trouble,
    is_wish,
)
from processors.summaries.speech_acts import (
    is_clause,
    is_command,
    is_evasive,
    is_fragment,
    is_proposal,
    is_request,
    leans_back,
)
from processors.summaries.standing import is_in_doubt, is_outweighed, is_over, is_undone
from processors.summaries.worth import Conversation

#: What holds beyond today.
PROFILE = frozenset((Section.PREFERENCES, Section.CONSTRAINTS))

#: What "one" is, how many there are of what, or what somebody can, does or is, the question before says.
_ANAPHORIC = re.compile(
    r"\b(?:there(?:'s| is| are)|ha(?:ve|s)|got|see|need|want) (?:only |about )?(?:one|two|three|four|five|\d+|"
    r"some|any|none|several|both|all|enough|more|many)(?=\W*\Z|[,;]| (?:across|near|next|behind|opposite|"
    r"around|down|over|on|in|at|by|here|just|left)\b)|\b(?:can|could|do|does|did|will|would|should|must|may|"
    r"might|have|has|am|is|are|was|were)(?:n['’]t| not)?(?=\W*\Z|[,.;!?]| (?:if|but|because|so|and|when|as|"
    r"too|that|though|either|already|yet)\b)",
    re.IGNORECASE,
)

#: An answer that goes on in the words of its question, or turns to who asked: "to the first, but not the rest".
_GOES_ON_FROM = re.compile(
    r"(?:no|nope|to|of|because|but|or|except|only|sir|madam|ma['’]am|miss)\b",
    re.IGNORECASE,
)

#: Of what it is the length, the number or the place, an answer need not say again.
_HOW_MUCH = re.compile(r"(?:how (?:long|often|many|much|far|old)|when|since when)\b", re.IGNORECASE)

_TO_YOU = re.compile(r"\byour?\b", re.IGNORECASE)

#: What came of it is told, too: "I decided to paint it, so I took a brush".
_STORY = re.compile(r"\b(?:so|and|then),? (?:I|we) (\w+)")

_CURIOUS = re.compile(
    r"I(?:['’]m| am|['’]ve been| was)? (?:\w+ )?(?:curious|wondering|wonder)\b", re.IGNORECASE
)

#: Somebody sees what it is, a reader does not.
POINTED_AT = re.compile(
    r"(?:(?:these|those)(?! days\b)|(?:this|that)(?! (?:week|month|year|morning|afternoon|evening|spring|"
    r"summer|autumn|fall|winter|\w+day)))\b",
    re.IGNORECASE,
)

#: Whom it is said to: no fact, and an answer is told with its question.
NAME_ALONE = re.compile(r"\A(?:[A-Z][\w'’-]*\.?\s*){1,4}[,!.]*\Z")

#: A statement of fewer content words that replies to a question says nothing without it.
ELLIPTIC = 4

#: Turns before a "we" in which whom else it means may be spoken of.
WE_REACH = 3


def section_of(said: Conversation, turn: Turn, sentence: Sentence) -> Section | None:
    """Return the list that a statement belongs to; ``None``: no summary tells it."""
    text = sentence.plain
    if not sentence.words or is_fragment(text) or sentence.plain.count('"') % 2:
        return None  # of what is quoted, one sentence says nothing
    if is_answer(said.turns, sentence):
        question = said.turns[sentence.turn - 1].sentences[-1]
        if is_outdone(said.turns, question, sentence):
            return None
    if is_transition(text) or encourages(text) or leans_back(text):
        return None
    if (text.endswith(ELLIPSIS) and (not is_clause(text) or _CURIOUS.match(text))) or only_says_when(text):
        return None  # its verb was cut off, or what it asks
    if turn.role is Role.ASSISTANT and is_shown(sentence):
        return None
    # What an assistant answers, or somebody is told to do, says something only behind what was asked.
    if turn.role is Role.ASSISTANT and is_asked(said.turns, sentence.turn):
        return None
    if is_instruction(text) and is_asked(said.turns, sentence.turn, within=1):
        return None
    if is_proposal(text):
        if len(sentence.words) < 2:
            return None
        agreed = is_agreed(said.turns, sentence)
        if is_outweighed(said, sentence, agreed) or is_turned_down(said.turns, sentence):
            return None
        if agreed:
            return Section.DECISIONS
        if said.named and next_turn(said.turns, sentence.turn) is not None:
            return None  # somebody replied, and did not agree
    if said.named and (is_in_doubt(said, sentence) or _is_of_others(said.turns, sentence)):
        return None
    section = _cued(said, turn, sentence)
    if section is Section.DECISIONS and (is_undone(said, sentence) or (said.named and is_seen(text))):
        return None
    if section is Section.TODOS and is_over(said, sentence):
        return None
    if said.named and is_trouble(text) and is_met(said.turns, sentence):
        return None
    if said.named and section is Section.CONSTRAINTS and is_contradicted(said.turns, sentence):
        return None
    if len(sentence.words) < 2:  # "I'm vegan." says much, "I have to work." little
        return None if section is Section.TODOS else section
    if section is not None:
        return Section.KEY_FACTS if section is Section.TODOS and _is_seen_to(said, turn, sentence) else section
    if turn.role is Role.USER and is_request(text):
        return _requested(said, sentence)
    return Section.KEY_FACTS if _is_fact(said, sentence) else None


def _cued(said: Conversation, turn: Turn, sentence: Sentence) -> Section | None:
    """The list that the wording names, unless it tells of habits or of what is done as they speak: facts."""
    section, text = cued_section(sentence.plain, turn.role), sentence.plain
    if section is Section.TODOS and (is_habit(text) or is_on_the_spot(text)):
        return Section.KEY_FACTS
    if section in PROFILE and is_passing(text):
        return Section.KEY_FACTS
    if section is Section.DECISIONS and (is_habit(text) or any(is_past(s[1]) for s in _STORY.finditer(text))):
        return Section.KEY_FACTS
    return section


def _is_seen_to(said: Conversation, turn: Turn, to_do: Sentence) -> bool:
    """Tell whether somebody asks an assistant to see to it in the same message, and it does.

    Where the end of a sentence was cut off, so was what it asked for.
    """
    reply = next_turn(said.turns, to_do.turn)
    if reply is None or reply.role is not Role.ASSISTANT:
        return False
    to_it = to_do.plain.endswith(ELLIPSIS) or _TO_YOU.search(to_do.plain)
    return bool(to_it) or any(s.asks or is_request(s.plain) for s in turn.sentences)


def _requested(said: Conversation, request: Sentence) -> Section | None:
    """A request is to be done until somebody answers it; among people also when somebody agrees to do it."""
    if not is_answered(said.turns, request):
        return Section.TODOS if not said.named or is_clause(request.plain) else None
    if not said.named or not is_agreed(said.turns, request) or is_refused(said.turns, said.end, request):
        return None
    if not is_on_the_spot(request.plain) and not is_wish(request.plain):
        return Section.TODOS
    return Section.KEY_FACTS if _is_fact(said, request) else None


def _is_fact(said: Conversation, statement: Sentence) -> bool:
    text = statement.plain
    if (
        is_phatic(text)
        or NAME_ALONE.match(text)
        or is_command(text)
        or is_evasive(text)
        or is_seen(text)
        or is_contradicted(said.turns, statement)
    ):
        return False
    if is_answer(said.turns, statement):
        question = said.turns[statement.turn - 1].sentences[-1]
        return points_back(text) or says_it_all(said, question, statement)
    if said.named:
        return is_clause(text) and not POINTED_AT.match(text)
    return is_clause(text) or not (
        text.isascii() and text[-1:].isalnum()
    )  # "Old maps": nothing is said of them


def _is_of_others(turns: Sequence[Turn], statement: Sentence) -> bool:
    """Tell whether a statement says what would come of advice, or a "we" that may be others than who talk."""
    own = [other for other in turns[statement.turn].sentences if other is not statement]
    if any(s.nth < statement.nth and follows_from_advice(s.plain, statement.plain) for s in own):
        return True
    around = turns[max(statement.turn - WE_REACH, 0) : statement.turn + WE_REACH]
    others = [
        s.plain for turn in around if turn.speaker != turns[statement.turn].speaker for s in turn.sentences
    ]
    if is_own_we(statement.plain) and any(_TO_YOU.search(plain) for plain in others):
        return True  # they hear of it
    before = [s for turn in turns[max(statement.turn - WE_REACH, 0) : statement.turn] for s in turn.sentences]
    return is_we_with_another(statement.plain, " ".join(s.plain for s in before + own))


def says_it_all(said: Conversation, question: Sentence, answer: Sentence) -> bool:
    """Tell whether an answer needs no question: a whole clause of a person, about what it names itself."""
    text = answer.plain
    if said.turns[answer.turn].role is not Role.USER or not is_clause(text):
        return False
    if _ANAPHORIC.search(text) or points_back(text) or leaves_open(text) or _GOES_ON_FROM.match(text):
        return False
    if len(answer.words) < ELLIPTIC and question.words and not is_phatic(question.plain):
        return False
    return _HOW_MUCH.match(question.plain) is None or question.words <= answer.words
