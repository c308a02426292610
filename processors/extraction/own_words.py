"""Which sentences of a message are the person's own words.

Left out: what is quoted or passed on (a chat log, a mail), code, text that is handed over to be worked on
("translate this: ..."), and what is said in a part that is played ("let's pretend ...").  What is taken back at
once ("just kidding") is known by :func:`is_taken_back` and :func:`takes_back`.
Every sentence knows its exact span, so that a quote is always what was written.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from processors.text.sentences import Span, sentence_spans

#: Sentences of one message that are looked at; a longer one is a document, not a chat message.
MAX_SENTENCES = 40
#: Characters of a sentence that is looked at.
_MAX_LENGTH = 400


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence: its span in the message, and its text with single spaces and straight apostrophes."""

    span: Span
    text: str

    @property
    def is_question(self) -> bool:
        return self.text.rstrip("\"') ").endswith(("?", "？"))


def message_sentences(content: str) -> list[Sentence]:
    """The sentences of a message that are the person's own words."""
    masked = _masked(content)
    found = []
    for start, end in sentence_spans(content)[:MAX_SENTENCES]:
        if end - start <= _MAX_LENGTH and not any(a <= start < b for a, b in masked):
            found.append(Sentence((start, end), _normalize(content[start:end])))
    return found


# --- what is not the person's own words ----------------------------------------------------------------

_TASK = re.compile(
    r"\s*(?:(?:can|could|would) you |please |help me )*(?:translate|rewrite|rephrase|paraphrase|summari[sz]e|"
    r"proofread|correct|edit|fix|improve|analy[sz]e|shorten|polish|write|draft|compose|reply to|respond to|"
    r"explain)\b[^\n:]*:\s"
    r"|\s*(?:(?:can|could|would) you |please |help me )*(?:translate|rewrite|rephrase|paraphrase|proofread|"
    r"correct|shorten|polish) (?:this|these|the following)\b[^\n.!?:]*[.!?\n]",
    re.IGNORECASE,
)
#: From here on a part is played, and nothing says where it ends.
_FICTION = re.compile(
    r"\b(?:(?:let's|let us|can we|could we|i want to) (?:role-?play|pretend|play (?:pretend|an? (?:\w+ )?game))"
    r"|you(?:'re| are) (?:now )?(?:an?|the|my) [^.!?\n]{1,60}? and (?:i'm|i am) (?:an?|the|your)\b)"
    r"|(?:^|[.!?\n] *)(?:imagine|pretend|suppose|picture)(?: that)? (?:this|that|you|i|we|an?|the following)\b",
    re.IGNORECASE,
)
_CODE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_QUOTED_LINE = re.compile(r"^[ \t]*>.*$", re.MULTILINE)
_QUOTED = re.compile(r'"[^"]{2,}?"|“[^“”]+”|«[^«»]+»')
#: "[10:02] Bob: I live in Rome. I have two dogs.", as chats are exported: a time, a name, what was said.
_LOGGED_LINE = re.compile(
    r"^[ \t]*(?:\[[^\]\n]*\d[^\]\n]*\]|\(?(?:[\d./-]{6,10},? )?\d{1,2}:\d{2}(?::\d{2})?(?: ?[ap]m)?\)?)"
    r"[ \t]*[-–—]?[ \t]*[^\W\d][^:\n]{0,40}:.*$",
    re.MULTILINE | re.IGNORECASE,
)
#: A mail that is passed on: all that follows is its writer's.
_MAIL = re.compile(
    r"^[ \t]*(?:from|subject|-+ ?(?:forwarded|original) message)\b ?[:-].*", re.I | re.M | re.DOTALL
)


def _masked(content: str) -> list[Span]:
    """Spans in which a sentence may not begin."""
    spans = [match.span() for match in _CODE.finditer(content)]
    spans += [match.span() for line in (_QUOTED_LINE, _LOGGED_LINE) for match in line.finditer(content)]
    spans += [match.span() for match in _MAIL.finditer(content)]
    # A quotation is somebody else's sentence; that a sentence of one's own begins with a title is rare.
    spans += [match.span() for match in _QUOTED.finditer(content) if match[0] != content.strip()]
    if _TASK.match(content) is not None:
        spans.append((0, len(content)))
    if (fiction := _FICTION.search(content.translate(_APOSTROPHES))) is not None:
        spans.append((fiction.start(), len(content)))
    return spans


# --- what is not meant ---------------------------------------------------------------------------------

_JOKE = r"(?:(?:i'm |i am |i was )?(?:just |only |totally )*(?:kidding|joking)|jk|j/k|psych)"
_TAKES_BACK = re.compile(rf"(?:(?:lol|haha+|nah|oh)[,.! ]*|no[,.!]+ )?(?:{_JOKE}|not!)[\s.!)]*", re.I)
#: "I live in a castle - in my dreams", "I love Mondays... not!"; "I love Mondays, not joking" is meant.
_TAKEN_BACK = re.compile(
    rf"(?:[\s,;:(–—…-]|\.\.+)(?<!\bnot )(?<!\bno )(?<!n't )(?:{_JOKE}|in (?:my|your) dreams|"
    r"said no ?(?:body|one) ever|as if|/s|/j)[\s.!)]*$"
    r"|(?:[,;–—…] *|\s- ?|\.\.+ *)not[\s.!)]*$|\s(?-i:NOT)[\s.!)]*$",
    re.IGNORECASE,
)


def is_taken_back(sentence: Sentence) -> bool:
    """Whether a sentence ends by saying that it is not meant."""
    return _TAKEN_BACK.search(sentence.text) is not None


def takes_back(sentence: Sentence) -> bool:
    """Whether a sentence only says that the one before was not meant."""
    return _TAKES_BACK.fullmatch(sentence.text) is not None


# --- normal form ---------------------------------------------------------------------------------------

_SPACES = re.compile(r"\s+")
_APOSTROPHES = str.maketrans("’‘ʼ`´", "'''''")
_SPLIT_APOSTROPHE = re.compile(r"(?<=\w) ?' ?(?=(?:m|ve|d|ll|re|s|t)\b)", re.IGNORECASE)
#: Chat spellings without their apostrophe.
_BARE = re.compile(
    r"\b(?:(i)(m|ve)|(do|did|does|is|was|are|would|could|should|have|has|had|ca|wo)(nt))\b", re.IGNORECASE
)
_TRAILING_EMOJI = re.compile(r"[\u2600-\u27bf\U0001f000-\U0001faff\ufe0f\u200d\s]+(?=[.!?]*$)")


def _normalize(sentence: str) -> str:
    text = _SPACES.sub(" ", sentence.translate(_APOSTROPHES)).strip()
    text = _SPLIT_APOSTROPHE.sub("'", text)
    text = _BARE.sub(lambda m: f"{m[1]}'{m[2]}" if m[1] else f"{m[3]}n't", text)
    text = _TRAILING_EMOJI.sub("", text)
    # A message in quotation marks from end to end is still the person's own; so is half a pair.
    return text.strip('"“”') if text.count('"') % 2 or (text[0] in '"“' and text[-1] in '"”') else text
