"""Summarize by quoting: deterministic, and every line is what somebody said, with its speaker.

A sentence (:mod:`.reading`) is told for what the reader model says of it (how important it is, its kind, and
what is done by it: :mod:`.acts`) and for how central it is.  What is taken back later
(:mod:`.retracting`) is left out; :mod:`.packing` takes the best that fit.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from math import log2
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from models.messages import Role
from models.readings import Act, Reading
from models.statements import Kind
from models.summaries import SessionSummary
from models.windows import WindowMessage
from processors.extraction.keeper import Judgement, judge
from processors.extraction.units import Unit, is_question
from processors.summaries.acts import acts_of
from processors.summaries.packing import Candidate, Section, pack
from processors.summaries.reading import is_long, is_open, line_of, words
from processors.summaries.retracting import taken_back
from processors.text.sentences import sentences
from processors.text.tokens import TokenCounter

#: Probability from which on a sentence is told: as a key fact, as a question that tells one, as an assistant's question.
_KEY_FACT, _FACT_IN_QUESTION, _ASSISTANT_ASKS = 0.3, 0.6, 0.35
#: Probability from which on something is done by a sentence.
_ACT = 0.4
#: What the list that a sentence is for adds to its worth.
_SECTION_WORTH = {
    Section.CONSTRAINTS: 0.6,
    Section.DECISIONS: 0.5,
    Section.OPEN_QUESTIONS: 0.25,
    Section.TODOS: 0.9,
}
_OF_ACT = {
    Act.DECISION: Section.DECISIONS,
    Act.TODO: Section.TODOS,
    Act.QUESTION: Section.OPEN_QUESTIONS,
    Act.CONSTRAINT: Section.CONSTRAINTS,
}
#: The surest line of such a list is worth so many times as much: a few words are enough there.
_BEST = 2.0
#: How much being about what all the rest is about adds, at most.
_CENTRAL = 0.15
#: An exponent above 1: of equal importance, what is surely worth keeping comes before what may be.
_SURELY = 1.5
#: In a roll-up an open question or a to-do fades with every summary that followed it; the rest fades slowly.
_FADING = {Section.OPEN_QUESTIONS: 0.4, Section.TODOS: 0.7}
_SLOW_FADING = 0.93
#: Words from which on a line says no more.
_MUCH = 24

_TODAY = re.compile(
    r"\b(?:today|tonight|this (?:morning|evening|afternoon|week|weekend)|right now|at the moment|yesterday|tomorrow|heute|gestern|morgen|gerade|hoy|ayer|mañana|esta noche|aujourd['’]hui|hier|demain|ce soir|ce matin|hoje|ontem|amanhã|essa semana)\b",
    re.IGNORECASE,
)
_NEGATION = re.compile(
    r"\b(?:not|n['’]t|don['’]?t|can['’]?t|won['’]?t|no|never|without|nicht|kein\w*|nie|no|nunca|sin|ne|n['’]\w+|pas|jamais|sans|não|nunca|sem)\b",
    re.IGNORECASE,
)
_YES_OR_NO = re.compile(r"(?:yes|yep|yeah|no|nope|nah|ja|nein|doch|sí|oui|non|si|sim|não)\W*", re.IGNORECASE)


class Scored(NamedTuple):
    """A sentence with its reading and its vector, of unit length."""

    unit: Unit
    reading: Reading
    vector: NDArray[np.float32]


class _Read(NamedTuple):
    """A sentence with what the models say of it; ``central`` is 0..1."""

    unit: Unit
    judgement: Judgement
    acts: dict[Act, float]
    central: float

    @property
    def act(self) -> Act:
        best = max(_OF_ACT, key=lambda each: self.acts[each])
        return best if self.acts[best] >= _ACT else Act.NONE


def summarize_messages(
    messages: Sequence[WindowMessage], scored: Sequence[Scored], limit: int, count: TokenCounter
) -> SessionSummary:
    """Return a summary of at most ``limit`` tokens; ``scored``: the sentences of :func:`.reading.read`."""
    units, judged = [each.unit for each in scored], judge([each.reading for each in scored])
    own = np.array([each.vector for each in scored], dtype=np.float32)
    near = own @ own.sum(axis=0) if scored else np.zeros(0, dtype=np.float32)
    central = np.maximum(near / max(near.max(initial=0.0), 1e-6), 0.0).tolist()
    back = taken_back(units, judged, own)
    acts = [acts_of(each.unit.text, each.reading) for each in scored]
    known = [*map(_Read, units, judged, acts, central)]
    said = [each for place, each in enumerate(known) if place not in back]
    is_alone = len({each.user_id for each in messages if each.role is Role.USER}) < 2
    found = [(section, each) for each in said if (section := _section(each, messages)) is not None]
    candidates = [
        _candidate(place, section, each, is_alone=is_alone) for place, (section, each) in enumerate(found)
    ]
    for act, section in _OF_ACT.items():
        of = [at for at, (other, _) in enumerate(found) if other is section]
        if of:
            best = max(of, key=lambda at: found[at][1].acts[act])
            candidates[best] = candidates[best]._replace(score=_BEST * candidates[best].score)
    return pack(candidates or [*_opening(messages, said, is_alone=is_alone)], limit, count)


def _section(read: _Read, messages: Sequence[WindowMessage]) -> Section | None:
    """Return the list that a sentence is for; ``None``: it is not told."""
    unit, judgement, act = read.unit, read.judgement, read.act
    if unit.message.sent_at.date() != messages[-1].sent_at.date() and _TODAY.search(unit.text):
        return None  # its "tomorrow" is another day than that of the last message
    if (_NEGATION.search(unit.asked) and _YES_OR_NO.fullmatch(unit.text)) or not words(unit.text + unit.asked):
        return None  # "Don't you eat fish?" – "No." is read both ways; "Hi!" says nothing
    if unit.message.role is Role.ASSISTANT:
        is_told = read.acts[Act.QUESTION] >= _ASSISTANT_ASKS and is_open(messages, unit)
        return Section.OPEN_QUESTIONS if is_told else None
    floor = _KEY_FACT
    if is_question(unit.text):
        if act is Act.QUESTION and is_open(messages, unit):
            return Section.OPEN_QUESTIONS
        # "Could you always use a table?" asks for something; it is never a decision or a to-do.
        act, floor = Act.NONE, _FACT_IN_QUESTION
    if act is not Act.NONE:
        return _OF_ACT[act]
    wishes = judgement.kind in (Kind.PREFERENCE, Kind.INSTRUCTION)
    kind = Section.PREFERENCES if wishes else Section.KEY_FACTS
    return kind if judgement.probability >= floor else None


def _candidate(place: int, section: Section, read: _Read, *, is_alone: bool) -> Candidate:
    line = line_of(read.unit, is_alone=is_alone)
    about = words(line)
    kept = (read.judgement.expected / 2) ** _SURELY
    added = _SECTION_WORTH.get(section, 0.0) * read.acts.get(read.act, 1.0)
    says_much = log2(2 + min(len(about), _MUCH))
    return Candidate(section, line, (kept + added) * (1.0 + _CENTRAL * read.central) * says_much, place, about)


def _opening(
    messages: Sequence[WindowMessage], said: Sequence[_Read], *, is_alone: bool
) -> Iterator[Candidate]:
    """Yield what is likeliest to matter where nothing is to be told; of the assistant only where nobody speaks."""
    own = [each for each in said if each.unit.message.role is Role.USER and not is_question(each.unit.text)]
    likeliest = sorted(own, key=lambda each: -each.judgement.probability)[:2]
    lines = [line_of(each.unit, is_alone=is_alone) for each in likeliest if is_long(each.unit.text)]
    for message in messages if not own else ():
        told = (each for each in sentences(message.content[:2000]) if is_long(each) and not is_question(each))
        if message.role in (Role.ASSISTANT, Role.TOOL):
            lines += [f"{message.role.value}: {each}" for each in told][:1]
    for at, line in enumerate(lines):
        yield Candidate(Section.KEY_FACTS, line, 1 / (1 + at), at, words(line))


def roll_up(previous: Sequence[SessionSummary], limit: int, count: TokenCounter) -> SessionSummary:
    """Return one summary of at most ``limit`` tokens in place of several, the oldest first.

    Lines keep their list.  Of lines that say the same one stays; of equals, the latest.  The "today" of an
    earlier summary is another day.
    """
    candidates = []
    for age, summary in enumerate(reversed(previous)):
        for place, (section, text) in enumerate(_lines(summary)):
            if age and _TODAY.search(text):
                continue
            score = (1 + _SECTION_WORTH.get(section, 0.0)) * _FADING.get(section, _SLOW_FADING) ** age
            found = words(text)
            position = (len(previous) - age) * 1000 + place
            candidates.append(Candidate(section, text, score * log2(2 + len(found)), position, found))
    return pack(candidates, limit, count)


def _lines(summary: SessionSummary) -> Iterator[tuple[Section, str]]:
    for section in Section:
        of = summary.profile if section in (Section.PREFERENCES, Section.CONSTRAINTS) else summary
        for text in getattr(of, section.value):
            yield section, text
