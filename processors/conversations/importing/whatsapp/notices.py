"""Recognition of speech in an export: not WhatsApp's notices, nor placeholders of deleted messages and files.

Signs that no locale changes come first: unpaired quotation marks, direction marks, angle brackets, a file's
name before a parenthesis, a link to a map.  Words decide where there is no such sign.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import NamedTuple

from processors.conversations.importing.drafts import one_line
from processors.conversations.importing.whatsapp.words import CALLS, DELETED, WAITING, Pairs

#: iPhones and newer Android phones put this mark before what no person has typed.
_MARK = "\u200e"
_AROUND_NAMES = "\u200e\u200f\u202a\u202c\u2068\u2069~\u202f\u00a0 "
_ISOLATES = re.compile("[\u2066-\u2069]")
_QUOTES = re.compile('["“”„‟«»]')
_BRACKETS = (("「", "」"), ("『", "』"), ("《", "》"))

#: Who speaks more often is a person, whatever the name.  One that is longer, or has more words, or so many that
#: begin in lower case, is a sentence.
_SELDOM = 2
_NAME_CHARACTERS, _NAME_WORDS, _SENTENCE_WORDS = 60, 7, 3
_CASED = re.compile("[A-Za-zΑ-Ωα-ωА-Яа-я]")

#: "<Media omitted>": the whole message, or "<This message was edited>" behind it.
_PLACEHOLDER = re.compile(rf"^{_MARK}?<(?!https?:|3)(?:[^<>\n]*[^<>\n\x21-\x7e][^<>\n]*)>$")
_TRAILING = re.compile(
    rf"(?:^|\s|{_MARK})+<(?:{_MARK}?[^<>\n@/=]*[^<>\n\x21-\x7e][^<>\n@/=]*|attached: [^<>\n]*)>\Z"
)
_ATTACHED = (
    # A file's name has no spaces, or the mark before it says that it is one.
    re.compile(rf"\A{_MARK}?\S{{1,200}}\.\w{{2,5}} \([^()\n]{{3,40}}\)(?:\n|\Z)"),
    re.compile(rf"\A{_MARK}[^\n]{{1,200}}\.\w{{2,5}} (?:• |\()[^()\n]{{3,40}}\)?(?:\n|\Z)"),
    re.compile(
        r"\A[^\n]{1,200}\.\w{2,5} \((?:file attached|Datei angehängt|archivo adjunto|fichier joint"
        r"|arquivo anexado)\)(?:\n|\Z)"
    ),
)
_PLACE = re.compile(
    r"\A[^\n:：]{1,60}[:：] ?https://(?:maps\.google\.|www\.google\.\w+/maps|maps\.apple\."
    r"|goo\.gl/maps|foursquare\.)\S*\Z"
)
_POLL = re.compile(
    rf"\A{_MARK}?[^\n:：]{{2,30}}[:：]\n.*?^{_MARK}?[^\n:：]{{2,30}}[:：] .+\([^()\n]*\d[^()\n]*\)$",
    re.DOTALL | re.MULTILINE,
)

#: Longest text (characters) that may stand for a deleted message, a call, or one that has not arrived.
_STANDIN_MOST = 90


class Spoken(NamedTuple):
    """A message as it was typed: who, and what; ``reason`` and ``why`` say why it is none."""

    speaker: str
    text: str
    reason: str = ""
    why: str = ""


def candidate(rest: str) -> str:
    """Return the text at the place of a speaker's name, without marks; ``""`` if there is none."""
    name, separator, _ = rest.partition(": ")
    return one_line(name.strip(_AROUND_NAMES)) if separator and "\n" not in name else ""


def speakers(found: Mapping[str, int], given: Collection[str]) -> frozenset[str]:
    """Return the candidates that are people; ``found`` counts each, ``given`` names some."""
    return frozenset(name for name, times in found.items() if name in given or _is_name(name, times, found))


def _is_name(name: str, times: int, found: Mapping[str, int]) -> bool:
    if not name or _ISOLATES.search(name) or _is_unpaired(name):
        return False
    if times > _SELDOM:
        return True
    words = name.split()
    if len(name) > _NAME_CHARACTERS or len(words) > _NAME_WORDS:
        return False
    if sum(word.islower() for word in words[1:]) >= _SENTENCE_WORDS:
        return False
    # "Ann pinned a message: ...": a person of this chat, and what she did.
    for size in range(1, len(words)):
        is_verb = words[size].islower() or (len(words) - size > 1 and not _CASED.search(name))
        if is_verb and found.get(" ".join(words[:size]).rstrip(","), 0) >= times:
            return False
    return True


def _is_unpaired(name: str) -> bool:
    if len(_QUOTES.findall(name)) % 2:
        return True
    return any(name.count(opens) != name.count(closes) for opens, closes in _BRACKETS)


def spoken(rest: str, people: Collection[str]) -> Spoken:
    """Return the speaker and the text after the time of a message."""
    speaker = candidate(rest)
    if speaker not in people:
        return Spoken("", "", "notice", "WhatsApp says it, not a person")
    text = rest.partition(": ")[2]
    for pattern in _ATTACHED:
        if attached := pattern.match(text):
            text = text[attached.end() :]  # what is left was written under the file
            break
    bare = text.strip(_MARK + " \n.。।")
    if bare == "null" or _stands_for(bare, DELETED):
        return Spoken(speaker, "", "deleted", "it was deleted")
    if not bare or text.startswith(_MARK) or _is_placeholder(bare):
        return Spoken(speaker, "", "no_text", "it holds no text (a picture, a call, a file)")
    text = _TRAILING.sub("", text).rstrip(_MARK + " ")
    if not text.strip():
        return Spoken(speaker, "", "no_text", "it holds no text (a picture, a call, a file)")
    return Spoken(speaker, text)


def _is_placeholder(text: str) -> bool:
    if _PLACEHOLDER.match(text) or _PLACE.match(text) or _POLL.match(text):
        return True
    return _stands_for(text, CALLS) or _stands_for(text, WAITING)


def _stands_for(text: str, words: Pairs) -> bool:
    """Say whether a short line holds both words of a pair, and asks nothing."""
    if len(text) > _STANDIN_MOST or "\n" in text or text.endswith(("?", "？", "؟", "!", "！")):
        return False
    folded = text.casefold()
    return any(one in folded and other in folded for one, other in words)
