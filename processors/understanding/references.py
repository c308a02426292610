"""What "she", "it" or "there" in a question stands for, looked up in the turns before it, the latest first."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from enum import Enum, auto
from typing import NamedTuple

from models.understanding import Reference

#: Turns that are looked at.
_RECENT = 6
#: Meanings that are offered for one reference.
_MOST = 3


class Kind(Enum):
    """What a word can stand for."""

    WOMAN = auto()
    MAN = auto()
    PERSON = auto()  #: man or woman, it is not said
    SEVERAL = auto()
    THING = auto()
    PLACE = auto()


class _Pronoun(NamedTuple):
    kind: Kind
    possessive: bool


_PRONOUNS = {
    **dict.fromkeys(("she",), _Pronoun(Kind.WOMAN, possessive=False)),
    "hers": _Pronoun(Kind.WOMAN, possessive=False),
    "her": _Pronoun(Kind.WOMAN, possessive=True),
    **dict.fromkeys(("he", "him"), _Pronoun(Kind.MAN, possessive=False)),
    "his": _Pronoun(Kind.MAN, possessive=True),
    **dict.fromkeys(("they", "them"), _Pronoun(Kind.SEVERAL, possessive=False)),
    "their": _Pronoun(Kind.SEVERAL, possessive=True),
    **dict.fromkeys(("it", "that one", "this one", "the other one"), _Pronoun(Kind.THING, possessive=False)),
    "its": _Pronoun(Kind.THING, possessive=True),
    "there": _Pronoun(Kind.PLACE, possessive=False),
}
_FOUND = re.compile(rf"\b(?:{'|'.join(sorted(_PRONOUNS, key=len, reverse=True))})\b", re.I)

#: "Is it raining", "what time is it", "is there a bus", "they say": nothing is meant by it.
_MOVES = re.compile(r"\b(?:get|getting|go|going|come|travel|fly|drive|move|moving|walk)\s+$", re.I)
_BARE = r"(?:rain|snow|cold|hot|warm|time|late|early|take|possible|okay|worth)\w*"
_EMPTY = re.compile(
    r"\b(?:is|was|are|were|isn't|aren't|will|would) there\b|\bthere (?:is|are|was|were|will|a|any)\b|"
    rf"\bwhat time is it\b|\bit(?:'s| is| was| will be)? {_BARE}|\b(?:is|was|does|did|would|will) it {_BARE}|"
    r"\bthey say\b|\bit seems\b|\b(?:hi|hello|hey),? there\b",
    re.I,
)

_WOMEN = "(?:step)?(?:sister|mother|mom|mum|daughter)|wife|girlfriend|aunt|grandmother|grandma|niece|fiancée"
_MEN = "(?:step)?(?:brother|father|dad|son)|husband|boyfriend|uncle|grandfather|grandpa|nephew|fiancé"
_EITHER = "boss|friend|colleague|neighbou?r|partner|cousin|teacher|doctor|dentist|therapist|roommate|manager"
_GROUPS = "parents|children|kids|friends|colleagues|neighbou?rs|sisters|brothers|cousins|grandparents"
_KIN = re.compile(
    rf"\b(?P<owner>(?i:my|your|his|her|our|their)) (?:\w+ )?"
    rf"(?:(?P<several>{_GROUPS})|(?P<woman>{_WOMEN})|(?P<man>{_MEN})|(?P<either>{_EITHER}))\b"
    r"(?:,? (?P<name>[A-Z][\w'-]+))?"
)
_NAME = re.compile(r"(?<![.!?:] )(?<!^)\b(?P<before>[A-Za-z]+) (?P<name>[A-Z][a-zà-ÿ]+(?: [A-Z][a-zà-ÿ]+)?)\b")
#: "Anna called: what does she want?" - not "What", "Does", "Is".
_FIRST_NAME = re.compile(
    r"(?!(?:Wh\w+|How|Do|Does|Did|Is|Are|Was|Were|Has|Have|Had|Can|Could|Will|Would|Should|May|"
    r"Tell|Give|The|I|A|An|My)\b)"
    r"[A-Z][a-z]+ [a-z]"
)
_PLACE_LINES = "in at to from near around through towards leave left visit visited"
_NEAR_PLACES = frozenset(_PLACE_LINES.split())
_THING = re.compile(r"\b(?:my|the|a|an|your|this|that|our) (?P<thing>[a-z][a-z-]+(?: [a-z]+)?)\b")
_NO_THING_LINES = """
    bit lot while few couple way time day week month year thing things kind sort moment minute hour evening
    morning night afternoon weekend one other same most best first last next only idea question
"""
_NO_THINGS = frozenset(_NO_THING_LINES.split())
_NO_NAME_LINES = """
    I Monday Tuesday Wednesday Thursday Friday Saturday Sunday January February March April May June July August
    September October November December Christmas Easter English
"""
_NO_NAMES = frozenset(_NO_NAME_LINES.split())
#: What stands behind a thing without being part of its name.
_BEHIND_LINES = """
    is was are were has had have will would can could does did do for from to in on at of with and or but
    that which who when where because so then near by as if than about around after before broke fell came
    went again today yesterday tomorrow now too also i you we he she it they
"""
_BEHIND = frozenset(_BEHIND_LINES.split())


def references(question: str, turns: Sequence[str]) -> list[Reference]:
    """Return what the question refers to, in its order; one without meanings refers to nothing that was said.

    ``turns``: the texts before the question, oldest first.  People are offered by name, or as they were called
    ("your sister"); what the question itself names before the word is not looked for.
    """
    found: dict[str, Reference] = {}
    empty = [match.span() for match in _EMPTY.finditer(question)]
    for match in _FOUND.finditer(question):
        word = match[0].lower()
        if word in found or any(begin <= match.start() < end for begin, end in empty):
            continue
        kind = _PRONOUNS[word].kind
        if list(_mentioned(question[: match.start()], kind, own=True)):
            continue
        found[word] = Reference(word, tuple(_meanings(turns, kind)))
    return list(found.values())


def _meanings(turns: Sequence[str], kind: Kind) -> list[str]:
    """Return what the latest turn that mentions something of this kind mentions."""
    for text in reversed(turns[-_RECENT:]):
        if mentioned := list(dict.fromkeys(_mentioned(text, kind))):
            return mentioned[-_MOST:][::-1]
    return []


def _mentioned(text: str, kind: Kind, *, own: bool = False) -> Iterable[str]:
    if kind is Kind.THING:
        for match in _THING.finditer(text):
            thing = match["thing"]
            if thing.split()[0] not in _NO_THINGS and not _KIN.match(text, match.start()):
                yield f"the {_first_noun(thing)}"
        return
    named: set[str] = set()
    for match in _KIN.finditer(text):
        of = next(
            (
                meant
                for group, meant in (("woman", Kind.WOMAN), ("man", Kind.MAN), ("several", Kind.SEVERAL))
                if match[group]
            ),
            Kind.PERSON,
        )
        called = match["name"] or ""
        named.add(called)
        if _fits(of, kind):
            yield called if called and called not in _NO_NAMES else _turned(match[0])
    for match in _NAME.finditer(text):
        name, place = match["name"], match["before"].lower() in _NEAR_PLACES
        if name.split()[0] in _NO_NAMES or name in named:
            continue
        if (kind is Kind.PLACE) == place and kind is not Kind.SEVERAL:
            yield name
    if own and _FIRST_NAME.match(text) and kind in (Kind.WOMAN, Kind.MAN):
        yield text


def _first_noun(thing: str) -> str:
    """Return "laptop" of "laptop is": what follows an article, without the verb or preposition behind it."""
    words = thing.split()
    second = words[1] if len(words) > 1 else ""
    follows = second in _BEHIND or second.endswith(("ed", "ing", "ly"))
    return words[0] if not second or follows else thing


_BEHIND = frozenset(
    [
        "is",
        "was",
        "are",
        "were",
        "has",
        "had",
        "have",
        "will",
        "would",
        "can",
        "could",
        "does",
        "did",
        "do",
        "for",
        "from",
        "to",
        "in",
        "on",
        "at",
        "of",
        "with",
        "and",
        "or",
        "but",
        "that",
        "which",
        "who",
        "when",
        "where",
        "because",
        "so",
        "then",
        "is",
        "near",
        "by",
        "as",
        "if",
        "than",
        "about",
        "around",
        "after",
        "before",
        "broke",
        "fell",
        "came",
        "went",
        "again",
        "today",
        "yesterday",
        "tomorrow",
        "now",
        "too",
        "also",
        "i",
        "you",
        "we",
        "he",
        "she",
        "it",
        "they",
    ]
)


def _fits(of: Kind, wanted: Kind) -> bool:
    return of is wanted or (of is Kind.PERSON and wanted in (Kind.WOMAN, Kind.MAN))


def _turned(called: str) -> str:
    """Return "your sister" of "my sister": it is said back to who said it."""
    owner, _, rest = called.partition(" ")
    return f"{'your' if owner.lower() in ('my', 'our') else owner.lower()} {rest}"


def rewritten(question: str, found: Iterable[Reference]) -> str:
    """Return the question with each reference's first meaning in its place."""
    meanings = {each.words: each.meanings[0] for each in found if each.meanings}

    def instead(match: re.Match[str]) -> str:
        word = match[0].lower()
        meaning = meanings.get(word)
        if meaning is None:
            return match[0]
        possessive = _PRONOUNS[word].possessive and _before_noun(question, match.end())
        if word == "there":
            return f"{'to' if _MOVES.search(question[: match.start()]) else 'in'} {meaning}"
        return f"{meaning}'s" if possessive else meaning

    return _FOUND.sub(instead, question)


def _before_noun(question: str, end: int) -> bool:
    """Say whether a word that may be an owner follows: "her job", not "did you see her?"."""
    return re.match(r"\s+[a-z]", question[end:]) is not None
