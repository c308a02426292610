"""Features of a turn for topic boundaries: its vector, its words, and how it begins and ends.

The cues are English, as the built-in embedder is; of other languages the vectors and the roles remain.
"""

from __future__ import annotations

import re

import msgspec
import numpy as np
from numpy.typing import NDArray

#: Words that any topic has, and characters of a word that are compared.
_COMMON = frozenset(
    """
    a an the i you he she it we they me my your his her its our their is are was were be been am do does did
    have has had to of in on at for with and or but so if as that this these those there here what how who
    when where why which can could would will shall should may might not no yes yeah ok okay oh well just
    very too also please thanks thank really
    """.split()  # noqa: SIM905
)
_STEM, _SHORTEST, _MOST_WORDS = 5, 3, 64

_WORD = re.compile(r"[^\W_][\w']*")
_OPENING = re.compile(
    r"(so|anyway|by the way|btw|speaking of|do you|what do you|what about|how about|hi|hello|also|i need"
    r"|i want|can you|could you|i'm looking|i am looking|where|when|what|tell me|have you|are you|okay|ok"
    r"|great|thanks|thank you|yes|no|actually)\b"
)
_ANSWERING = re.compile(r"(yes|no|yeah|sure|ok|okay|that|great|thanks|thank)\b")
_GREETING = re.compile(r"(hi|hello|hey)\b")
_REFERRING = frozenset(
    ("it", "that", "this", "they", "them", "those", "these", "he", "she", "him", "her", "there", "one")
)
_REFERRING_WITHIN = 8


class Traits(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Features of a turn.  ``vector``: of unit length, half precision; empty if it has no words.

    ``stems``: of the words that carry meaning, each once; ``words`` counts all.  ``opens``, ``answers``,
    ``greets``: it begins as turns do that begin something, answer, greet; ``refers``: to something said before;
    ``asks``, ``ends_asking``: it has a question, at its end.
    """

    turn_id: str
    by_user: bool
    vector: bytes
    stems: tuple[str, ...]
    words: int
    opens: bool
    answers: bool
    greets: bool
    refers: bool
    asks: bool
    ends_asking: bool

    def numbers(self) -> NDArray[np.float32]:
        """Return the vector, shape ``(dimensions,)``."""
        return np.frombuffer(self.vector, "<f2").astype(np.float32)


def traits_of(turn_id: str, role: str, text: str, vector: bytes) -> Traits:
    """Return the traits of a turn."""
    said = text.casefold().strip().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
    words = _WORD.findall(said)
    stems = (word[:_STEM] for word in words if len(word) >= _SHORTEST and word not in _COMMON)
    return Traits(
        turn_id,
        role == "user",
        vector,
        tuple(dict.fromkeys(stems))[:_MOST_WORDS],
        len(words),
        _OPENING.match(said) is not None,
        _ANSWERING.match(said) is not None,
        _GREETING.match(said) is not None,
        not _REFERRING.isdisjoint(words[:_REFERRING_WITHIN]),
        "?" in said,
        said.endswith("?"),
    )
