"""Kinds of indexes: one :class:`Kind` for each index.

To have another kind indexed: its struct, a filter in :mod:`models.ports`, and here::

    TURNS = Kind(
        name="turns",                      # its folder, and its collection on a server
        type=Turn,
        id_field="turn_id",                # a uuid
        text_field="text",                 # found by its words
        keywords=("tenant_id", "conversation_id", "role"),
        times=("sent_at",),
        filled_from="memory.turns.v1",
    )
    index = open_index(settings, TURNS, space)       # a SearchIndex[Turn, TurnFilter]

and, for its vectors, its name among the indexes of :mod:`streams.agents.recall.vectors`.  Every field that a
filter names must be among ``keywords``, ``numbers`` or ``times``; a field of a struct within is
``"statement.kind"``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, TypeVar

import msgspec

from models.episodes import Episode
from models.errors import ConsistencyError, InvalidRecord
from models.facts import Fact
from models.graph import Entity, Relation
from models.statements import Kind as StatementKind
from models.turns import Turn, metadata_label
from processors.facts.confidence import RATES, active_until, passive_until
from streams.stores.qdrant_payload import OWNER_FIELD, VERSION_FIELD, is_point_id

Item = TypeVar("Item", bound=msgspec.Struct)

#: When a thing came, by the log's clock: what its topic counts by how long it is kept.
ARRIVED = "arrived_at"


@dataclass(frozen=True)
class Kind(Generic[Item]):
    """How one kind of item is stored and found.

    An item has ``user_id``, whose it is.  Its ``version``, if it has one, is a number that grows with each
    change; where there is ``newest_by``, it is the time in that field (:func:`version_at`): what comes again
    under its id is newer than its erasure.  An item without either never changes.  ``keywords`` are compared as
    a whole, ``numbers`` and ``times`` by range.  ``derived``: what is stored besides the item's own fields, to
    be searched by.
    """

    name: str
    type: type[Item]
    id_field: str
    text_field: str
    filled_from: str
    keywords: tuple[str, ...] = ("tenant_id",)
    numbers: tuple[str, ...] = ()
    times: tuple[str, ...] = ()
    derived: Callable[[Item], dict[str, Any]] | None = None
    newest_by: str = ""

    def id_of(self, item: Item) -> str:
        """Return the id of an item's point."""
        found: str = getattr(item, self.id_field)
        return found

    def version_of(self, item: Item) -> int:
        """Return an item's version; 1 if it has none."""
        if self.newest_by:
            return version_at(getattr(item, self.newest_by))
        found: int = getattr(item, VERSION_FIELD, 1)
        return found

    def to_payload(self, item: Item) -> dict[str, Any]:
        """Return the item as JSON values: times as RFC 3339 text, enumerations as their values."""
        payload: dict[str, Any] = msgspec.to_builtins(item)
        if self.derived is not None:
            payload |= self.derived(item)
        return payload | {VERSION_FIELD: self.version_of(item)}

    def from_payload(self, payload: Mapping[str, Any] | None) -> Item:
        """Return the item that :meth:`to_payload` wrote.

        Raises :class:`ConsistencyError` for a payload that is none: somebody else writes there.
        """
        try:
            return msgspec.convert(payload, self.type)
        except msgspec.ValidationError as error:
            raise ConsistencyError(
                f"the index of {self.name} holds a point that is none of this version ({error}). Give "
                f"Switchboard a collection or folder of its own; it is filled from {self.filled_from}."
            ) from error

    def newest(self, items: Iterable[Item]) -> list[Item]:
        """Return each item once, in its highest version.

        Raises :class:`InvalidRecord` (``invalid_<id field>``) for an id that is not a uuid.
        """
        found: dict[str, Item] = {}
        for item in items:
            name = self.id_of(item)
            if not is_point_id(name):
                raise InvalidRecord(
                    f"invalid_{self.id_field}", f"{self.id_field} is not a uuid in lower case: {name!r}"
                )
            known = found.get(name)
            if known is None or self.version_of(known) < self.version_of(item):
                found[name] = item
        return list(found.values())

    @property
    def keyword_fields(self) -> tuple[str, ...]:
        """The keywords besides the owner, which has an index of another sort."""
        return tuple(field for field in self.keywords if field != OWNER_FIELD)


def version_at(moment: datetime) -> int:
    """Return the version of what came at a moment: what is erased up to then is erased up to this."""
    return round(moment.timestamp() * 1000)


def facts_kind(rates: Mapping[StatementKind, float] = RATES) -> Kind[Fact]:
    """Return the kind of facts that fade at these rates, per day: until when each is sure enough."""

    def fades(fact: Fact) -> dict[str, Any]:
        until = {"active_until": active_until(fact, rates), "passive_until": passive_until(fact, rates)}
        return {field: at.isoformat() for field, at in until.items()}

    return Kind(
        name="facts",
        type=Fact,
        id_field="fact_id",
        text_field="statement",
        keywords=("tenant_id", "status", "kind"),
        numbers=("confidence",),
        times=("active_until", "passive_until", "last_evidence_at"),
        filled_from="memory.facts.v1",
        derived=fades,
    )


FACTS: Kind[Fact] = facts_kind()


def _labelled(turn: Turn) -> dict[str, Any]:
    return (
        {"labels": [metadata_label(key, text) for key, text in turn.metadata.items()]} if turn.metadata else {}
    )


TURNS: Kind[Turn] = Kind(
    name="turns",
    type=Turn,
    id_field="turn_id",
    text_field="text",
    keywords=("tenant_id", "conversation_id", "role", "labels"),
    times=("sent_at", ARRIVED),
    filled_from="memory.turns.v1",
    derived=_labelled,
    newest_by=ARRIVED,
)

EPISODES: Kind[Episode] = Kind(
    name="episodes",
    type=Episode,
    id_field="episode_id",
    text_field="text",
    keywords=("tenant_id", "conversation_id"),
    times=("first_sent_at", "last_sent_at", ARRIVED),
    filled_from="memory.episodes.v1",
    newest_by=ARRIVED,
)


def _called(entity: Entity) -> dict[str, Any]:
    return {"called": " | ".join(dict.fromkeys((entity.name, *entity.aliases, entity.role)))}


def _tied(relation: Relation) -> dict[str, Any]:
    return {"ends": [relation.from_id, relation.to_id], "said": relation.text}


ENTITIES: Kind[Entity] = Kind(
    name="entities",
    type=Entity,
    id_field="entity_id",
    text_field="called",
    keywords=("tenant_id",),
    times=("changed_at",),
    filled_from="memory.entities.v1",
    derived=_called,
)

RELATIONS: Kind[Relation] = Kind(
    name="relations",
    type=Relation,
    id_field="relation_id",
    text_field="said",
    keywords=("tenant_id", "ends"),
    times=("changed_at",),
    filled_from="memory.relations.v1",
    derived=_tied,
)
