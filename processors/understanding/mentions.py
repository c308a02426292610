"""What a text mentions that a word of a later question can stand for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from processors.understanding import words
from processors.understanding.words import Kind

_TURNED = {
    "my": "your",
    "our": "your",
    "mein": "dein",
    "meine": "deine",
    "mi": "tu",
    "mon": "ton",
    "ma": "ta",
    "mes": "tes",
}


class Mention(NamedTuple):
    """Something mentioned, as it is told back to who said it; ``firm``: it is certainly of its kind."""

    label: str
    kind: Kind
    firm: bool


def mentions(text: str) -> list[Mention]:
    """Return what a text mentions, each once."""
    people = list(_people(text))
    named = {each.label for each in people}
    return list(
        dict.fromkeys((*people, *(each for each in _names(text) if each.label not in named), *_things(text)))
    )


def fits(kind: Kind, wanted: Kind) -> bool:
    """Say whether a mention of a kind can be meant by a pronoun."""
    people = (Kind.WOMAN, Kind.MAN)
    return (
        kind is wanted
        or (kind is Kind.PERSON and wanted in people)
        or (wanted is Kind.ANY and kind in (*people, Kind.PERSON))
    )


def _people(text: str) -> Iterator[Mention]:
    called = list(words.CALLED.finditer(text))
    ends = {match.end() for match in called}
    for match in (*called, *words.KIN.finditer(text)):
        part = match.groupdict()
        name = "" if (part["name"] or "").lower() in words.NO_NAMES else part["name"] or ""
        kind = next(
            (kind for kind in (Kind.WOMAN, Kind.MAN, Kind.SEVERAL) if part.get(kind.name.lower())), _of(name)
        )
        owner, space, rest = match[0].removesuffix(part["name"] or "").rstrip(" ,").partition(" ")
        if name or match.end() not in ends:
            yield Mention(name or f"{_TURNED.get(owner.lower(), owner.lower())}{space}{rest}", kind, firm=True)


def _of(name: str) -> Kind:
    """Return whose name it may be."""
    first = name.lower().partition(" ")[0]
    return Kind.WOMAN if first in words.WOMENS_NAMES else Kind.MAN if first in words.MENS_NAMES else Kind.PERSON


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
        end, kind = match.end(), _of(name)
        if near in words.NEAR and kind is Kind.PERSON:
            yield Mention(name, Kind.PLACE, firm=near not in ("from", "aus", "de", "left"))
        if near not in words.NEAR or near in ("to", "from", "de", "a", "à") or kind is not Kind.PERSON:
            yield Mention(name, kind, firm=kind is not Kind.PERSON)


def _things(text: str) -> Iterator[Mention]:
    for match in words.THING.finditer(text):
        first, _, second = match["thing"].partition(" ")
        if first not in words.NO_THINGS and not words.KIN.match(text, match.start()):
            ends = not second or second in words.NO_THINGS or second.endswith(("ed", "ing", "ly"))
            yield Mention(f"the {first if ends else match['thing']}", Kind.THING, firm=True)
