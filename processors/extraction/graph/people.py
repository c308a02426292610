"""Resolution of people: "my sister", "Anna" and "my sister Anna" are one if nobody else could be meant.

Two people with one name stay two: what is said of "Anna" alone is then of neither.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from models.graph import SELF_ROLE, EntityType, Mention


class People:
    """People by role, by name, or by both.  Keys distinguish entities."""

    def __init__(self, mentions: Iterable[Mention]) -> None:
        self._names_of_role: dict[tuple[EntityType, str], set[str]] = defaultdict(set)
        self._keys_of_name: dict[tuple[EntityType, str], set[str]] = defaultdict(set)
        #: Names of a role by what they begin with, in whole words.
        self._longer: dict[tuple[EntityType, str, str], set[str]] = defaultdict(set)
        self._keys_of_role: dict[tuple[EntityType, str], str | None] = {}
        full = {(each.type, each.role, _folded(each.name)) for each in mentions if each.role and each.name}
        for kind, role, name in full:
            self._names_of_role[kind, role].add(name)
            words = name.split(" ")
            for count in range(1, len(words)):
                self._longer[kind, role, " ".join(words[:count])].add(name)
        for kind, role, name in full:
            key = _key(kind, role, self._longest(kind, role, name))
            self._keys_of_name[kind, name].add(key)
            self._keys_of_name[kind, name.split(" ")[0]].add(key)

    def _longest(self, kind: EntityType, role: str, name: str) -> str:
        """ "Anna" of the same role is "Anna Lund" if there is one such."""
        longer = self._longer.get((kind, role, name), ())
        return next(iter(longer)) if len(longer) == 1 else name

    def key_of(self, mention: Mention) -> str | None:
        """Return the key of whom or what is meant; ``None`` if it could be two."""
        kind, role, name = mention.type, mention.role, _folded(mention.name)
        if role == SELF_ROLE:
            return _key(kind, SELF_ROLE, "")
        if role and name:
            return _key(kind, role, self._longest(kind, role, name))
        if role:
            if (kind, role) not in self._keys_of_role:
                self._keys_of_role[kind, role] = self._key_of_role(kind, role)
            return self._keys_of_role[kind, role]
        keys = self._keys_of_name.get((kind, name), set())
        if len(keys) > 1:
            return None
        return next(iter(keys)) if keys else _key(kind, "", name)

    def _key_of_role(self, kind: EntityType, role: str) -> str | None:
        names = {self._longest(kind, role, each) for each in self._names_of_role[kind, role]}
        if len(names) > 1:
            return None
        return _key(kind, role, names.pop() if names else "")


def _key(kind: EntityType, role: str, name: str) -> str:
    return f"{kind.value}/{role}/{name}"


def _folded(name: str) -> str:
    return " ".join(name.casefold().split())
