"""Summarize by picking sentences: deterministic, offline, and every word can be found in the messages.

What was taken back is put right first (:mod:`.corrections`).  A sentence then goes into the list that its
wording names (:mod:`.cues`); a question only while nobody has answered it, a proposal as a decision once it is
agreed to (:mod:`.dialogue`); all other statements are candidates for key facts.  What a sentence is worth
depends on how much it says, how central it is to what is talked of, where it stands, and the list it is for.
:mod:`.packing` then takes the best that fit.  Where several people speak, each line says whose it is
(:mod:`.perspective`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from math import fsum, log, log2, sqrt
from typing import NamedTuple

from models.messages import Role
from models.summaries import SessionSummary
from models.windows import WindowMessage
from processors.summaries.corrections import corrected
from processors.summaries.cues import Section, cued_section
from processors.summaries.dialogue import (
    is_agreed,
    is_answer,
    is_answered,
    is_contradicted,
    is_countered,
    is_superseded,
    is_turned_down,
    next_turn,
)
from processors.summaries.packing import Candidate, pack
from processors.summaries.perspective import third_person
from processors.summaries.reading import Sentence, Turn, read, words
from processors.summaries.speech_acts import (
    is_command,
    is_evasive,
    is_fragment,
    is_phatic,
    is_proposal,
    is_request,
    is_yes_or_no,
)
from processors.text.tokens import TokenCounter

#: How much what they say tells about the person.
_ROLE_WEIGHT = {Role.USER: 1.0, Role.ASSISTANT: 0.6, Role.TOOL: 0.3}

#: What the list adds to the worth of a sentence: "Let's go with Hotel Borges" says much in few words.
_SECTION_WORTH = {
    Section.PREFERENCES: 0.2,
    Section.CONSTRAINTS: 1.2,
    Section.KEY_FACTS: 0.0,
    Section.DECISIONS: 1.2,
    Section.OPEN_QUESTIONS: 0.1,
    Section.TODOS: 0.4,
}

#: In a roll-up an open question or a to-do fades with every summary that followed it; the rest fades slowly.
_FADING = {Section.OPEN_QUESTIONS: 0.4, Section.TODOS: 0.7}
_SLOW_FADING = 0.93

_FIRST_PERSON = re.compile(r"\b(?:i|i['’]\w+|me|my|mine|we|us|our|we['’]\w+)\b", re.IGNORECASE)
_POINTS_BACK = re.compile(r"\A(?:it|that|this|they|these|those|he|she|there)\b", re.IGNORECASE)
_SECOND_PERSON = re.compile(r"\byou(?:['’]\w+|rs?|rself)?\b", re.IGNORECASE)
_NEGATION = re.compile(r"n't\b|\b(?:not|no|never)\b", re.IGNORECASE)
#: What "one" is, the question before says.
_ANAPHORIC = re.compile(
    r"\b(?:there(?:'s| is)|ha(?:ve|s)|got|see) (?:only )?one"
    r"(?=\W*\Z|[,;]| (?:across|near|next|behind|opposite|around|down|over|on|in|at|by|here|just|left)\b)",
    re.IGNORECASE,
)
_WANTS = re.compile(r"\b(?:want|would like|'d like|need|looking for)\b", re.IGNORECASE)
_SPECIFIC = re.compile(
    r"\d|(?<=[^.!?] )[A-Z][a-z]+|"
    r"\b(?:yesterday|today|tonight|tomorrow|(?:last|next|this) \w+|ago|weekend)\b"
)

#: What the worth of a sentence is made of, besides the logarithm of its words.  The proportions are those of a
#: ridge regression on half of a set of dialogues with summaries by people (benchmarks/quality/summaries.py).
SHORTEST = -1.8  #: What a sentence has to make up for to be told at all.
CENTRAL = 3.5  #: It is about what all are about (its cosine with their centroid, mostly 0.1 to 0.5).
EARLY = 0.5  #: It stands in the first two turns, where people say what they come for ...
LATE = 0.1  #: ... or in the last three, where they say what comes of it.
WANTED = 0.25  #: Somebody wants or needs something.
CROWDED = -0.3  #: For each doubling of the sentences of its turn: the more, the less each matters.
MOST_CROWDED = 2.5
DENIED = -0.3  #: What is not so,
ADDRESSED = -0.25  #: and what is said to somebody is told less often.
DENSE = -0.13  #: For each content word: of two as long, the one that joins more to fewer is plainer.
POINTING = -0.2  #: It begins with what only the sentence before explains.
LEAST = 0.05  #: No less than this: lists of one short line are summaries too.

#: A statement of fewer content words that replies to a question says nothing without it.
ELLIPTIC = 4


class _Conversation(NamedTuple):
    """What the worth of a sentence is measured by: how many sentences used a word, how rare that is (inverse
    document frequency), and the length of their centroid.  ``named``: lines have to say whose they are.
    """

    turns: Sequence[Turn]
    used: Mapping[str, int]
    rarity: Mapping[str, float]
    norm: float
    named: bool


def summarize_messages(
    messages: Sequence[WindowMessage], limit: int, count: TokenCounter, owner: str = ""
) -> SessionSummary:
    """Return a summary of at most ``limit`` tokens.

    ``owner`` is the person whose conversation it is; if nobody else speaks, each line stands in a message as
    it is, but for what was corrected and what is cut off ("…").  Otherwise lines name whose they are, in the
    third person where they can.  No line has a number, a date or a name that messages and speakers have not.
    """
    turns = corrected(read(messages))
    said = _conversation(turns, owner)
    candidates: list[Candidate] = []
    for turn in turns:
        for sentence in turn.sentences:
            found = _line(said, turn, sentence)
            if found is not None:
                section, text, about = found
                worth = _SECTION_WORTH[section] + _worth(said, sentence, text, about)
                score = _ROLE_WEIGHT[turn.role] * max(LEAST, worth)
                candidates.append(Candidate(section, text, score, len(candidates), about))
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
            score = (1 + _SECTION_WORTH[section]) * fading * _substance(text, found)
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


def _conversation(turns: Sequence[Turn], owner: str) -> _Conversation:
    sentences = [sentence for turn in turns for sentence in turn.sentences]
    used = Counter(word for sentence in sentences for word in sentence.words)
    rarity = {word: log((len(sentences) + 1) / n) for word, n in used.items()}
    # Summed exactly: sets are in another order in each process, and equals must stay equal.
    norm = sqrt(fsum((rarity[word] * n) ** 2 for word, n in used.items()))
    people = {turn.speaker for turn in turns if turn.role is Role.USER and turn.sentences}
    return _Conversation(turns, used, rarity, norm, len(people | {owner or min(people, default="")}) > 1)


def _line(said: _Conversation, turn: Turn, sentence: Sentence) -> tuple[Section, str, frozenset[str]] | None:
    """Where a sentence belongs, as it is told, and the words that it is about; ``None``: nowhere."""
    if sentence.asks:
        return _asked(said, turn, sentence)
    section = _section(said, turn, sentence)
    if section is None:
        return None
    return section, _told(said, turn, sentence, section), sentence.words


def _asked(said: _Conversation, turn: Turn, question: Sentence) -> tuple[Section, str, frozenset[str]] | None:
    if not question.words or is_phatic(question.plain):
        return None
    if not is_answered(said.turns, question):
        if len(question.words) < 2:
            return None
        return Section.OPEN_QUESTIONS, _told(said, turn, question, Section.OPEN_QUESTIONS), question.words
    reply = next_turn(said.turns, turn.sentences[0].turn)
    if reply is None or question is not turn.sentences[-1] or not reply.statements:
        return None
    answer = reply.sentences[0]
    agreed = is_proposal(question.plain) and is_agreed(said.turns, question)
    by_itself = len(answer.words) >= ELLIPTIC and not _ANAPHORIC.search(answer.plain)
    if answer.asks or is_fragment(answer.plain) or (by_itself and not agreed):
        return None
    section = Section.DECISIONS if agreed else Section.KEY_FACTS
    asked, told = question.text, answer.lead + answer.text
    if is_phatic(answer.plain) and not (agreed or is_yes_or_no(told)):
        return None
    text = f"{turn.speaker}: {asked} {reply.speaker}: {told}" if said.named else f"{asked} – {told}"
    return section, text, question.words | answer.words


def _section(said: _Conversation, turn: Turn, sentence: Sentence) -> Section | None:
    text = sentence.plain
    if not sentence.words or is_fragment(text):
        return None
    if len(sentence.words) < 2:  # "I'm vegan." says much, "I have to work." little
        section = cued_section(text, turn.role)
        return None if section is Section.TODOS or is_proposal(text) else section
    if is_proposal(text):
        if is_turned_down(said.turns, sentence):
            return None
        if is_agreed(said.turns, sentence):
            return None if is_superseded(said.turns, sentence) else Section.DECISIONS
    section = cued_section(text, turn.role)
    if section is Section.DECISIONS and _is_undone(said, sentence):
        return None
    if section is not None:
        return section
    if turn.role is Role.USER and is_request(text):
        return _requested(said, sentence)
    return Section.KEY_FACTS if _is_fact(said, sentence) else None


def _is_undone(said: _Conversation, decision: Sentence) -> bool:
    """An assistant may ask back or warn; among people, who is countered has decided nothing yet."""
    return is_superseded(said.turns, decision) or (said.named and is_countered(said.turns, decision))


def _requested(said: _Conversation, request: Sentence) -> Section | None:
    """A request is to be done until somebody answers it; among people also when somebody agrees to do it."""
    answered = is_answered(said.turns, request)
    return Section.TODOS if not answered or (said.named and is_agreed(said.turns, request)) else None


def _is_fact(said: _Conversation, statement: Sentence) -> bool:
    text = statement.plain
    if is_phatic(text) or is_command(text) or is_evasive(text) or is_contradicted(said.turns, statement):
        return False
    # "Later this month." says something only behind its question.
    by_itself = len(statement.words) >= ELLIPTIC or _FIRST_PERSON.search(text)
    return bool(by_itself and not _ANAPHORIC.search(text)) or not is_answer(said.turns, statement)


def _told(said: _Conversation, turn: Turn, sentence: Sentence, section: Section) -> str:
    text = sentence.text
    if not said.named:
        return text
    about_people = _FIRST_PERSON.search(text) or _SECOND_PERSON.search(text)
    if section is Section.KEY_FACTS and not about_people:
        return text
    return third_person(sentence.plain, turn.speaker)


def _worth(said: _Conversation, sentence: Sentence, text: str, about: frozenset[str]) -> float:
    """How much telling ``text``, which is made of a sentence and ``about`` so many words, is worth."""
    turn, plain = sentence.turn, sentence.plain
    value = SHORTEST + log(1 + len(text.split())) + CENTRAL * _centrality(said, about) + DENSE * len(about)
    value += EARLY * (turn <= 1) + LATE * (turn >= len(said.turns) - 3)
    value += CROWDED * min(log2(len(said.turns[turn].sentences)), MOST_CROWDED)
    for cue, worth in (
        (_NEGATION, DENIED),
        (_SECOND_PERSON, ADDRESSED),
        (_WANTS, WANTED),
        (_POINTS_BACK, POINTING),
    ):
        value += worth * (cue.search(plain) is not None)
    return value


def _centrality(said: _Conversation, about: frozenset[str]) -> float:
    """The cosine of a sentence with the centroid of all (Radev et al. 2004)."""
    rarity = [(said.rarity[word], said.used[word]) for word in about if word in said.used]
    own = sqrt(fsum(rare * rare for rare, _ in rarity))
    return fsum(rare * rare * used for rare, used in rarity) / (own * said.norm) if own else 0.0


def _substance(text: str, found: frozenset[str]) -> float:
    """About 1: more for names, numbers and the first person, less for what points back to something unsaid."""
    value = 1.0 + 0.05 * min(len(_SPECIFIC.findall(text)), 3)
    if _POINTS_BACK.match(text):
        value -= 0.2
    if _SECOND_PERSON.search(text):
        value -= 0.1
    return value if len(found) >= 3 else value * 0.7
