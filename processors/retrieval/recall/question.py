"""Reading of a question: its words, and the speaker it is about."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from itertools import pairwise
from unicodedata import normalize

import msgspec

from models.messages import Role
from processors.retrieval.recall.asking import asks_for
from processors.retrieval.recall.dating import Period
from processors.retrieval.recall.framing import subject_of
from processors.text.languages import FUNCTION_WORDS, language_of
from processors.text.stemming import stem_of, without_particle

#: Longest question, in characters.
LONGEST_QUESTION = 4_000

_STOP_LINES = """
    a an and are as at be been but by can could d did do does for from had has have he her hers him his how i if
    in into is it its just ll m me my no not of on or our re s she should so some t that the their them then
    there these they this those to ve was we were what when where which who whom why will with would you your
    about also any 저 제 나 내 우리
"""
#: Words that say nothing about what is asked.
_STOP_WORDS = frozenset(_STOP_LINES.split())
#: A run of letters and digits, or one picture.
_WORD = re.compile("[^\\W_]+|[\u2190-\u2bff\u3030\U0001f000-\U0001faff]")
#: Letters of Thai, Lao, Burmese, Khmer, Japanese and Chinese, which are written without spaces between words.
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]+")
#: Words whose base forms are kept, and the longest of them, in characters.
_MOST_BASES, _LONGEST_WORD = 50_000, 40
#: Characters of the texts whose words are kept: with them 20 to 30 MB.
_MOST_CHARACTERS = 4_000_000
#: What the assistant said is asked for, or what both did.
_OF_BOTH = re.compile(
    r"\b(?:did|have|had|were) you (?:\w+ )?(?:recommend|suggest|advi[sc]|propos|g[ia]ve|sa(?:y|id)|t[eo]ld?l?\b"
    r"|expla|mention|provid|offer|describ|outlin|show|list|help)\w*"
    r"|\byour (?:advice|recommendation|suggestion|explanation|answer|reply)\w*|\bsummar(?:y|i[sz]e)\b",
    re.IGNORECASE,
)
#: With fewer words a subject says too little to stand for its question.
_LEAST_WORDS = 2

_MINE = re.compile(r"\b(?:i|me|my|mine|myself|we|us|our|ours)\b", re.I)


class InvalidQuestion(ValueError):
    """The text cannot be searched for; the message says what to do."""


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """A question that was read.

    ``query`` is the question as it was asked; ``text`` is what it is about, without the names of known speakers
    and the words that only ask: what is embedded, and compared by words.
    ``asked``: the one speaker that it names, else ``""``; ``role``: whose words answer it when it names nobody;
    ``period``: the past time that it names; ``person``: the id of whose memory is asked.
    """

    query: str
    text: str
    asked: str = ""
    role: Role | None = None
    period: Period | None = None
    person: str = ""


def cleaned(query: str) -> str:
    """Return a query without control characters and doubled spaces, full-width letters as usual ones.

    Raises:
        InvalidQuestion: nothing is left of it, or it is too long.
    """
    if len(query) > LONGEST_QUESTION:
        raise InvalidQuestion(f"the query has {len(query):,} characters: ask in {LONGEST_QUESTION:,} at most")
    folded = _WORD.sub(lambda word: normalize("NFKC", word.group()), query)
    text = "".join(" " if unicodedata.category(sign) in ("Cc", "Cs") else sign for sign in folded)
    text = " ".join(text.split())
    if not text:
        raise InvalidQuestion("the query is blank: say what you want to know, in words")
    return text


def read(
    query: str, speakers: Iterable[str] = (), *, period: Period | None = None, person: str = ""
) -> Question:
    """Return the question of a (cleaned) query.

    ``speakers`` are the names that are known, ``period`` the time that it names, ``person`` the id of whose
    memory is asked.

    A name is known by each of its words, too: "Ann" is Ann Lee.  A query of names alone keeps them.
    """
    named: dict[str, set[str]] = {}
    written: set[str] = set()
    for name in speakers:
        for part in (name, *name.split()):
            if len(part) > 1:
                named.setdefault(_folded(part), set()).add(name)
                written |= {part, _folded(part)}
    asked: set[str] = set()

    def take(match: re.Match[str]) -> str:
        said = match.group("name")
        # "will" is a word before it is a name, and so it is in front of a sentence
        if said.casefold() in _STOP_WORDS and (said.islower() or match.start() == 0):
            return match.group()
        asked.update(named[_folded(said)])
        return " "

    text = query
    if named:
        names = "|".join(re.escape(name) for name in sorted(written, key=lambda each: (-len(each), each)))
        text = " ".join(re.sub(rf"(?<!\w)(?P<name>{names})(?:['’]s)?(?!\w)", take, query, flags=re.I).split())
    subject = subject_of(text)
    if len(words_of(subject)) >= _LEAST_WORDS:
        text = subject
    elif not words_of(text):
        text = query
    # Several are asked about, or one whose name two have: no turn is preferred.
    one = next(iter(asked)) if len(asked) == 1 else ""
    role = Role.USER if not asked or (not one and _MINE.search(query)) else None
    if _OF_BOTH.search(query):
        role = None
    return Question(query=query, text=text, asked=one, role=role, period=period, person=person)


def _folded(name: str) -> str:
    """Return a name as it is looked up.  A pattern that ignores case takes all letters i for one, with and
    without the dot, which :meth:`str.casefold` distinguishes.
    """
    return name.replace("İ", "i").replace("ı", "i").casefold()


class _Bases(dict[str, str]):
    """The base forms of words that were looked up; ``""`` for those that say nothing."""

    def __missing__(self, word: str) -> str:
        base = "" if word in _STOP_WORDS else stem_of(word) if word.isascii() else without_particle(word)
        if len(word) <= _LONGEST_WORD:
            if len(self) >= _MOST_BASES:
                self.clear()
            self[word] = base
        return base


class _Texts(dict[str, tuple[str, ...]]):
    """The words of texts that were read: the next question finds many of them again."""

    def __init__(self) -> None:
        self._characters = 0

    def __missing__(self, text: str) -> tuple[str, ...]:
        words = text.translate(_ASCII).split() if text.isascii() else _split(normalize("NFKC", text).casefold())
        found = tuple([base for base in map(_bases.__getitem__, words) if base])
        self._characters += len(text)
        if self._characters > _MOST_CHARACTERS:
            self.clear()
            self._characters = len(text)
        self[text] = found
        return found


def _split(text: str) -> list[str]:
    """Return the words of a text; where no spaces part them, each letter, and each two that stand together."""
    words: list[str] = _WORD.findall(text)
    if _UNSPACED.search(text) is None:
        return words
    found = []
    for word in words:
        at = 0
        for run in _UNSPACED.finditer(word):
            letters = run.group()
            found += [word[at : run.start()], *letters, *map("".join, pairwise(letters))]
            at = run.end()
        found.append(word[at:])
    return [word for word in found if word]


#: ASCII letters in lower case, digits, and spaces for whatever else.
_ASCII = "".join(chr(sign).lower() if chr(sign).isalnum() else " " for sign in range(128))

_bases = _Bases()
_texts = _Texts()


def words_of(text: str) -> tuple[str, ...]:
    """Return the words of a text that say something, in their base form."""
    return _texts[text]


def asked_words(query: str) -> tuple[str, ...]:
    """Return the words of a query that say what it is about: without those of its language that only ask; all
    of them if it has no others.
    """
    words, empty = words_of(query), _FUNCTION_WORDS[language_of(query)]
    return tuple([word for word in words if word not in empty]) or words


def says_nothing(question: Question) -> bool:
    """Return whether a question has only words that ask, and asks for no name, time, number or place."""
    query = question.query
    language = language_of(query)
    empty = frozenset[str]() if language == "en" else _FUNCTION_WORDS[language]
    return not question.asked and empty.issuperset(words_of(query)) and not asks_for(query)


_FUNCTION_WORDS = {
    language: frozenset(words_of(" ".join(sorted(found)))) for language, found in FUNCTION_WORDS.items()
}
