"""Summarize by quoting: deterministic, and every line is what somebody said, with its speaker.

A sentence (:mod:`.reading`) is told for what the extractor's model says of it (whether it is worth keeping, its
kind and importance), for what is done by it (:mod:`.acts`) and for how central it is.  What is taken back later
(:mod:`.retracting`) is left out; :mod:`.packing` takes the best that fit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import log2
from typing import NamedTuple

import numpy as np

from models.messages import Role
from models.statements import Kind
from models.summaries import SessionSummary
from models.windows import WindowMessage
from processors.extraction.cues import CUES
from processors.extraction.keeper import Judgement, judge
from processors.extraction.units import Unit
from processors.summaries.acts import Act, Floats, acts
from processors.summaries.packing import Candidate, Section, pack
from processors.summaries.reading import asks, is_open, line_of, read, words
from processors.summaries.retracting import Sentence, taken_back
from processors.text.sentences import sentence_spans
from processors.text.tokens import TokenCounter

#: Probability from which on a sentence is told: as a key fact, as a question that tells one, as an assistant's question.
_KEY_FACT, _FACT_IN_QUESTION, _ASSISTANT_ASKS = 0.3, 0.6, 0.35
#: A limit that is none does less harm than a decision that is none.
_ACT = {Act.DECISION: 0.5, Act.TODO: 0.5, Act.QUESTION: 0.5, Act.CONSTRAINT: 0.35}

#: What a sentence is worth by its importance, and what the list it is for adds.
_BY_IMPORTANCE = {1: 0.9, 2: 1.0, 3: 1.1}
_SECTION_WORTH = {
    Section.PREFERENCES: 0.05,
    Section.CONSTRAINTS: 0.6,
    Section.KEY_FACTS: 0.0,
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
#: Lists whose best line is worth so many times as much: a few words are enough there.
_WANTED, _BEST = (Section.CONSTRAINTS, Section.DECISIONS, Section.TODOS), 2.0
#: How much being about what all the rest is about adds, at most.
_CENTRAL = 0.3
#: In a roll-up an open question or a to-do fades with every summary that followed it; the rest fades slowly.
_FADING = {Section.OPEN_QUESTIONS: 0.4, Section.TODOS: 0.7}
_SLOW_FADING = 0.93
#: Words from which on a line says no more.
_MUCH = 16
#: Words of a sentence that is told where nothing else is.
_LONG_ENOUGH = 4
#: Numbers of a vector of the built-in embedder.
_DIMENSIONS = 384

_TODAY = next(cue.pattern for cue in CUES if cue.name == "today")


class _Read(NamedTuple):
    """A sentence with what the models say of it; ``central`` is 0..1."""

    unit: Unit
    judgement: Judgement
    acts: dict[Act, float]
    central: float
    vector: Floats

    @property
    def act(self) -> Act:
        best = max(_OF_ACT, key=lambda each: self.acts[each])
        return best if self.acts[best] >= _ACT[best] else Act.NONE


def summarize_messages(
    messages: Sequence[WindowMessage],
    limit: int,
    count: TokenCounter,
    vectors: Floats | None = None,
    units: Sequence[Unit] | None = None,
) -> SessionSummary:
    """Return a summary of at most ``limit`` tokens.

    ``units``: of :func:`.reading.read`, if it was read before; ``vectors``: of
    :func:`processors.extraction.features.texts` of them, two rows a unit; without them the surface decides.
    """
    units = read(messages) if units is None else units
    said = [*_read(units, vectors)]
    back = taken_back([Sentence(each.unit, each.judgement, each.vector) for each in said])
    is_alone = _is_alone(messages)
    candidates: list[Candidate] = []
    for place, each in enumerate(said):
        section = None if place in back or _is_stale(each.unit, messages) else _section(each, messages)
        if section is not None:
            line = line_of(each.unit, is_alone=is_alone)
            about = words(line)
            candidates.append(Candidate(section, line, _worth(each, section, about), place, about))
    return pack(
        _with_best(candidates)
        or [*_opening(messages, [each for place, each in enumerate(said) if place not in back])],
        limit,
        count,
    )


def _is_alone(messages: Sequence[WindowMessage]) -> bool:
    return len({each.user_id for each in messages if each.role is Role.USER}) < 2


def _with_best(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return candidates of which the best decision, to-do and limit are worth more: a list of each is wanted."""
    best = {each.section: each for each in sorted(candidates, key=lambda each: each.score)}
    wanted = [best[section] for section in _WANTED if section in best]
    return [each._replace(score=_BEST * each.score) if each in wanted else each for each in candidates]


def _read(units: Sequence[Unit], vectors: Floats | None) -> Iterator[_Read]:
    given = np.zeros((2 * len(units), _DIMENSIONS), dtype=np.float32) if vectors is None else vectors
    own = given[::2]
    near = own @ own.sum(axis=0)
    most = max(near.max(initial=0.0), 1e-6)
    for unit, judgement, of_acts, vector, nearness in zip(
        units, judge(units, given), acts(units, given), own, near, strict=True
    ):
        yield _Read(unit, judgement, of_acts, max(0.0, float(nearness / most)), vector)


def _section(read: _Read, messages: Sequence[WindowMessage]) -> Section | None:
    """Return the list that a sentence is for; ``None``: it is not told."""
    unit, judgement, act = read.unit, read.judgement, read.act
    if unit.message.role is Role.ASSISTANT:
        is_told = read.acts[Act.QUESTION] >= _ASSISTANT_ASKS and is_open(messages, unit)
        return Section.OPEN_QUESTIONS if is_told else None
    if asks(unit.text):
        if act is Act.QUESTION and is_open(messages, unit):
            return Section.OPEN_QUESTIONS
        # "Could you always use a table?" asks for something; it is never a decision or a to-do.
        return _by_kind(judgement) if judgement.probability >= _FACT_IN_QUESTION else None
    if act is not Act.NONE:
        return _OF_ACT[act]
    return _by_kind(judgement) if judgement.probability >= _KEY_FACT else None


def _by_kind(judgement: Judgement) -> Section:
    wishes = judgement.kind in (Kind.PREFERENCE, Kind.INSTRUCTION)
    return Section.PREFERENCES if wishes else Section.KEY_FACTS


def _worth(read: _Read, section: Section, about: frozenset[str]) -> float:
    kept = read.judgement.probability**2 * _BY_IMPORTANCE[read.judgement.importance]
    says_much = log2(2 + min(len(about), _MUCH))
    added = _SECTION_WORTH[section] * read.acts.get(read.act, 1.0)
    return (kept + added) * (1.0 + _CENTRAL * read.central) * says_much


def _is_stale(unit: Unit, messages: Sequence[WindowMessage]) -> bool:
    """Tell whether a sentence says "tomorrow" on another day than the last of the range."""
    return unit.message.sent_at.date() != messages[-1].sent_at.date() and _TODAY.search(unit.text) is not None


def _opening(messages: Sequence[WindowMessage], said: Sequence[_Read]) -> Iterator[Candidate]:
    """Yield what is likeliest to matter in a range in which nothing is to be told: a sentence of each speaker."""
    own = [each for each in said if each.unit.message.role is Role.USER and not asks(each.unit.text)]
    for each in sorted(own, key=lambda each: -each.judgement.probability)[:2]:
        if len(each.unit.text.split()) >= _LONG_ENOUGH:
            line = line_of(each.unit, is_alone=_is_alone(messages))
            yield Candidate(Section.KEY_FACTS, line, 1 + each.judgement.probability, 0, words(line))
    if own:
        return  # what an assistant suggests is not what was settled
    for at, message in enumerate(each for each in messages if each.role in (Role.ASSISTANT, Role.TOOL)):
        content = message.content[:2000]
        parts = [content[start:end] for start, end in sentence_spans(content)]
        for text in [each for each in parts if not asks(each) and len(each.split()) >= _LONG_ENOUGH][:1]:
            line = f"{message.role.value}: {text}"
            yield Candidate(Section.KEY_FACTS, line, 1 / (1 + at), at, words(text))


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
            fading = _FADING.get(section, _SLOW_FADING) ** age
            position = (len(previous) - age) * 1000 + place
            found = words(text)
            score = (1 + _SECTION_WORTH[section]) * fading * log2(2 + len(found))
            candidates.append(Candidate(section, text, score, position, found))
    return pack(candidates, limit, count)


def _lines(summary: SessionSummary) -> Iterator[tuple[Section, str]]:
    for section in Section:
        of = summary.profile if section in (Section.PREFERENCES, Section.CONSTRAINTS) else summary
        for text in getattr(of, section.value):
            yield section, text
