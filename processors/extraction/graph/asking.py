"""Entities and relations in a question: whom it names, and which relations it asks for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from models.graph import Entity, EntityType
from processors.extraction.graph.resolving import SELF_NAME
from processors.extraction.graph.roles import ROLES

_WORD = re.compile(r"[^\W_]+(?:-[^\W_]+)*")

#: With which words is asked for a relation.
_ASKED = {
    **{role: f"{role} {role}s" for role in ROLES.values()},
    "pet": "pet pets animal animals",
    "visited": "visit visits visited visiting travel travels travelled traveled trip trips vacation vacations "
    "country countries city cities places",
    "lives_in": "live lives lived move moved relocate relocated",
    "works_at": "work works worked job jobs employer company",
    "studies_at": "study studies studied university college degree graduate graduated",
    "volunteers_at": "volunteer volunteers volunteered volunteering",
    "member_of": "member join joined club",
    "born_in": "born hometown",
    "grew_up_in": "grew grow childhood hometown",
    "met": "met meet meets",
    "met_at": "met meet",
    "birthday": "birthday",
    "anniversary": "anniversary",
    "married_to": "married marry spouse",
    "engaged_to": "engaged",
    "dating": "dating",
    "child": "child children kid kids",
    "sister": "sister sisters sibling siblings",
    "brother": "brother brothers sibling siblings",
    "mother": "mother mom mum parents",
    "father": "father dad parents",
}


def _by_word() -> Mapping[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for relation, words in _ASKED.items():
        for word in words.split():
            found.setdefault(word, set()).add(relation)
    return MappingProxyType({word: frozenset(relations) for word, relations in found.items()})


_RELATIONS = _by_word()


def relations_of(question: str) -> frozenset[str]:
    """Return the relations that a question asks for."""
    none: frozenset[str] = frozenset()
    return none.union(*(_RELATIONS.get(word.casefold(), none) for word in _WORD.findall(question)))


def is_named(entity: Entity, question: str) -> bool:
    """Return whether a question contains an entity's whole name or alias; of a person, the first name."""
    if entity.name == SELF_NAME:
        return False
    words = _words(question)
    ways = [entity.name, *entity.aliases, *([entity.role] if entity.role else [])]
    if entity.type is EntityType.PERSON:
        ways += [way.split(" ")[0] for way in (entity.name, *entity.aliases) if not way.startswith("my ")]
    return any(parts and parts <= words for parts in (_words(way) - {"my"} for way in ways))


def _words(text: str) -> set[str]:
    return {part.casefold() for word in _WORD.findall(text) for part in (word, *word.split("-"))}
