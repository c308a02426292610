"""Entities and relations of a person: ``memory.graph-statements.v1``, ``memory.entities.v1`` and
``memory.relations.v1``.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Annotated

import msgspec

from models.clocks import said_at
from models.facts import Count, Version
from models.messages import DEFAULT_TENANT, Identifier, Timestamp

Name = Annotated[str, msgspec.Meta(max_length=256)]

#: The role of whoever says "I".
SELF_ROLE = "self"


class EntityType(StrEnum):
    """Type of an entity."""

    PERSON = "person"
    PET = "pet"
    PLACE = "place"
    ORGANIZATION = "organization"
    DATE = "date"


class Mention(msgspec.Struct, frozen=True):
    """How something was spoken of: by name ("Anna"), by what it is to the speaker ("my sister"), or both."""

    type: EntityType
    name: Name = ""
    role: Name = ""


class GraphSource(msgspec.Struct, frozen=True, kw_only=True):
    """The sentence that a statement was read in, and where it stands in the log.

    ``sent_at`` is the producer's clock, ``arrived_at`` the log's.
    """

    conversation_id: Identifier
    message_id: Identifier
    turn_id: Identifier
    quote: str
    topic: str
    partition: Count
    offset: Count
    sent_at: Timestamp
    arrived_at: Timestamp

    @property
    def said_at(self) -> datetime:
        """When it was said, for what ends what."""
        return said_at(self.sent_at, self.arrived_at)


class GraphStatement(msgspec.Struct, frozen=True, kw_only=True):
    """One thing is somehow related to another.  Key: ``statement_id``; partition: that of ``user_id``.

    ``ended``: it was so, and is no longer.
    """

    statement_id: Identifier
    user_id: Identifier
    subject: Mention
    relation: Name
    object: Mention
    source: GraphSource
    ended: bool = False
    tenant_id: Identifier = DEFAULT_TENANT


class Entity(msgspec.Struct, frozen=True, kw_only=True):
    """A person, a pet, a place, an organization or a date that somebody speaks of.

    Key: ``entity_id``; partition: that of ``user_id``; without a value it is erased, or known under another id.
    ``name`` is what it is called, or what it is ("sister") while its name is not known; ``aliases`` are all
    ways in which it was spoken of.  ``first_said_at`` and ``last_said_at`` are the producers' clock,
    ``changed_at`` is the log's.  ``version`` grows with every change of the person's graph.
    """

    entity_id: Identifier
    user_id: Identifier
    type: EntityType
    name: Name
    aliases: tuple[Name, ...]
    mentions: Count
    first_said_at: Timestamp
    last_said_at: Timestamp
    changed_at: Timestamp
    version: Version
    role: Name = ""
    tenant_id: Identifier = DEFAULT_TENANT


class Relation(msgspec.Struct, frozen=True, kw_only=True):
    """How one entity is related to another.  Key: ``relation_id``; partition: that of ``user_id``.

    ``valid_from`` and ``valid_to`` say when it was so, by what was said when; ``learned_at`` and ``changed_at``
    are times of arrival.  ``provenance``: the latest sentences that say so, of ``evidence_count``.
    """

    relation_id: Identifier
    user_id: Identifier
    from_id: Identifier
    from_name: Name
    relation: Name
    to_id: Identifier
    to_name: Name
    valid_from: Timestamp
    learned_at: Timestamp
    changed_at: Timestamp
    evidence_count: Count
    provenance: tuple[GraphSource, ...]
    version: Version
    valid_to: Timestamp | None = None
    tenant_id: Identifier = DEFAULT_TENANT

    @property
    def text(self) -> str:
        """The relation in words, as it is searched: "Anna lives in Berlin"; "user sister" without a name."""
        if self.to_name == self.relation:
            return f"{self.from_name} {self.relation}"
        return f"{self.from_name} {self.relation.replace('_', ' ')} {self.to_name}"
