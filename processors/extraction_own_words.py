"""Which sentences of a message are the person's own words.

Left out: what is quoted, code, and text that is handed over to be worked on ("translate this: ...").
Every sentence knows its exact span, so that a quote is always what was written.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from processors.sentences import Span, sentence_spans

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
    r"explain)\b[^\n:]*:\s",
    re.IGNORECASE,
)
_CODE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_QUOTED_LINE = re.compile(r"^[ \t]*>.*$", re.MULTILINE)
_QUOTED = re.compile(r'"[^"]{2,}?"|“[^“”]+”|«[^«»]+»')


def _masked(content: str) -> list[Span]:
    """Spans in which a sentence may not begin."""
    spans = [match.span() for match in _CODE.finditer(content)]
    spans += [match.span() for match in _QUOTED_LINE.finditer(content)]
    # A quotation is somebody else's sentence; that a sentence of one's own begins with a title is rare.
    spans += [match.span() for match in _QUOTED.finditer(content) if match[0] != content.strip()]
    if _TASK.match(content) is not None:
        spans.append((0, len(content)))
    return spans


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
