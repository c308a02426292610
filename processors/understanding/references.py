"""What "she", "there" or "the concert" in a question stands for: looked up in turns, then in memory."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from models.understanding import Reference
from processors.understanding import words
from processors.understanding.mentions import Mention, fits, mentions
from processors.understanding.words import Kind

#: Turns that are looked at, meanings that are offered, and content words beside a word that is often empty.
_RECENT, _MOST, _FEW = 6, 3, 1
#: Words of a turn in which two names are told apart; in a longer one its subject is not known.
_SHORT = 25

#: "A teacher and her class", "why do cats purr when they ...": the question itself names what is meant.
_NAMED = re.compile(
    r"\bwho (?!is|was|are|were|do|does|did|has|had|can|will|would|should)\w+ "
    r"|\b(?:a|an|every|each|some|which|eine?|une?|una?|cada|chaque) \w+|\b(?!does|this)[a-z]{3,}[^s\W]s\b",
    re.I,
)
_DEFINITE = re.compile(r"\b(?:the|my|your|our) [a-z]+|\w [A-Z][a-z]")
_IN = re.compile(r"\b(?:in|at|to|from|near|en|à|nach) [a-z]+", re.I)
_CAPITALS = re.compile(r"(?<!^)(?<![.?!] )\b[A-ZÀ-Þ][a-zà-ÿ]+|^[A-ZÀ-Þ][a-zà-ÿ]+(?= [a-z]+ed\b| is\b)")
_MOVES = re.compile(r"\b(?:get|getting|go|going|come|travel|fly|drive|move|moving|walk)\s+$", re.I)


class Found(NamedTuple):
    """A reference, what it stands for, and where it stands in the message."""

    reference: Reference
    kind: Kind
    begin: int
    end: int

    @property
    def is_open(self) -> bool:
        """Whether it has no meaning, or several."""
        return len(self.reference.meanings) != 1


def references(query: str, asked: slice, turns: Sequence[str], remembered: Sequence[str]) -> list[Found]:
    """Return what the question that is a part of a message refers to; ``turns``: oldest first."""
    language = words.language_of(query[asked])
    found = [
        _occasion(match, turns, remembered) for match in words.OCCASION.finditer(query, asked.start, asked.stop)
    ]
    content = [each for each in words.words_of(query[asked]) if each not in words.FUNCTION_WORDS[language]]
    empty = [match.span() for match in words.EMPTY.finditer(query)]
    for match in words.FOUND[language].finditer(query, asked.start, asked.stop):
        word, kind = match[0].lower(), words.KINDS[language][match[0].lower()]
        is_empty = any(begin <= match.start() < end for begin, end in empty)
        if is_empty or kind in {each.kind for each in found} or _is_named(query, match, kind, language):
            continue  # "what does she want for her birthday": the second stands for the same
        is_vague = word not in words.PERSONAL and len(content) > _FEW + (kind is Kind.PLACE)
        meant = _meant(word, kind, turns, () if is_vague or kind is Kind.THING else remembered)
        if meant or (meant is not None and not is_vague):
            found.append(Found(Reference(word, meant), kind, *match.span()))
    return found


def _is_named(query: str, match: re.Match[str], kind: Kind, language: str) -> bool:
    """Say whether the message itself names what the word stands for."""
    before = query[: match.start()]
    if kind is Kind.PLACE:
        return _IN.search(before) is not None
    if any(fits(each.kind, kind) for each in mentions(before)) or _NAMED.search(before):
        return True
    if match[0].lower() not in words.PERSONAL:
        return _DEFINITE.search(before) is not None
    # "Before she died, what did Marie Curie find?"  In German every noun has a capital.
    return language != "de" and any(each.lower() not in words.NO_NAMES for each in _CAPITALS.findall(query))


def _meant(word: str, kind: Kind, turns: Sequence[str], remembered: Sequence[str]) -> tuple[str, ...] | None:
    """Return the best meanings, one or equally good ones, or none; ``None``: it cannot be told."""
    recent = [(text, [each for each in mentions(text) if fits(each.kind, kind)]) for text in turns[-_RECENT:]]
    for text, mentioned in reversed(recent):
        if mentioned:
            return _best(mentioned, [each for _, each in recent], text)
    said = words.words_of(" ".join(text for text, _ in recent))
    is_strict = kind in (Kind.WOMAN, Kind.MAN, Kind.PLACE)
    if word in said or (len(said) > 1 and not is_strict):
        return None  # such as a name in lower case, or all that was said
    known = [each for text in remembered for each in mentions(text) if fits(each.kind, kind)]
    best = [each for each in known if each.kind is kind] or [each for each in known if each.firm] or known
    return tuple(dict.fromkeys(each.label for each in best))[:_MOST]


def _best(
    mentioned: Sequence[Mention], recent: Sequence[Sequence[Mention]], text: str
) -> tuple[str, ...] | None:
    """Return what of the latest turn was spoken of most; several if they are equally good."""
    firm = [each for each in mentioned if each.firm] or mentioned
    times = {each.label: sum(any(each.label == m.label for m in turn) for turn in recent) for each in firm}
    best = [label for label, count in times.items() if count == max(times.values())]
    if firm[0].kind is Kind.THING:
        are_equal = len(best) == 2 and re.search(r"\b(?:and|or) (?:a|an|the|my) ", text) is not None
    else:
        are_equal = firm[0].firm or (len(best) == 2 and len(text.split()) < _SHORT)
    return tuple(best[: -_MOST - 1 : -1]) if len(best) == 1 or are_equal else None


def _occasion(match: re.Match[str], turns: Sequence[str], remembered: Sequence[str]) -> Found:
    noun = match["noun"]
    meant: dict[str, None] = {}
    for text in remembered:
        for each in re.finditer(rf"(?:\b(\w+) )?\w*{noun}\b", text, re.I):
            is_other = each[1] and each[1].lower() not in words.FUNCTION_WORDS["en"]
            meant[f"the {each[0]}" if is_other else match["words"]] = None
    if any(noun.lower() in text.lower() for text in turns):
        meant = {match["words"]: None}
    return Found(Reference(match["words"], tuple(meant)[:_MOST]), Kind.THING, *match.span("words"))


def names(asked: str, remembered: Sequence[str]) -> list[Reference]:
    """Return the names in a question that a remembered statement knows, with the best such statement."""
    found = []
    for name in dict.fromkeys(re.findall(r"(?i:(?<=who is )|(?<=who's ))[^\W\d_]{3,}|\b[A-ZÀ-Þ][\w-]+", asked)):
        known = [text for text in remembered if re.search(rf"\b{re.escape(name)}\b", text, re.I)]
        if known and name.lower() not in words.NO_NAMES:
            found.append(Reference(name, (known[0],)))
    return found


def rewritten(query: str, found: Sequence[Found], meaning: str = "") -> str:
    """Return the message with each reference's first meaning, or the one given, in its place."""
    for each in sorted(found, key=lambda each: each.begin, reverse=True):
        meant = meaning or each.reference.meanings[0]
        before, rest = query[: each.begin], query[each.end :]
        if each.reference.words == "there":
            meant = f"{'to' if _MOVES.search(before) else 'in'} {meant}"
        elif each.reference.words in words.POSSESSIVE and re.match(r"\s+[a-z]", rest):
            meant = f"{meant}'s"
        elif before.endswith(("qu'", "qu’")) and meant[0].lower() not in "aeiouyhéèê":
            before = f"{before[:-1]}e "
        query = f"{before}{meant}{rest}"
    return query
