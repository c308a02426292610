"""Relations told by a sentence: ownership, actions, places and company.

What is said in passing ("my sister Anna") holds in a question, too; what is told does only where it is told as
it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from models.graph import SELF_ROLE, EntityType, Mention
from processors.extraction.graph import patterns
from processors.extraction.graph.names import day_of, may_name, name_of, names_of, person_of
from processors.extraction.graph.roles import OWN, PET_PLURALS, PETS, PLURALS, ROLES, may_be
from processors.extraction.graph.wordings import (
    ASKS,
    DENIED,
    ENDED,
    FICTION,
    PARTS,
    PET_OF,
    UNSURE,
    WORDINGS,
    Wording,
)
from processors.text.sentences import sentence_spans

#: Characters of a sentence that is read.
SENTENCE_LIMIT = 500

SELF = Mention(EntityType.PERSON, role=SELF_ROLE)

_QUOTED = re.compile(r"\"[^\"]*\"|“[^”]*”|`[^`]*`")
#: The same in a whole message, where a mark without its other half must not reach far.
_QUOTED_IN_LINE = re.compile(r"\"[^\"\n]{1,1000}\"|“[^”\n]{1,1000}”|`[^`\n]{1,1000}`")


class ToldRelation(NamedTuple):
    subject: Mention
    relation: str
    object: Mention
    quote: str
    ended: bool = False


class _Part(NamedTuple):
    """A part of a sentence, and how it is told."""

    text: str
    ended: bool
    sure: bool


class Reader:
    """Reads one message; ``before``: whoever read the person's message before."""

    def __init__(self, before: Reader | None) -> None:
        self._before = before.spoken_of if before else []
        self.spoken_of: list[Mention] = []
        #: What pet of the speaker "it" is.
        self.pet: str = before.pet if before and not self._before else ""

    def read(self, text: str) -> Iterator[ToldRelation]:
        # Before it is parted: what is quoted may be several sentences, and only the first has the mark.
        told = _QUOTED_IN_LINE.sub(_blank, text)
        for start, end in sentence_spans(told):
            if end - start <= SENTENCE_LIMIT:
                yield from self._sentence(told[start:end], text[start:end])

    def _sentence(self, told: str, sentence: str) -> Iterator[ToldRelation]:
        told = _QUOTED.sub(_unquoted, told)
        if FICTION.search(told):
            return
        has_names = may_name(told)
        for pattern in patterns.PASSING if has_names else ():
            for match in pattern.finditer(told):
                yield from self._tie(match, sentence)
        yield from self._roles(told, sentence)
        if has_names:
            yield from self._told(told, sentence)

    def _told(self, told: str, sentence: str) -> Iterator[ToldRelation]:
        for match in patterns.CALLED.finditer(told):
            yield from self._named(match, sentence)
        for part in _parts(told):
            if not part.sure:
                continue
            for pattern in patterns.TOLD:
                for match in pattern.finditer(part.text):
                    yield from self._tie(match, sentence)
            yield from self._verbs(part, sentence)
            for match in patterns.BIRTHDAY.finditer(part.text):
                who, day = self._subject(match), day_of(match["date"])
                if who is not None and day:
                    yield ToldRelation(who, match["day"].split()[-1], Mention(EntityType.DATE, day), sentence)

    # -- what somebody is to somebody ------------------------------------------------------------------------

    def _tie(self, match: re.Match[str], sentence: str) -> Iterator[ToldRelation]:
        owner = self._owner(match)
        if owner is None:
            return
        found = match.groupdict()
        several = found.get("roles")
        names = names_of(match["name"]) if several else [match["name"]]
        for written in names:
            thing, relation = _whose(several or match["role"], written, owner)
            if thing is None or thing == owner:
                continue
            if thing.type is EntityType.PERSON:
                self._note(thing)
            yield ToldRelation(owner, relation, thing, sentence, bool(found.get("ex")))

    def _owner(self, match: re.Match[str]) -> Mention | None:
        found = match.groupdict()
        if found.get("ownerrole"):
            name = person_of(found.get("ownernamed") or "")
            return Mention(EntityType.PERSON, name, ROLES[found["ownerrole"]])
        if found.get("owner"):
            name = person_of(found["owner"])
            return Mention(EntityType.PERSON, name) if name else None
        if found.get("pronoun"):
            return self._meant({"her": "she", "his": "he"}[found["pronoun"].lower()])
        return SELF

    def _roles(self, told: str, sentence: str) -> Iterator[ToldRelation]:
        """Yield who was spoken of by what they are alone, and remember them: a pronoun may stand for them."""
        for match in patterns.ALONE.finditer(told):
            person = Mention(EntityType.PERSON, role=ROLES[match["role"]])
            if all(each.role != person.role for each in self.spoken_of):
                self._note(person)
                if match["role"] in OWN:
                    yield ToldRelation(SELF, person.role, person, sentence, match["ex"] is not None)
        for match in patterns.PET_ALONE.finditer(told):
            self.pet = PETS.get(match["pet"]) or PET_PLURALS[match["pet"]]
            if match["my"] and match["pet"] in PETS:
                yield ToldRelation(SELF, PET_OF, Mention(EntityType.PET, role=self.pet), sentence)

    def _named(self, match: re.Match[str], sentence: str) -> Iterator[ToldRelation]:
        """Yield how somebody who was spoken of is called, or a pet that was, if nobody else was."""
        pronoun = (match["pronoun"] or match["named"] or match["is"] or match["their"]).lower()
        who = self._meant({"her": "she", "his": "he", "him": "he"}.get(pronoun, pronoun))
        names = names_of(match["name"]) if match["their"] else [name_of(match["name"])]
        if self.pet and (who is None or pronoun in ("it", "its", "their")):
            for name in filter(None, names):
                yield ToldRelation(SELF, PET_OF, Mention(EntityType.PET, name, self.pet), sentence)
        elif who is not None and who.role and not (who.name or self.pet or match["their"]):
            for name in filter(None, [person_of(match["name"])]):
                yield ToldRelation(SELF, who.role, Mention(EntityType.PERSON, name, who.role), sentence)

    # -- what somebody does ----------------------------------------------------------------------------------

    def _verbs(self, part: _Part, sentence: str) -> Iterator[ToldRelation]:
        last: list[Mention] = []
        for match in patterns.VERBS.finditer(part.text):
            wording = next(each for number, each in enumerate(WORDINGS) if match[f"v{number}"])
            thing = _thing(match["thing"], wording.type)
            who = self._subjects(
                part.text[: match.start()].rstrip("'’ "), part.text, match.start(), wording, last
            )
            last = who
            if thing is None:
                continue
            for each in who:
                if each != thing:
                    yield ToldRelation(each, wording.relation, thing, sentence, part.ended or wording.over)
            if who and thing.type is EntityType.PERSON:
                self._note(thing)

    def _subjects(
        self, before: str, text: str, start: int, wording: Wording, last: list[Mention]
    ) -> list[Mention]:
        match = patterns.SUBJECT.search(text[:start])
        if match is not None:
            who = self._subject(match)
            if who is None:
                return []
            return [who, SELF] if match["andself"] and who != SELF else [who]
        if wording.elided and patterns.ELIDED.match(before):
            return [SELF]
        return last if last and patterns.GOES_ON.search(text[:start]) else []

    def _subject(self, match: re.Match[str]) -> Mention | None:
        """Return of whom a sentence speaks; ``None`` if it could be two, or nobody."""
        found = match.groupdict()
        if found.get("self"):
            return SELF
        role = found.get("role") or found.get("role2")
        if role:
            written = found.get("rolename") or ""
            name = person_of(written)
            return Mention(EntityType.PERSON, name, ROLES[role]) if name or not written else None
        if found.get("pronoun"):
            pronoun = found["pronoun"].lower()
            return self._meant({"her": "she", "his": "he"}.get(pronoun, pronoun))
        name = person_of(found.get("name") or "")
        return Mention(EntityType.PERSON, name) if name else None

    def _meant(self, pronoun: str) -> Mention | None:
        for people in (self.spoken_of, self._before):
            meant = [each for each in people if may_be(each.role, pronoun)]
            if meant:
                return meant[0] if len(meant) == 1 else None
        return None

    def _note(self, person: Mention) -> None:
        if person not in self.spoken_of:
            self.spoken_of.append(person)


def _parts(told: str) -> Iterator[_Part]:
    """Yield the parts of a sentence; behind one that is not told as it is, none is."""
    pieces, sure = PARTS.split(patterns.TOGETHER.sub(r"\1 & I", told)), True
    asks = told.rstrip().endswith("?")
    for number, text in enumerate(pieces):
        ended = ENDED.search(text) is not None
        sure = sure and not (asks and (number == len(pieces) - 1 or ASKS.match(text)))
        sure = sure and not UNSURE.search(text)
        yield _Part(text, ended, sure and (ended or not DENIED.search(text)))


def _blank(match: re.Match[str]) -> str:
    """Blank out what is quoted, character for character, but for a name and the stop that ends it."""
    if _unquoted(match) != " ":
        return match[0]
    stop = match[0][-2]
    return f"{' ' * (len(match[0]) - 2)}{stop if stop in '.!?' else ' '} "


def _unquoted(match: re.Match[str]) -> str:
    """Return the text without quotations of others; but a name may be quoted: 'a dog called "Rex"'."""
    inner = match[0][1:-1]
    is_called = match.string[max(0, match.start() - 7) : match.start()].endswith(("called ", "named "))
    return inner if is_called and name_of(inner) == inner else " "


def _whose(word: str, written: str, owner: Mention) -> tuple[Mention | None, str]:
    """Return the entity that belongs to somebody, and its relation to the speaker."""
    kind = PETS.get(word) or PET_PLURALS.get(word)
    if kind is not None:
        name, relation = name_of(written), PET_OF
    else:
        kind = relation = ROLES.get(word) or PLURALS[word]
        name = person_of(written)
    if not name:
        return None, relation
    of = EntityType.PET if relation == PET_OF else EntityType.PERSON
    return Mention(of, name, kind if owner == SELF else ""), relation


def _thing(written: str, of: EntityType) -> Mention | None:
    """Return the end of a relation; "works at Anna's" names none."""
    if of is EntityType.PERSON:
        name = person_of(written)
    else:
        name = "" if re.search(r"['’]s?$", written) else name_of(written)
    return Mention(of, name) if name else None
