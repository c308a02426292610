"""How a sentence is told: by itself, behind the one that explains it, or as an answer behind its question."""

from __future__ import annotations

import re

from models.messages import Role
from processors.summaries.advice import is_consent, is_instruction, is_shown
from processors.summaries.antecedents import leaves_open
from processors.summaries.choosing import NAME_ALONE, PROFILE, says_it_all, section_of
from processors.summaries.contact import greets, is_phatic
from processors.summaries.cues import Section
from processors.summaries.dialogue import (
    SAME_TALK,
    beginning,
    is_agreed,
    is_answer,
    is_answered,
    is_outdone,
    next_turn,
)
from processors.summaries.ending import is_settled_after
from processors.summaries.perspective import third_person
from processors.summaries.pointing import points_back
from processors.summaries.reading import ELLIPSIS, Sentence, Turn, sentence_of
from processors.summaries.reservations import encourages, is_guess, is_intention, is_transition
from processors.summaries.speech_acts import (
    accepts,
    is_clause,
    is_command,
    is_evasive,
    is_fragment,
    is_negative,
    is_proposal,
    is_request,
    is_yes_or_no,
    leans_back,
    objects,
    takes,
)
from processors.summaries.standing import is_in_doubt, is_outdated, is_outweighed, is_undone
from processors.summaries.worth import WANTS, Conversation

#: Asked for something that is named in answer.
_NAMING = re.compile(r"(?:what|who|whom|whose|which|when|where|how)\b(?! about\b)", re.IGNORECASE)

#: What several people leave open: "Are you saying that ...?" asks of the moment.
_TO_SETTLE = re.compile(
    r"(?:who|what|when|where|which|how (?:much|many|long|far|often|do|can|should))\b|"
    r"\w+ (?:we|i|they|he|she|it|there|the|my|our|any\w+|some\w+)\b",
    re.IGNORECASE,
)

#: Said of what is not to be had, or of something else: who then takes "it" takes that.
_ANOTHER_ONE = re.compile(
    r"\b(?:sorry|afraid|unfortunately|out of|sold|full|off|instead|(?:an)?other|rather|but)\b", re.IGNORECASE
)

#: Asked after several at once.
_TWO_THINGS = re.compile(r"(?:how|what|which|where|when|who)\b.*\band\b", re.IGNORECASE)

#: What an answer goes on with that is not so, or not always.
_TAKES_BACK = re.compile(r"(?:but|however|unless|except|although|though|only if|not)\b", re.IGNORECASE)

#: A question that goes on from another, or asks back what neither it nor its answer names.
_GOES_ON = re.compile(
    r"\b(?:else|another|(?:the|any) other|(?:what|how) about|more info\w*|more details)\b|^if\b[^,]*\Z|"
    r"which (?:ones?|of (?:them|these|those))\W*\Z",
    re.IGNORECASE,
)

#: Said of what only those who talk see: "These are mine".
_SHOWN = re.compile(r"(?:this|these|those)\b|.*\b(?:listed|described|shown) below\b", re.IGNORECASE)

#: What "that" is, stands right before it.
_POINTS = re.compile(r"\b(?:this|that)(?=\W*\Z|[,;.!?]|['’]s\b| is\b| was\b)", re.IGNORECASE)

#: Characters of two sentences that are told as one.
LONGEST_TOLD = 260

#: What a pronoun stands for is named in one of so many sentences before.
REACH = 6


def line_of(said: Conversation, turn: Turn, sentence: Sentence) -> tuple[Section, str, frozenset[str]] | None:
    """Where a sentence belongs, as it is told, and the words that it is about; ``None``: nowhere."""
    if sentence.asks:
        return _asked(said, turn, sentence)
    if turn.role is Role.USER and takes(sentence.plain):
        return _with_the_wish(said, turn, sentence)
    section = section_of(said, turn, sentence)
    if section is None:
        return _with_reply(said, turn, sentence) if said.named and _calls_for_a_reply(sentence) else None
    if section in (Section.KEY_FACTS, Section.DECISIONS) and points_back(sentence.plain):
        return _with_what_explains(said, turn, sentence)
    if leaves_open(sentence.plain):
        return _with_what_explains(said, turn, sentence)
    whose = turn.speaker if section in PROFILE else ""  # the other's taste is another one
    if is_outdated(said, sentence, sentence.plain, sentence.words, whose):
        return None
    return section, _told(said, turn, sentence), sentence.words


def _fits(question: Sentence, answer: Sentence) -> bool:
    """Tell whether an answer may be one to a question: no yes to "what", no noun alone to "is it"."""
    if not question.asks:
        return True
    if _NAMING.match(question.plain):
        return not is_yes_or_no(answer.lead + answer.plain)
    return is_yes_or_no(answer.lead + answer.plain) or is_clause(answer.plain) or not question.plain.isascii()


def _takes_up(sentence: Sentence, reply: Turn) -> bool:
    """Tell whether a reply is one to this sentence: it says yes or no, or something with the same words."""
    begins = beginning(reply)
    return accepts(begins) or objects(begins) or bool(sentence.words & reply.sentences[0].words)


def _calls_for_a_reply(sentence: Sentence) -> bool:
    """Tell whether what a sentence says is settled by the reply: a request, a proposal, a wish, a guess."""
    plain = sentence.plain
    if not sentence.words or is_transition(plain) or encourages(plain) or is_phatic(plain):
        return False
    if is_evasive(plain):
        return False
    return is_request(plain) or is_proposal(plain) or is_intention(plain) or is_guess(plain)


def _with_the_wish(
    said: Conversation, turn: Turn, taken: Sentence
) -> tuple[Section, str, frozenset[str]] | None:
    """What somebody takes, behind what they last said that they look for, if that was not refused."""
    talk = said.turns[max(taken.turn - SAME_TALK, 0) : taken.turn + 1]
    own = (s for t in reversed(talk) if t.speaker == turn.speaker for s in reversed(t.sentences))
    earlier = (s for s in own if (s.turn, s.nth) < (taken.turn, taken.nth))
    wish = next((s for s in earlier if not s.asks and WANTS.search(s.plain)), None)
    if wish is None or is_negative(wish.plain) or leaves_open(wish.plain) or is_undone(said, taken):
        return None
    between = (t for t in talk if t.speaker != turn.speaker and t.sentences and t.sentences[0].turn > wish.turn)
    if any(_ANOTHER_ONE.search(s.plain) for t in between for s in t.sentences):
        return None
    text = f"{wish.text} {taken.lead}{taken.text}"
    about = wish.words | taken.words
    return Section.DECISIONS, f"{turn.speaker}: {text}" if said.named else text, about


def _with_what_explains(
    said: Conversation, turn: Turn, sentence: Sentence
) -> tuple[Section, str, frozenset[str]] | None:
    """A sentence that points back, behind the fact that it points to; ``None``: there is none near enough."""
    found = _explaining(said, turn, sentence)
    if found is None:
        return None
    whose, before_it = found
    about = before_it.words | sentence.words
    if is_outdated(said, sentence, f"{before_it.plain} {sentence.plain}", about):
        return None
    if whose.speaker == turn.speaker:
        lead = sentence.lead if before_it.nth == sentence.nth - 1 else ""
        stop = "." if before_it.text[-1:].isalnum() else ""
        both = f"{before_it.text}{stop} {lead}{sentence.text}"
        return Section.KEY_FACTS, _told(said, turn, sentence_of(both, sentence.turn, sentence.nth)), about
    return Section.KEY_FACTS, f"{whose.speaker}: {before_it.text} {turn.speaker}: {sentence.text}", about


def _explaining(said: Conversation, turn: Turn, sentence: Sentence) -> tuple[Turn, Sentence] | None:
    """What names all that a sentence points to: in its own message, or the question that it answers.

    The nearest that has somebody or something of the kind is meant, so that what is further away is not looked
    at behind one that has it and cannot be told.
    """
    earlier = [(turn, other) for other in reversed(turn.sentences) if other.nth < sentence.nth]
    if is_answer(said.turns, sentence):
        asking = said.turns[sentence.turn - 1]
        earlier.append((asking, asking.sentences[-1]))
    adjacent = points_back(sentence.plain) or _POINTS.search(sentence.plain) is not None
    for whose, other in earlier[: 1 if adjacent else REACH]:
        if leaves_open(f"{other.plain} {sentence.plain}"):
            continue
        if adjacent and whose is turn and other.nth != sentence.nth - 1:
            return None
        if points_back(other.plain) or len(other.text) + len(sentence.text) > LONGEST_TOLD:
            return None
        if other.asks:
            return (whose, other) if whose is not turn and not adjacent and not is_phatic(other.plain) else None
        return (whose, other) if section_of(said, whose, other) is not None else None
    return None


def _asked(said: Conversation, turn: Turn, question: Sentence) -> tuple[Section, str, frozenset[str]] | None:
    if len(question.words) < (1 if said.named else 2) or is_phatic(question.plain):
        return None
    if _GOES_ON.search(question.plain) and not (said.named and is_proposal(question.plain)):
        return None
    if any(
        other.nth == question.nth - 1
        and other.words
        and not is_phatic(other.plain)
        and other.plain[-1:].isalnum()
        for other in turn.sentences
    ):
        return None  # the end of a sentence
    if turn.role is Role.ASSISTANT and is_shown(question):
        return None
    if not is_answered(said.turns, question):
        if question is not turn.sentences[-1] or (
            turn.role is Role.ASSISTANT and is_instruction(question.plain)
        ):
            return None  # who goes on, or says what to read, asks nobody
        if leaves_open(question.plain) or (said.named and not _TO_SETTLE.match(question.plain)):
            return None
        return Section.OPEN_QUESTIONS, _told(said, turn, question), question.words
    proposed = is_proposal(question.plain)
    agreed = proposed and is_agreed(said.turns, question)
    if proposed and (
        is_outweighed(said, question, agreed) or is_transition(question.plain) or encourages(question.plain)
    ):
        return None
    before = turn.sentences[-2] if len(turn.sentences) > 1 else None
    if before is not None and before.asks and len(before.words) >= 2:
        return None  # which of them is answered is not known
    return _with_reply(said, turn, question, agreed=agreed)


def _with_reply(
    said: Conversation, turn: Turn, sentence: Sentence, *, agreed: bool = False
) -> tuple[Section, str, frozenset[str]] | None:
    """What ends a turn, with the reply that says what becomes of it: what was asked, asked for, or supposed."""
    reply = next_turn(said.turns, sentence.turn)
    if reply is None or not (agreed or sentence is turn.sentences[-1]) or not reply.statements:
        return None
    answer = reply.sentences[0]
    if (
        answer.asks
        or not answer.text
        or _SHOWN.match(answer.plain)
        or greets(answer.lead)
        or is_fragment(answer.plain)
        or is_command(answer.plain)
        or is_proposal(answer.plain)  # which is another one, and not the end of it
        or answer.plain.endswith(ELLIPSIS)  # and with it perhaps the condition
        or is_evasive(answer.plain)  # and yet answered: later, by something else
        or (said.named and is_in_doubt(said, answer))  # and overruled later
        or not (agreed or _fits(sentence, answer))
    ):
        return None
    if not agreed and says_it_all(said, sentence, answer) and len(sentence.words - answer.words) < 2:
        return None
    if not sentence.asks and (
        not _takes_up(sentence, reply)
        or is_settled_after(said.end, sentence.turn)
        or any(other.asks for other in reply.sentences)
    ):
        return None  # not the end of it
    if reply.role is Role.ASSISTANT and (is_request(sentence.plain) or is_consent(answer.lead + answer.plain)):
        return None  # what was asked for is done with the reply
    section = Section.DECISIONS if agreed else Section.KEY_FACTS
    asked, told = sentence.text, answer.lead + answer.text
    if (is_phatic(answer.plain) or _is_thanks_alone(answer)) and not (agreed or is_yes_or_no(told)):
        return None
    about = sentence.words | answer.words
    if (
        not agreed
        and len(reply.sentences) > 1
        and _TAKES_BACK.match(reply.sentences[1].lead + reply.sentences[1].plain)
    ):
        return None  # half of an answer
    more = reply.statements[1:] if answer in reply.statements else ()
    if (
        not agreed
        and more
        and (_TWO_THINGS.match(sentence.plain) or (WANTS.search(more[0].plain) and not is_yes_or_no(told)))
    ):
        return None  # the other half, or what they want, comes behind it
    if is_outdated(said, answer, told, about):
        return None
    if is_outdone(said.turns, sentence, answer):
        return None
    goes_on = reply.sentences[1] if len(reply.sentences) > 1 and not agreed and len(answer.words) < 2 else None
    if goes_on is not None and not goes_on.asks and goes_on.words and not leans_back(goes_on.plain):
        # "For sure! Maps and old letters": what was asked for comes behind the yes.
        told, about = f"{told} {goes_on.lead}{goes_on.text}", about | goes_on.words
    if leaves_open(f"{sentence.plain} {told}"):
        return None
    if said.named:
        return section, f"{turn.speaker}: {asked} {reply.speaker}: {told}", about
    whose = f"{turn.speaker}: " if turn.role is not Role.USER else ""
    text = f"{whose}{asked} – {told}"
    return section, text, about


def _is_thanks_alone(answer: Sentence) -> bool:
    return NAME_ALONE.match(answer.plain) is not None and is_phatic(answer.lead + answer.plain)


def _told(said: Conversation, turn: Turn, sentence: Sentence) -> str:
    if said.named:
        return third_person(sentence.plain, turn.speaker)
    if turn.role is not Role.USER:
        return (
            f"{turn.speaker}: {sentence.text}"  # what nobody but a model says or asks is not the person's own
        )
    return sentence.text
