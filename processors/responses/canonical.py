"""The words of a text, exactly, but for what changes nothing when it is said again.

Harmless are white space, Markdown's emphasis, quotation marks, the closing stop, contractions ("cannot", "can
not", "can't"), thousands separators (1,000 and 1000), a leading "As I said," and the case of the first letter.
Everything else carries meaning and is compared as written: numbers, units and their case, symbols, single
letters, names, negation, tense, a comma.  A text without spaces between its words is compared character by
character.

Of a text that still grows all words but the last are certain (:class:`Beginning`).
"""

from __future__ import annotations

import re
from functools import lru_cache

#: Scripts that put no space between words: Thai, Lao, Myanmar, Khmer, kana, ideographs.
UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u31f0-\u31ff\u3400-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003ffff"
)

_QUOTES = re.compile(r"[\"“”„«»‹›]|(?<!\w)['‘’]+|['‘’]+(?!\w)")
_EMPHASIS = re.compile(r"(?<![\w*])\*+(?=[^\s*])|(?<=[^\s*])\*+(?![\w*])|(?<!\w)~~(?=\S)|(?<=\S)~~(?!\w)")
_TOKEN = re.compile(
    rf"[{UNSPACED}]|\d+(?:[.,:]\d+)*|(?:(?![{UNSPACED}\d])\w)+(?:['’](?:(?![{UNSPACED}])\w)+)*|\S"
)
#: Where there is none of these, a text is split into its words as they are.
_MAY_EXPAND = re.compile(r"['’,]|annot")
_MAY_BE_EMPHASIS = re.compile(r"[*~]")
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_STOPS = frozenset(".!…。！｡")
_ENDINGS = {"'re": "are", "'ve": "have", "'ll": "will", "'m": "am"}

#: Ways to begin that only say that something is said again, canonically.
_LEADS = tuple(
    f"{words} , "
    for words in (
        *("again", "once again", "to repeat", "to reiterate"),
        *(f"as {who} {verb}{when}"
          for who in ("i", "i have", "i already", "i have already", "we", "we have")
          for verb in ("said", "mentioned", "noted", "explained", "stated")
          for when in ("", " before", " earlier", " above", " previously", " already")),
    )
)  # fmt: skip
_LEAD = re.compile("|".join(_LEADS), re.IGNORECASE)
_LEAD_LETTERS = tuple("aotAOT")
_LEAD_BEGINNINGS = frozenset(lead[:end] for lead in _LEADS for end in range(len(lead) + 1))

_OPEN_WORD = re.compile(rf"(?:(?![{UNSPACED}])\S)*\Z")
_UNSPACED = re.compile(f"[{UNSPACED}]")
_IDEOGRAPH = re.compile("[\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_LETTERS = re.compile(r"[^\W\d_]+")


@lru_cache(maxsize=8192)
def canonical(text: str) -> str:
    """Return the canonical form of ``text``: its words, parted by single spaces."""
    return _without_lead(_without_stop(_words(text)))


class Beginning:
    """The beginning of a text that still grows, to be compared with texts that it may repeat."""

    def __init__(self, text: str) -> None:
        found = _OPEN_WORD.search(text)
        at = found.start() if found else len(text)
        words = _words(text[:at])
        certain = "".join([f"{word} " for word in words])
        # Letters begin a word, whatever follows them ("Note:*"): what need not wait never waits again.
        letters = _LETTERS.match(_QUOTES.sub("", text[at:]).lstrip("*~"))
        self._open = letters[0] if letters else ""
        self._lead = (certain + self._open).lower() in _LEAD_BEGINNINGS
        self._certain = _without_lead(certain)
        if not self._certain:
            self._open = self._open[:1].lower() + self._open[1:]
        self._stopped = _without_lead(_without_stop(words))
        #: What every text begins with that it may become, if that is certain; else "".
        self.initial = "" if self._lead else self._certain[:1]

    def may_become(self, said: str) -> bool:
        """Say whether a text that begins so may be ``said``, canonically.  Never wrongly says no."""
        if self._lead or self._stopped == said:
            return True
        if not said.startswith(self._certain):
            return False
        # The open word may become the next one, or begin with it ("can", "cannot").
        following = said[len(self._certain) :].partition(" ")[0]
        return (
            not _LETTERS.fullmatch(following)
            or following.startswith(self._open)
            or self._open.startswith(following)
        )


def count_words(said: str) -> int:
    """Return how many words a canonical text has.

    A script without spaces has one for two characters.  Six ideographs say what five words do.
    """
    wide, ideographs = len(_UNSPACED.findall(said)), len(_IDEOGRAPH.findall(said))
    spaced = sum(any(map(str.isalnum, word)) for word in said.split(" ")) - wide
    return spaced + (3 * (wide - ideographs) + 5 * ideographs) // 6


def _words(text: str) -> list[str]:
    plain = _QUOTES.sub("", text)
    found: list[str] = _TOKEN.findall(_EMPHASIS.sub("", plain) if _MAY_BE_EMPHASIS.search(plain) else plain)
    if _MAY_EXPAND.search(plain) is None:
        return found
    return [part for word in found for part in _expanded(word)]


def _expanded(word: str) -> list[str]:
    if word[0].isdigit():
        return [word.replace(",", "")] if _THOUSANDS.fullmatch(word) else [word]
    if word in ("cannot", "Cannot"):
        return [word[:3], "not"]
    if "'" not in word and "’" not in word:
        return [word]
    plain = word.replace("’", "'")
    if plain.endswith("n't"):
        base = plain[:-3]
        return ["can" if base == "ca" else "Can" if base == "Ca" else base, "not"]
    head, mark, tail = plain.rpartition("'")
    ending = _ENDINGS.get(mark + tail)
    return [head, ending] if ending else [plain]


def _without_stop(words: list[str]) -> str:
    end = len(words)
    while end and words[end - 1] in _STOPS:
        end -= 1
    return " ".join(words[:end])


def _without_lead(words: str) -> str:
    if words[:1] in _LEAD_LETTERS and (lead := _LEAD.match(words)):
        words = words[lead.end() :]
    return words[:1].lower() + words[1:]
