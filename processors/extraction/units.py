"""Units of a window: the sentences that people say in their own words, each with the question that it answers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from models.messages import Role
from models.readings import Sentence
from models.windows import Window, WindowMessage
from processors.text.authorship import own_words
from processors.text.sentences import sentence_spans

#: Sentences of one message that are read; a longer message was pasted.
MOST_SENTENCES = 60
#: Characters of the message before and after a sentence that the reader model gets.
_BEFORE, _AFTER = 200, 100
#: A whole message that only asks a question back.
_ASKS_BACK = re.compile(r"(?:\w+,? )?\w+ ?[?？]+")
#: The end of an assistant's message that may ask something, in characters.
_LONGEST_QUESTION = 240
#: The longest sentence that is kept whole, in characters; a longer one is read up to here.
LONGEST_SENTENCE = 600


class Unit(NamedTuple):
    """A sentence of a person.

    ``text`` is the sentence as written; ``start`` and ``end`` are its place in the message.  ``question`` is that of
    the assistant's message before; ``asked`` is the same for the first sentences of a reply, which answer it, and
    empty for the others.  ``before`` is the sentence before it in the message, ``number`` counts the sentences of the message from 0.  ``is_partial``: some of the
    message is not the author's own words.
    """

    message: WindowMessage
    start: int
    end: int
    text: str
    number: int
    asked: str = ""
    question: str = ""
    before: str = ""
    is_partial: bool = False

    @property
    def sentence(self) -> Sentence:
        """The sentence as the reader model gets it: with the question and the message around it."""
        content = self.message.content
        before = " ".join(content[: self.start][-2 * _BEFORE :].split())[-_BEFORE:]
        after = " ".join(content[self.end :][: 2 * _AFTER].split())[:_AFTER]
        context = f"{self.question} {before}".strip()
        by = f"{Role.ASSISTANT}: " if self.message.role is Role.ASSISTANT else ""
        return Sentence(f"{context} … {after}" if after else context, by + self.text)


def units_of(window: Window) -> list[Unit]:
    """Return the units of the messages that are new in a window, in its order."""
    found: list[Unit] = []
    for at, message in enumerate(window.messages):
        if at >= window.overlap and message.role is Role.USER:
            found += units_in(message, question_before(window.messages, at))
    return found


def question_before(messages: Sequence[WindowMessage], at: int) -> str:
    """Return the assistant's last question before a reply, ``""`` if there is none.

    If these only ask back ("You know what I like?" – "What?"), the person's own question before them.
    """
    before = messages[at - 1] if at else None
    if before is None or before.role is not Role.ASSISTANT:
        return ""
    if at > 1 and _ASKS_BACK.fullmatch(before.content.strip()):
        own = messages[at - 2]
        if own.user_id == messages[at].user_id and own.content.rstrip().endswith(("?", "？")):
            return last_question(own.content)
    asked = last_question(before.content)
    return asked if is_question(asked) else ""


def is_question(text: str) -> bool:
    """Return whether a text ends with a question mark, whatever closes behind it."""
    return text.rstrip("\"'”’)* ").endswith(("?", "？"))


def last_question(text: str) -> str:
    """Return the last question of a text, or its last sentence."""
    tail = text[-_LONGEST_QUESTION * 2 :]
    sentences = [tail[start:end] for start, end in sentence_spans(tail)]
    asked = [each for each in sentences if is_question(each)]
    return (asked or sentences or [""])[-1][-_LONGEST_QUESTION:]


def units_in(message: WindowMessage, question: str) -> list[Unit]:
    """Return the units of one message; ``question``: of :func:`question_before`."""
    own = own_words(message.content)
    found: list[Unit] = []
    before = ""
    for number, (start, end) in enumerate(sentence_spans(own)[:MOST_SENTENCES]):
        end = min(end, start + LONGEST_SENTENCE)
        text = " ".join(message.content[start:end].split())
        is_answer = number == 0 or (number == 1 and len(before.split()) <= _SHORT)
        asked = question if is_answer else ""
        found.append(Unit(message, start, end, text, number, asked, question, before, own != message.content))
        before = text
    return found


#: Words of a first sentence that leave the question open for the second ("Yes. Since 2019.").
_SHORT = 3

_LEANS = re.compile(
    r"(?:and|but|so|because|cos|cause|since|also|plus|then|that'?s|it'?s|its|it|he|she|they|his|her|their|hers|him|them|this|these|those|which|who|"
    r"same|both|either|neither|or|until|till|except|especially|not|never|no|only|just|usually|always|und|aber|weil|denn|er|sie|es|das|ihr|sein|"
    r"y|pero|porque|él|ella|eso|su|et|mais|parce|il|elle|c['’]est|ça|son|sa|e|mas|ele|ela|isso|seu|sua)\b",
    re.IGNORECASE,
)


def leans(unit: Unit) -> bool:
    """Return whether a sentence needs the one before it to be understood."""
    return unit.number > 0 and (len(unit.text.split()) <= _SHORT or _LEANS.match(unit.text) is not None)
