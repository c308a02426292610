"""References in a question ("she", "there", "the concert"), looked up in turns, then in memory."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import NamedTuple

from models.understanding import Reference
from processors.retrieval.understanding import words
from processors.retrieval.understanding.words import Kind
from processors.text.languages import FUNCTION_WORDS, language_of, words_in

#: Turns that are looked at, meanings that are offered, content words beside a word that is often empty, and
#: words of a turn that names two: of a longer one it is not known what it is about.
_RECENT, _MOST, _FEW, _SHORT = 6, 3, 1, 25

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


class Mention(NamedTuple):
    """Something mentioned, as it is told back to who said it; ``firm``: it is certainly of its kind."""

    label: str
    kind: Kind
    firm: bool


def mentions(text: str, wanted: Kind) -> list[Mention]:
    """Return the mentions in a text that a word of a kind can stand for, each once."""
    text, found = text[-2000:], dict[str, Mention]()
    for each in (*_people(text), *_names(text), *_things(text)):
        if each.kind in words.FITS.get(wanted, (wanted,)):
            found.setdefault(each.label, each)
    return [*found.values()]


def _people(text: str) -> Iterator[Mention]:
    called = [match for match in words.CALLED.finditer(text) if match["name"].lower() not in words.NO_NAMES]
    ends = {match.end() for match in called}
    for match in (*called, *words.KIN.finditer(text)):
        part = match.groupdict()
        name = "" if (part["name"] or "").lower() in words.NO_NAMES else part["name"] or ""
        kind = next((each for each in Kind if part.get(each.name.lower())), Kind.PERSON)
        owner, space, rest = match[0].removesuffix(part["name"] or "").rstrip(" ,").partition(" ")
        if name or match.end() not in ends:
            yield Mention(name or f"{words.TURNED.get(owner.lower(), owner)}{space}{rest}", kind, firm=True)


def _names(text: str) -> Iterator[Mention]:
    near, end = "", -1
    for match in words.NAME.finditer(text):
        before, name = (match["before"] or "").lower(), match["name"]
        if name.split()[0].lower() in words.NO_NAMES:
            name = name.partition(" ")[2]
        if not name or name.lower() in words.NO_NAMES:
            continue
        # "In Leeds and York": what stands beside a place is one.
        near = near if before in ("and", "or", "und", "y", "et") and match.start() - end <= 1 else before
        end = match.end()
        is_first = not text[: match.start()].strip() or text[: match.start()].rstrip()[-1] in ".!?…:"
        if is_first and not before and not words.DOES.match(text, end):
            continue  # "Very well, thank you."
        if near in words.NEAR:
            yield Mention(name, Kind.PLACE, firm=near not in ("from", "aus", "de", "left"))
        if near not in words.NEAR or near in ("to", "from", "de", "a", "à"):
            yield Mention(name, Kind.PERSON, firm=False)


def _things(text: str) -> Iterator[Mention]:
    for match in words.THING.finditer(text):
        first, _, second = match["thing"].partition(" ")
        if first not in words.NO_THINGS and not words.KIN.match(text, match.start()):
            ends = not second or second in words.NO_THINGS or second.endswith(("ed", "ing", "ly"))
            yield Mention(f"the {first if ends else match['thing']}", Kind.THING, firm=True)


class Found(NamedTuple):
    """A reference, what it stands for, and where it stands in the message."""

    reference: Reference
    kind: Kind
    begin: int
    end: int


def references(query: str, asked: slice, turns: Sequence[str], remembered: Sequence[str]) -> list[Found]:
    """Return the references of the question within a message; ``turns``: oldest first."""
    language = language_of(query[asked])
    at = asked.start, asked.stop
    found = [_occasion(match, turns, remembered) for match in words.OCCASION.finditer(query, *at)]
    content = [each for each in words_in(query[asked]) if each not in FUNCTION_WORDS[language]]
    empty = [match.span() for match in words.EMPTY.finditer(query)]
    for match in words.FOUND[language].finditer(query, *at) if language in words.FOUND else ():
        word, kind = match[0].lower(), words.KINDS[language][match[0].lower()]
        is_empty = match[0] == "Sie" or any(begin <= match.start() < end for begin, end in empty)
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
    if mentions(before, kind) or _NAMED.search(before):
        return True
    if match[0].lower() not in words.PERSONAL:
        return _DEFINITE.search(before) is not None
    # "Before she died, what did Marie Curie find?"  In German every noun has a capital.
    return language != "de" and any(each.lower() not in words.NO_NAMES for each in _CAPITALS.findall(query))


def _meant(word: str, kind: Kind, turns: Sequence[str], remembered: Sequence[str]) -> tuple[str, ...] | None:
    """Return the best meanings, one or equally good ones, or none; ``None``: it cannot be told."""
    recent = [(text, mentions(text, kind)) for text in turns[-_RECENT:]]
    for text, mentioned in reversed(recent):
        if mentioned:
            return _best(mentioned, [each for _, each in recent], text)
    said = words_in(" ".join(text for text, _ in recent))
    if word in said or (len(said) > 1 and kind not in (Kind.WOMAN, Kind.MAN, Kind.PLACE)):
        return None  # such as a name in lower case, or all that was said
    known = [each for text in remembered for each in mentions(text, kind)]
    best = [each for each in known if each.kind is kind] or [each for each in known if each.firm] or known
    return tuple(dict.fromkeys(each.label for each in best))[:_MOST]


def _best(mentioned: list[Mention], recent: list[list[Mention]], text: str) -> tuple[str, ...] | None:
    """Return the topics mentioned most in the latest turn; several if they are equal."""
    firm = [each for each in mentioned if each.firm] or mentioned
    times = {each.label: sum(any(each.label == m.label for m in turn) for turn in recent) for each in firm}
    best = [label for label, count in times.items() if count == max(times.values())]
    if firm[0].kind is Kind.THING:
        are_equal = len(best) == 2 and re.search(r"\b(?:and|or) (?:a|an|the|my) ", text) is not None
    else:
        are_equal = firm[0].firm or (len(best) == 2 and len(text.split()) < _SHORT)
    return tuple(best[: -_MOST - 1 : -1]) if len(best) == 1 or are_equal else None


def _occasion(match: re.Match[str], turns: Sequence[str], remembered: Sequence[str]) -> Found:
    """Return the event that "the concert" refers to; two known ones differ in the word before it."""
    noun, meant = re.compile(rf"(?:\b(\w+) )?\w*{match['noun']}\b", re.I), {match["words"]: None}
    if not any(noun.search(text) for text in turns):
        known = [each for text in remembered for each in noun.finditer(text)]
        others = [each[0] for each in known if each[1] and each[1].lower() not in FUNCTION_WORDS["en"]]
        meant = dict.fromkeys(f"the {each[0]}" if each[0] in others else match["words"] for each in known)
    return Found(Reference(match["words"], tuple(meant)[:_MOST]), Kind.THING, *match.span("words"))


def names(asked: str, remembered: Sequence[str], days: Sequence[str] = ()) -> list[Reference]:
    """Return the names in a question that a remembered statement knows, with the best such one and its day."""
    found, told = [], [*zip_longest(remembered, days, fillvalue="")]
    for name in dict.fromkeys(re.findall(r"(?i:(?<=who is )|(?<=who's ))[^\W\d_]{3,}|\b[A-ZÀ-Þ][\w-]+", asked)):
        known = [
            f"{text} ({day})" if day else text
            for text, day in told
            if re.search(rf"\b{re.escape(name)}\b", text, re.I)
        ]
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
        elif each.reference.words in ("her", "his", "their", "its") and re.match(r"\s+[a-z]", rest):
            meant = f"{meant}'s"
        elif before.endswith(("qu'", "qu’")) and meant[0].lower() not in "aeiouyhéèê":
            before = f"{before[:-1]}e "
        query = f"{before}{meant}{rest}"
    return query
