"""The sentences of a turn in which a person tells something of themselves that may come up again.

Cosine finds what is worded alike, and nothing is worded so much alike as courtesy, moods and what only the talk
explains ("I'm so glad that you liked it").  So a sentence must say something to who has not heard the rest.
"""

from __future__ import annotations

import re

from models import ids
from models.messages import Role
from models.turns import Turn
from models.vectors import EmbeddingRequest, SpokenSentence, VectorKind
from processors.retrieval.embedding.wording import request_for
from processors.retrieval.recall.masking import has_masked
from processors.text.sentences import sentences

#: How many sentences of a turn are looked at, and how many characters of it: as many as are embedded.
SENTENCES_MOST = 12
_LONGEST = 4_000

#: Words of a sentence: shorter ones say too little, and of longer ones the vector says little of each thing.
_FEWEST_WORDS, _MOST_WORDS = 4, 40

#: How many words a sentence has that mean something by themselves.
_FEWEST_MEANING = 2


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _any(words: str) -> str:
    return "(?:" + "|".join(words.replace("'", "['’]").split()) + ")"


_YOU = "you your yours yourself let's"
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_SELF = re.compile(r"\b(?:i|my|we|our)\b", re.IGNORECASE)
_ADDRESSED = re.compile(rf"\b{_any(_YOU)}\b", re.IGNORECASE)

#: How a sentence begins that tells a mood, or what is thought, meant, possible or wished.
_MOODS = (
    "glad happy excited sorry proud thrilled grateful thankful sure stoked pumped blessed lucky curious "
    "hoping afraid amazed impressed inspired hope wish guess think thought agree understand understood "
    "see bet mean appreciate know hear heard believe wonder suppose remember forgot promise swear feel "
    "felt need down in good fine ok okay well great here there back"
)
_STRESSES = "so really very also just always all too super truly pretty still definitely totally"
_COURTESY = "hey hi hello oh aw aww wow yeah yes no glad happy sorry thanks thank together hope can't"
_PASSING = re.compile(
    rf"(?:i(?:['’]m| am| was| feel| felt)?(?: {_any(_STRESSES)})* {_any(_MOODS)}"
    r"|i(?: will| would| have| had| can| could| must| cannot|['’](?:ll|d|ve|m gonna)| can['’]t| couldn['’]t)"
    r"|we(?: can| could| should| will|['’]ll)|let (?:us|me)|my (?:bad|pleasure|goodness|god|gosh|friend)|have a"
    rf"|{_any(_COURTESY)})\b",
    re.IGNORECASE,
)

#: What only the talk, or the day, explains.
_POINTING = re.compile(
    r"\b"
    + _any(
        "it that this those these them him her he she they same one ones such today yesterday tomorrow tonight "
        "recently last next ago soon finally"
    )
    + r"\b",
    re.IGNORECASE,
)

#: Words that mean little by themselves.
_EMPTY = _words(
    "i i'm i've i'd i'll me my mine myself we we're we've our us a an the of to in on at for from by with "
    "about as and or but if then than because since while when where who which what how not no never "
    "don't didn't is am are was were be been being do does did have has had having get got getting go "
    "goes going went make made makes take took taking really very quite much many lot lots some any all "
    "every each bit little more most good great nice love like enjoy loved liked thing things stuff time "
    "times way always often usually sometimes up out off over can could would will should may might must "
    "want wanted need keep kept trying try tried new"
)


def told_in(text: str) -> list[str]:
    """Return the sentences of ``text`` in which the writer tells something of themselves, as written."""
    return [each for each in sentences(text[:_LONGEST]) if _tells(each)][:SENTENCES_MOST]


def _tells(sentence: str) -> bool:
    if sentence.endswith("?") or not _SELF.search(sentence) or has_masked(sentence):
        return False
    if _ADDRESSED.search(sentence) or _PASSING.match(sentence) or _POINTING.search(sentence):
        return False
    words = [word.replace("’", "'").casefold() for word in _WORD.findall(sentence)]
    if not _FEWEST_WORDS <= len(words) <= _MOST_WORDS:
        return False
    return len({word for word in words if word not in _EMPTY}) >= _FEWEST_MEANING


def sentence_id(turn_id: str, number: int) -> str:
    """Return the id of a sentence: which of a turn's it is."""
    return ids.deterministic_id("sentence", turn_id, number)


def sentence_ids(turn_id: str) -> list[str]:
    """Return all ids that sentences of a turn can have."""
    return [sentence_id(turn_id, number) for number in range(SENTENCES_MOST)]


def requests_for(turn: Turn) -> list[EmbeddingRequest]:
    """Return the requests for the vectors of what a person tells of themselves in a turn."""
    if turn.role is not Role.USER:
        return []
    return [
        request_for(
            VectorKind.SENTENCE,
            sentence_id(turn.turn_id, number),
            text,
            turn.user_id,
            turn.tenant_id,
            sentence=SpokenSentence(
                turn_id=turn.turn_id,
                message_id=turn.message_id,
                conversation_id=turn.conversation_id,
                text=text,
                sent_at=turn.sent_at,
                arrived_at=turn.arrived_at,
                topic=turn.source.topic,
                partition=turn.source.partition,
                offset=turn.source.offset,
            ),
        )
        for number, text in enumerate(told_in(turn.text))
    ]
