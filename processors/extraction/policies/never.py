"""Mentions of what is never kept: topics as whole words of any script, and patterns of RE2.

Both take linear time.  Case, width, invisible characters and the vowel signs of Arabic and Hebrew make no
difference.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from models.facts import FactCandidate
from models.graph import GraphStatement
from models.patterns import compiled
from models.policies import NeverKept
from models.statements import Statement

#: Why a statement is dropped that a policy forbids.
NEVER_KEPT = "never_kept"

#: Scripts without spaces between words: a word may begin and end anywhere in them.
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u31f0-\u31ff\u3400-\u9fff"
    "\uf900-\ufaff\U00020000-\U0003ffff]"
)

#: Korean has spaces, and hangs particles on its words.
_HANGUL = re.compile("[\u1100-\u11ff\u3130-\u318f\uac00-\ud7af]")

#: Points over and under letters that most people leave out, and the stroke that stretches a word.
_POINTS = re.compile("[\u0591-\u05bd\u05bf\u05c1\u05c2\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670]")

#: Half of what "İ" is in lower case: nobody who writes "i" means another letter.
_DOT = "i\u0307"


class NeverKeptWords:
    """Topics and patterns of a policy, compiled."""

    def __init__(self, never_kept: NeverKept) -> None:
        self._topics = [found for each in never_kept.topics if (found := _folded(each))]
        self._patterns = compiled(never_kept.patterns)

    def mentioned(self, texts: Iterable[str]) -> bool:
        """Say whether one of the texts mentions what is never kept."""
        if not self._topics and not self._patterns:
            return False
        for text in texts:
            folded = _folded(text)
            if any(_has_words(folded, topic) for topic in self._topics):
                return True
            if any(each.search(text) is not None for each in self._patterns):
                return True
        return False


def texts_of(found: Statement | FactCandidate) -> tuple[str, ...]:
    """Return the texts of a statement or a candidate that a note keeps."""
    if isinstance(found, Statement):
        return found.statement, found.quote, found.subject, found.attribute, found.value
    quotes = (each.quote for each in (found.provenance, *found.also))
    return found.statement, found.subject, found.attribute, found.value, *quotes


def texts_of_relation(found: GraphStatement) -> tuple[str, ...]:
    """Return the texts of a graph statement that the graph keeps."""
    ends = (found.subject, found.object)
    return found.source.quote, found.relation, *(text for each in ends for text in (each.name, each.role))


def _folded(text: str) -> str:
    plain = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    plain = _POINTS.sub("", plain).replace(_DOT, "i")
    visible = (each for each in plain if unicodedata.category(each) != "Cf")
    return " ".join("".join(visible).split())


def _has_words(text: str, topic: str) -> bool:
    at = text.find(topic)
    while at >= 0:
        end = at + len(topic)
        before, after = text[at - 1 : at] if at else "", text[end : end + 1]
        if not _goes_on(before, topic[0]) and (_HANGUL.match(after) or not _goes_on(topic[-1], after)):
            return True
        at = text.find(topic, at + 1)
    return False


def _goes_on(left: str, right: str) -> bool:
    """Say whether a word goes on from one character to the next."""
    if not left or not right or not _is_of_word(left) or not _is_of_word(right):
        return False
    if _UNSPACED.match(left) or _UNSPACED.match(right):
        return False
    return bool(_HANGUL.match(left)) == bool(_HANGUL.match(right))


def _is_of_word(character: str) -> bool:
    return unicodedata.category(character)[0] in "LMN"
