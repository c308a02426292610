"""Summarize by picking sentences: deterministic, offline, and every line can be found in the messages.

A sentence goes into the list that its wording names (:mod:`processors.summaries.cues`); a question only while
nobody has answered it; all other statements are candidates for key facts.  What a sentence is worth depends
on how much it says (content words, names, numbers, dates, the first person), who says it, and the list it is
for.  :mod:`processors.summaries.packing` then takes the best that fit.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from math import fsum, log2, sqrt
from typing import NamedTuple

from models.messages import Role
from models.summaries import SessionSummary
from models.windows import WindowMessage
from processors.summaries.cues import (
    Section,
    cued_section,
    is_evasive,
    is_phatic,
    is_question,
    is_request,
)
from processors.summaries.packing import Candidate, pack, words
from processors.text.sentences import sentence_spans
from processors.text.tokens import TokenCounter

#: Characters; a longer sentence is cut at the last clause that ends before.
LONGEST_SENTENCE = 150

#: How much what they say tells about the person.  System messages are instructions, not conversation.
_ROLE_WEIGHT = {Role.USER: 1.0, Role.ASSISTANT: 0.6, Role.TOOL: 0.3}

#: Sentences with a cue are worth more than key facts by this factor.
_SECTION_WEIGHT = {
    Section.PREFERENCES: 1.4,
    Section.CONSTRAINTS: 1.5,
    Section.KEY_FACTS: 1.0,
    Section.DECISIONS: 1.5,
    Section.OPEN_QUESTIONS: 1.1,
    Section.TODOS: 1.3,
}

#: What the cue itself is worth: "Let's go with Hotel Borges" says much in few words.
CUE = 0.5

#: In a roll-up an open question or a to-do fades with every summary that followed it; the rest fades slowly.
_FADING = {Section.OPEN_QUESTIONS: 0.4, Section.TODOS: 0.7}
_SLOW_FADING = 0.93

#: How much more a word weighs for every doubling of the messages that use it.
RECURRENCE = 0.1

_FENCE = re.compile(r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)", re.DOTALL)
_MARKER = re.compile(
    r"(?:(?:yeah|yes|yep|oh|wow|well|okay|ok|hmm+|haha\w*|so|anyway|by the way|btw|actually|also|plus|and|but|"
    r"sure|thanks|thank you|great|cool|alright|certainly|of course|absolutely|definitely|understood|"
    r"(?:hi|hey|hello)(?: [A-Z]\w+)?)[,!]+\s+)+",
    re.IGNORECASE,
)
_CLAUSE_END = re.compile(r"[,;:，；：、]|\s[-–—]\s|\s(?=(?:because|which|but|and|so)\s)")
_FIRST_PERSON = re.compile(r"\b(?:i|i['’]\w+|my|we|our|we['’]\w+)\b", re.IGNORECASE)
_POINTS_BACK = re.compile(r"(?:it|that|this|they|these|those|he|she|there)\b", re.IGNORECASE)
_SECOND_PERSON = re.compile(r"\byou(?:['’]\w+|rs?|rself)?\b", re.IGNORECASE)
_SPECIFIC = re.compile(
    r"\d|(?<=[^.!?] )[A-Z][a-z]+|"
    r"\b(?:yesterday|today|tonight|tomorrow|(?:last|next|this) \w+|ago|weekend)\b"
)
#: "... in the works. Finishing up ...", and "I always buy the cheapest gas, can you find me some?"
_UNSPLIT = re.compile(
    r"(?<=[a-z]{3}[.!?])\s+(?=[A-Z])|"
    r"(?:,\s+|\s+(?=and|so|but))(?=(?:(?:and|so|but) )?(?:can|could|would|will) you\b)"
)


class _Sentence(NamedTuple):
    text: str
    role: Role
    words: frozenset[str]


class _Message(NamedTuple):
    """``answers``: it says something, not only asks; ``puts_off``: but not yet what was asked."""

    speaker: str
    sentences: tuple[_Sentence, ...]
    answers: bool
    puts_off: bool


def summarize_messages(messages: Sequence[WindowMessage], limit: int, count: TokenCounter) -> SessionSummary:
    """Return a summary of at most ``limit`` tokens; each line is a substring of one message's content."""
    read = [_read(message) for message in messages if message.role in _ROLE_WEIGHT]
    used_by = Counter(word for message in read for word in _words_of(message))
    candidates: list[Candidate] = []
    for i, message in enumerate(read):
        answered = _is_answered(message.speaker, read[i + 1 :])
        for sentence in message.sentences:
            section = _section(sentence, answered)
            if section is not None:
                cue = 0.0 if section is Section.KEY_FACTS else CUE
                weight = _ROLE_WEIGHT[sentence.role] * _SECTION_WEIGHT[section]
                score = weight * (cue + _salience(sentence, used_by))
                candidates.append(Candidate(section, sentence.text, score, len(candidates), sentence.words))
    return pack(candidates, limit, count)


def roll_up(previous: Sequence[SessionSummary], limit: int, count: TokenCounter) -> SessionSummary:
    """Return one summary of at most ``limit`` tokens in place of several, the oldest first.

    Lines keep their list.  Of lines that say the same one stays; of equals, the latest.
    """
    candidates = []
    for age, summary in enumerate(reversed(previous)):
        for place, (section, text) in enumerate(_lines(summary)):
            fading = _FADING.get(section, _SLOW_FADING) ** age
            position = (len(previous) - age) * 1000 + place
            found = words(text)
            score = _SECTION_WEIGHT[section] * fading * _substance(text, found)
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


def _read(message: WindowMessage) -> _Message:
    speaker = message.user_id if message.role is Role.USER else message.role.value
    sentences = tuple(_sentences(message))
    statements = [sentence.text for sentence in sentences if not is_question(sentence.text)]
    return _Message(speaker, sentences, bool(statements), any(map(is_evasive, statements)))


def _sentences(message: WindowMessage) -> Iterator[_Sentence]:
    """The sentences of a message, without code, tables and the words that only lead in."""
    content = message.content
    # Blanked, not removed, so that spans still point into the message.
    prose = _FENCE.sub(lambda fence: "\n" * len(fence.group()), content)
    for start, end in _spans(prose):
        marker = _MARKER.match(content, start, end)
        text = _shortened(content[marker.end() if marker else start : end])
        if text.count("|") < 2:
            yield _Sentence(text, message.role, words(text))


def _words_of(message: _Message) -> frozenset[str]:
    return frozenset().union(*(sentence.words for sentence in message.sentences))


def _spans(prose: str) -> Iterator[tuple[int, int]]:
    for start, end in sentence_spans(prose):
        for gap in _UNSPLIT.finditer(prose, start, end):
            yield start, gap.start()
            start = gap.end()
        yield start, end


def _shortened(text: str) -> str:
    """Cut a sentence that is too long at the end of a clause, or else of a word."""
    if len(text) <= LONGEST_SENTENCE:
        return text
    ends = [m.start() for m in _CLAUSE_END.finditer(text, LONGEST_SENTENCE // 3, LONGEST_SENTENCE)]
    end = ends[-1] if ends else text.rfind(" ", LONGEST_SENTENCE // 3, LONGEST_SENTENCE)
    return text[: end if end > 0 else LONGEST_SENTENCE].rstrip()


def _section(sentence: _Sentence, answered: bool) -> Section | None:
    text = sentence.text
    if len(sentence.words) < 2:
        return None
    if is_question(text):
        return None if answered or is_phatic(text) else Section.OPEN_QUESTIONS
    section = cued_section(text, sentence.role)
    if section is not None:
        return section
    if not answered and sentence.role is Role.USER and is_request(text):
        return Section.TODOS
    return None if is_phatic(text) else Section.KEY_FACTS


def _is_answered(speaker: str, after: Sequence[_Message]) -> bool:
    """The first message of somebody else that is no counter-question settles it, unless it puts it off."""
    reply = next((message for message in after if message.answers and message.speaker != speaker), None)
    return reply is not None and not reply.puts_off


def _salience(sentence: _Sentence, used_by: Counter[str]) -> float:
    """How much a sentence says: its words, those that many messages use a little more (``used_by``)."""
    # Rounded once: words are in another order in each process, and equals must stay equal.
    weight = fsum(1 + RECURRENCE * log2(used_by[word]) for word in sentence.words)
    return weight / sqrt(len(sentence.words) + 4) * _substance(sentence.text, sentence.words)


def _substance(text: str, found: frozenset[str]) -> float:
    """About 1: more for names, numbers and the first person, less for what points back to something unsaid."""
    value = 1.0 + 0.2 * min(len(_SPECIFIC.findall(text)), 3)
    if _FIRST_PERSON.search(text):
        value += 0.4
    if _POINTS_BACK.match(text):
        value -= 0.5
    if _SECOND_PERSON.search(text):
        value -= 0.4
    return value if len(found) >= 4 else value * 0.6
