"""Summarize by picking sentences: deterministic, offline, and every word can be found in the messages.

What was taken back is put right first (:mod:`.corrections`).  A sentence then goes into the list that its
wording names (:mod:`.cues`); a question only while nobody has answered it, a proposal as a decision once it is
agreed to (:mod:`.dialogue`), and nothing that did not stand to the end (:mod:`.standing`); all other statements
are candidates for key facts.  What a sentence is worth depends on how much it says, how central it is to what
is talked of, where it stands, and the list it is for.  :mod:`.packing` then takes the best that fit.  Where
several people speak, each line says whose it is (:mod:`.perspective`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from models.messages import Role
from models.summaries import SessionSummary
from models.windows import WindowMessage
from processors.summaries.advice import is_consent, is_shown
from processors.summaries.corrections import corrected
from processors.summaries.cues import Section, cued_section
from processors.summaries.dialogue import (
    is_agreed,
    is_answer,
    is_answered,
    is_contradicted,
    is_met,
    is_outdone,
    is_turned_down,
    next_turn,
)
from processors.summaries.ending import (
    is_refused,
)
from processors.summaries.packing import Candidate, pack
from processors.summaries.perspective import third_person
from processors.summaries.pointing import (
    compares_nothing,
    is_seen,
    names_nothing,
    points_at_some,
    points_back,
    turns_on,
)
from processors.summaries.reading import ELLIPSIS, Sentence, Turn, read, sentence_of, words
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
    greets,
    is_clause,
    is_command,
    is_evasive,
    is_fragment,
    is_phatic,
    is_proposal,
    is_request,
    is_yes_or_no,
    leans_back,
    points_elsewhere,
)
from processors.summaries.standing import is_in_doubt, is_outdated, is_outweighed, is_over, is_undone
from processors.summaries.worth import LEAST, Conversation, conversation, substance, worth_of
from processors.text.tokens import TokenCounter

#: How much what they say tells about the person.
_ROLE_WEIGHT = {Role.USER: 1.0, Role.ASSISTANT: 0.6, Role.TOOL: 0.3}

#: What the list adds to the worth of a sentence: "Let's go with Hotel Borges" says much in few words.
_SECTION_WORTH = {
    Section.PREFERENCES: 0.0,
    Section.CONSTRAINTS: 1.2,
    Section.KEY_FACTS: 0.0,
    Section.DECISIONS: 1.2,
    Section.OPEN_QUESTIONS: 0.5,
    Section.TODOS: 0.7,
}

#: What holds beyond today.
_PROFILE = frozenset((Section.PREFERENCES, Section.CONSTRAINTS))

#: In a roll-up an open question or a to-do fades with every summary that followed it; the rest fades slowly.
_FADING = {Section.OPEN_QUESTIONS: 0.4, Section.TODOS: 0.7}
_SLOW_FADING = 0.93

_FIRST_PERSON = re.compile(r"\b(?:i|i['’]\w+|me|my|mine|we|us|our|we['’]\w+|let['’]s)\b", re.IGNORECASE)
_TO_OR_OF_ONESELF = re.compile(r"\b(?:I|[Mm][ey]|[Yy]ou(?:r|rs)?|[Ww]e|[Uu]s|[Oo]urs?)\b")
#: What "one" is, the question before says.
_ANAPHORIC = re.compile(
    r"\b(?:there(?:'s| is)|ha(?:ve|s)|got|see) (?:only )?one"
    r"(?=\W*\Z|[,;]| (?:across|near|next|behind|opposite|around|down|over|on|in|at|by|here|just|left)\b)",
    re.IGNORECASE,
)

#: Asked back about something that neither the question nor its answer names.
_WHICH_ONE = re.compile(r"\bwhich (?:one|ones|of (?:them|these|those))\W*\Z", re.IGNORECASE)

#: Of what it is the length, the number or the place, an answer need not say again.
_HOW_MUCH = re.compile(r"(?:how (?:long|often|many|much|far|old)|when|since when)\b", re.IGNORECASE)

#: Somebody sees what it is, a reader does not.
_POINTED_AT = re.compile(
    r"(?:(?:these|those)(?! days\b)|(?:this|that)(?! (?:week|month|year|morning|afternoon|evening|spring|"
    r"summer|autumn|fall|winter|\w+day)))\b",
    re.IGNORECASE,
)

#: Whom it is said to: no fact, and an answer is told with its question.
_NAME_ALONE = re.compile(r"\A(?:[A-Z][\w'’-]*\.?\s*){1,4}[,!.]*\Z")

#: Characters of two sentences that are told as one.
LONGEST_TOLD = 260

#: A statement of fewer content words that replies to a question says nothing without it.
ELLIPTIC = 4


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
        for sentence in turn.sentences:
            found = _line(said, turn, sentence)
            if found is not None:
                section, text, about = found
                worth = _SECTION_WORTH[section] + worth_of(said, sentence, text, about)
                score = _ROLE_WEIGHT[turn.role] * max(LEAST, worth)
                candidates.append(Candidate(section, text, score, len(candidates), about))
    return pack(candidates or list(_opening(turns)), limit, count)


def _opening(turns: Sequence[Turn]) -> Iterator[Candidate]:
    """Where nothing else is to be told: what assistants say before they lay something out, as theirs."""
    for turn in turns:
        for place, sentence in enumerate(turn.sentences if turn.role is Role.ASSISTANT else ()):
            told = not (
                sentence.laid_out or sentence.asks or is_fragment(sentence.plain) or is_phatic(sentence.plain)
            )
            if told and len(sentence.words) >= ELLIPTIC:
                text = f"{turn.speaker}: {sentence.text}"
                yield Candidate(Section.KEY_FACTS, text, 1 / (1 + place), sentence.turn, sentence.words)


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


def _line(said: Conversation, turn: Turn, sentence: Sentence) -> tuple[Section, str, frozenset[str]] | None:
    """Where a sentence belongs, as it is told, and the words that it is about; ``None``: nowhere."""
    if sentence.asks:
        return _asked(said, turn, sentence)
    section = _section(said, turn, sentence)
    if section is None:
        return None
    # Where several talk, "But they ..." mostly goes on with what another named: it says much by itself.
    people = not said.named or sentence is not turn.sentences[0]
    if section is not Section.TODOS and turns_on(sentence.lead + sentence.plain, people=people):
        return _with_what_explains(said, turn, sentence, is_turn=True)
    if section in (Section.KEY_FACTS, Section.DECISIONS) and (
        points_back(sentence.plain) or (not said.named and points_at_some(sentence.plain))
    ):
        return _with_what_explains(said, turn, sentence)
    whose = turn.speaker if section in _PROFILE else ""  # the other's taste is another one
    if is_outdated(said, sentence, sentence.plain, sentence.words, whose):
        return None
    return section, _told(said, turn, sentence), sentence.words


def _with_what_explains(
    said: Conversation, turn: Turn, sentence: Sentence, *, is_turn: bool = False
) -> tuple[Section, str, frozenset[str]] | None:
    """A sentence that points back, behind the fact before it, which it points to; ``None``: there is none.

    ``is_turn``: it turns against what it points to ("But they leaked"), which stands in the same message.
    """
    before_it = next((other for other in turn.sentences if other.nth == sentence.nth - 1), None)
    whose = turn
    if before_it is None and said.named and not is_turn and turn.sentences[0] is sentence and sentence.turn:
        whose = said.turns[sentence.turn - 1]
        before_it = whose.sentences[-1] if whose.sentences else None
    if before_it is None or before_it.asks or points_back(before_it.plain):
        return None
    if len(before_it.text) + len(sentence.text) > LONGEST_TOLD or _section(said, whose, before_it) is None:
        return None
    about = before_it.words | sentence.words
    if is_outdated(said, sentence, f"{before_it.plain} {sentence.plain}", about):
        return None
    if whose is turn:
        lead = sentence.lead if is_turn else ""
        both = sentence_of(
            f"{before_it.text} {lead}{sentence.text}", sentence.turn, sentence.nth, "", sentence.laid_out
        )
        return Section.KEY_FACTS, _told(said, turn, both), about
    return Section.KEY_FACTS, f"{whose.speaker}: {before_it.text} {turn.speaker}: {sentence.text}", about


def _asked(said: Conversation, turn: Turn, question: Sentence) -> tuple[Section, str, frozenset[str]] | None:
    if not question.words or is_phatic(question.plain) or _WHICH_ONE.search(question.plain):
        return None
    if said.named and points_elsewhere(question.plain):
        return None
    if turn.role is Role.ASSISTANT and is_shown(question):
        return None
    if not is_answered(said.turns, question):
        if len(question.words) < 2 or question is not turn.sentences[-1]:
            return None  # who goes on asks nobody
        return Section.OPEN_QUESTIONS, _told(said, turn, question), question.words
    reply = next_turn(said.turns, turn.sentences[0].turn)
    if reply is None or question is not turn.sentences[-1] or not reply.statements:
        return None
    answer = reply.sentences[0]
    proposed = is_proposal(question.plain)
    agreed = proposed and is_agreed(said.turns, question)
    if proposed and (
        is_outweighed(said, question, agreed) or is_transition(question.plain) or encourages(question.plain)
    ):
        return None
    before = turn.sentences[-2] if len(turn.sentences) > 1 else None
    if before is not None and before.asks and len(before.words) >= 2:
        return None  # which of them is answered is not known
    by_itself = not _is_elliptic(question, answer)
    if (
        answer.asks
        or _POINTED_AT.match(answer.plain)
        or greets(answer.lead)
        or is_fragment(answer.plain)
        or is_command(answer.plain)
        or is_evasive(answer.plain)  # and yet answered: later, by something else
        or is_outdone(said.turns, question, answer)
        or (by_itself and not agreed)
    ):
        return None
    if reply.role is Role.ASSISTANT and (is_request(question.plain) or is_consent(answer.lead + answer.plain)):
        return None  # what was asked for is done with the reply
    section = Section.DECISIONS if agreed else Section.KEY_FACTS
    asked, told = question.text, answer.lead + answer.text
    if (is_phatic(answer.plain) or _is_thanks_alone(answer)) and not (agreed or is_yes_or_no(told)):
        return None
    about = question.words | answer.words
    if is_outdated(said, answer, f"{asked} {told}", about):
        return None
    goes_on = reply.sentences[1] if len(reply.sentences) > 1 and not agreed and not answer.words else None
    if goes_on is not None and not goes_on.asks and len(goes_on.words) >= 2:
        # "For sure! Maps and old letters": what was asked for comes behind the yes.
        told, about = f"{told} {goes_on.lead}{goes_on.text}", about | goes_on.words
    text = f"{turn.speaker}: {asked} {reply.speaker}: {told}" if said.named else f"{asked} – {told}"
    return section, text, about


def _is_elliptic(question: Sentence, answer: Sentence) -> bool:
    """Tell whether what an answer is about, its question says: "How long ago was it?" "Two years."."""
    if len(answer.words) < ELLIPTIC or _ANAPHORIC.search(answer.plain) or points_back(answer.plain):
        return True
    if _HOW_MUCH.match(question.plain) is None or points_elsewhere(question.plain):
        return False
    return not question.words <= answer.words


def _is_thanks_alone(answer: Sentence) -> bool:
    return _NAME_ALONE.match(answer.plain) is not None and is_phatic(answer.lead + answer.plain)


def _section(said: Conversation, turn: Turn, sentence: Sentence) -> Section | None:
    text = sentence.plain
    if not sentence.words or is_fragment(text) or compares_nothing(text):
        return None
    if is_answer(said.turns, sentence):
        question = said.turns[sentence.turn - 1].sentences[-1]
        if is_outdone(said.turns, question, sentence):
            return None
    if len(sentence.words) < 2:  # "I'm vegan." says much, "I have to work." little
        section = _cued(said, turn, sentence)
        return None if section is Section.TODOS or is_proposal(text) else section
    if is_transition(text) or encourages(text):
        return None
    if turn.role is Role.ASSISTANT and is_shown(sentence):
        return None
    if is_proposal(text):
        agreed = is_agreed(said.turns, sentence)
        if is_outweighed(said, sentence, agreed) or is_turned_down(said.turns, sentence):
            return None
        if agreed:
            return Section.DECISIONS
        if said.named and next_turn(said.turns, sentence.turn) is not None:
            return None  # somebody replied, and did not agree
    if said.named and is_in_doubt(said, sentence):
        return None
    section = _cued(said, turn, sentence)
    if section is Section.DECISIONS and (is_undone(said, sentence) or (said.named and is_seen(text))):
        return None
    if section is Section.TODOS and (
        is_over(said, sentence) or (said.named and names_nothing(text, sentence.words))
    ):
        return None
    if said.named and is_trouble(text) and is_met(said.turns, sentence):
        return None
    if said.named and section is Section.CONSTRAINTS and is_contradicted(said.turns, sentence):
        return None
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
    if section in _PROFILE and is_passing(text):
        return Section.KEY_FACTS
    if section is Section.DECISIONS and is_habit(text):
        return Section.KEY_FACTS
    return section


def _is_seen_to(said: Conversation, turn: Turn, to_do: Sentence) -> bool:
    """Tell whether somebody asks an assistant to see to it in the same message, and it does.

    Where the end of a sentence was cut off, so was what it asked for.
    """
    reply = next_turn(said.turns, to_do.turn)
    if reply is None or reply.role is not Role.ASSISTANT:
        return False
    return to_do.plain.endswith(ELLIPSIS) or any(s.asks or is_request(s.plain) for s in turn.sentences)


def _requested(said: Conversation, request: Sentence) -> Section | None:
    """A request is to be done until somebody answers it; among people also when somebody agrees to do it."""
    if not is_answered(said.turns, request):
        return Section.TODOS
    if not said.named or not is_agreed(said.turns, request) or is_refused(said.turns, said.end, request):
        return None
    if not is_on_the_spot(request.plain) and not is_wish(request.plain):
        return Section.TODOS
    return Section.KEY_FACTS if _is_fact(said, request) else None


def _is_fact(said: Conversation, statement: Sentence) -> bool:
    text = statement.plain
    if (
        is_phatic(text)
        or _NAME_ALONE.match(text)
        or is_command(text)
        or is_evasive(text)
        or leans_back(text)
        or is_seen(text)
        or is_contradicted(said.turns, statement)
    ):
        return False
    # "Later this month." says something only behind its question.
    by_itself = len(statement.words) >= ELLIPTIC or _FIRST_PERSON.search(text)
    if is_answer(said.turns, statement):
        question = said.turns[statement.turn - 1].sentences[-1]
        if len(statement.words) >= ELLIPTIC and _is_elliptic(question, statement) and not points_back(text):
            return False
        return bool(by_itself and not _ANAPHORIC.search(text) and (is_clause(text) or not said.named))
    return not said.named or (is_clause(text) and not _POINTED_AT.match(text))


def _told(said: Conversation, turn: Turn, sentence: Sentence) -> str:
    if said.named:
        return third_person(sentence.plain, turn.speaker)
    if turn.role is not Role.USER and not sentence.asks and _TO_OR_OF_ONESELF.search(sentence.plain):
        return f"{turn.speaker}: {sentence.text}"  # the other lines' "I" is the person, and nobody's "you"
    return sentence.text
