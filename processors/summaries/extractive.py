"""Summarize by picking sentences: deterministic, offline, and every word can be found in the messages.

What was taken back is put right first (:mod:`.corrections`).  A sentence then goes into a list, or into none
(:mod:`.choosing` has the rules, in their order), and is told by itself or with what explains it
(:mod:`.telling`).  What it is worth depends on how much it says, how central it is to what is talked of, where
it stands, and the list it is for (:mod:`.worth`).  :mod:`.packing` then takes the best that fit.  Where several
people speak, each line says whose it is (:mod:`.perspective`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from models.messages import Role
from models.summaries import SessionSummary
from models.windows import WindowMessage
from processors.summaries.choosing import ELLIPTIC
from processors.summaries.contact import is_phatic
from processors.summaries.corrections import corrected
from processors.summaries.cues import Section
from processors.summaries.days import is_of_a_day, is_stale
from processors.summaries.dialogue import is_asked
from processors.summaries.packing import Candidate, pack
from processors.summaries.reading import Turn, read, words
from processors.summaries.speech_acts import is_fragment, is_proposal
from processors.summaries.telling import line_of
from processors.summaries.worth import LEAST, conversation, substance, worth_of
from processors.text.tokens import TokenCounter

#: Sentences of a message that differ in their numbers alone; the others would take long and hardly be told.
MOST_ALIKE = 12
_NUMBER = re.compile(r"\d+")

#: How much what they say tells about the person.
_ROLE_WEIGHT = {Role.USER: 1.0, Role.ASSISTANT: 0.6, Role.TOOL: 0.3}

#: What the list adds to the worth of a sentence: "Let's go with Hotel Borges" says much in few words.
_SECTION_WORTH = {
    Section.PREFERENCES: 0.0,
    Section.CONSTRAINTS: 1.5,
    Section.KEY_FACTS: 0.0,
    Section.DECISIONS: 1.8,
    Section.OPEN_QUESTIONS: 0.65,
    Section.TODOS: 0.85,
}

#: A fact of so few content words says little: "John agrees".
FEW, FEWEST = -0.5, 3

#: What is worth less than this part of the best line of its talk fills room, and tells nothing.
FILLS = 0.4

#: In a roll-up an open question or a to-do fades with every summary that followed it; the rest fades slowly.
_FADING = {Section.OPEN_QUESTIONS: 0.4, Section.TODOS: 0.7}
_SLOW_FADING = 0.93


def summarize_messages(
    messages: Sequence[WindowMessage], limit: int, count: TokenCounter, owner: str = ""
) -> SessionSummary:
    """Return a summary of at most ``limit`` tokens.

    ``owner`` is the person whose conversation it is; if nobody else speaks, each line stands in a message as
    it is, but for what was corrected and what is cut off ("…").  Otherwise lines name whose they are, in the
    third person where they can.  No line has a number, a date or a name that messages and speakers have not.
    """
    turns = corrected(read(messages))
    said = conversation(turns, owner)
    candidates: list[Candidate] = []
    for turn in turns:
        alike = Counter[str]()
        for sentence in turn.sentences:
            alike[pattern := _NUMBER.sub("0", sentence.plain)] += 1
            if alike[pattern] > MOST_ALIKE:
                continue  # one of so many would be told, and which one says nothing
            found = line_of(said, turn, sentence)
            if found is not None and not is_stale(turns, sentence, found[1]):
                section, text, about = found
                worth = _SECTION_WORTH[section] + worth_of(said, sentence, text, about)
                worth += FEW * (section is Section.KEY_FACTS and len(about) < FEWEST)
                score = _ROLE_WEIGHT[turn.role] * max(LEAST, worth)
                candidates.append(Candidate(section, text, score, len(candidates), about))
    floor = FILLS * max((candidate.score for candidate in candidates), default=0.0)
    worthwhile = [candidate for candidate in candidates if candidate.score > floor]
    return pack(worthwhile or list(_opening(turns)), limit, count)


def _opening(turns: Sequence[Turn]) -> Iterator[Candidate]:
    """Where nothing else is to be told: what assistants say before they lay something out, as theirs."""
    for at, turn in enumerate(turns):
        alone = turn.role is Role.ASSISTANT and not is_asked(turns, at)
        for place, sentence in enumerate(turn.sentences if alone else ()):
            told = not (
                sentence.laid_out
                or sentence.asks
                or is_fragment(sentence.plain)
                or is_phatic(sentence.plain)
                or is_proposal(sentence.plain)
            )
            if told and len(sentence.words) >= ELLIPTIC:
                text = f"{turn.speaker}: {sentence.text}"
                yield Candidate(Section.KEY_FACTS, text, 1 / (1 + place), sentence.turn, sentence.words)


def roll_up(previous: Sequence[SessionSummary], limit: int, count: TokenCounter) -> SessionSummary:
    """Return one summary of at most ``limit`` tokens in place of several, the oldest first.

    Lines keep their list.  Of lines that say the same one stays; of equals, the latest.  The "today" of an
    earlier summary is another day.
    """
    candidates = []
    for age, summary in enumerate(reversed(previous)):
        for place, (section, text) in enumerate(_lines(summary)):
            if age and is_of_a_day(text):
                continue
            fading = _FADING.get(section, _SLOW_FADING) ** age
            position = (len(previous) - age) * 1000 + place
            found = words(text)
            score = (1 + _SECTION_WORTH[section]) * fading * substance(text, found)
            candidates.append(Candidate(section, text, score, position, found))
    return pack(candidates, limit, count)


def _lines(summary: SessionSummary) -> Iterator[tuple[Section, str]]:
    lists = {
        Section.PREFERENCES: summary.profile.preferences,
        Section.CONSTRAINTS: summary.profile.constraints,
        Section.KEY_FACTS: summary.key_facts,
        Section.DECISIONS: summary.decisions,
        Section.OPEN_QUESTIONS: summary.open_questions,
        Section.TODOS: summary.todos,
    }
    for section, texts in lists.items():
        for text in texts:
            yield section, text
