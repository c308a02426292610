"""How a fact is stored in Qdrant, whichever engine holds it.

One point per fact: its id is the ``fact_id`` (a uuid), its payload the whole fact as JSON values, and its named
vector ``statement`` is absent until the statement has been embedded.  Payload and vector come from two topics,
in any order, and neither touches the other.  So a point may hold a vector and nothing else; and of a fact that
was erased a gravestone stays, which holds the erased version.  Both belong to nobody, so no search for a
person's facts finds them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID

import msgspec

from models.errors import ConsistencyError, InvalidRecord
from models.facts import Fact
from models.ports import FactFilter

#: The named vector.
VECTOR = "statement"

#: The full-text field.
TEXT_FIELD = "statement"

#: Every search names a person, so this index is the one that makes them fast; Qdrant lays out its
#: storage by it.
TENANT_FIELD = "user_id"
KEYWORD_FIELDS = ("tenant_id", "status", "category")
CONFIDENCE_FIELD = "confidence"
VERSION_FIELD = "version"

#: Points per write.  Small, because the embedded engine holds the interpreter for as long as one runs.
WRITE_BATCH = 100


def to_payload(fact: Fact) -> dict[str, Any]:
    """Return the fact as JSON values: times as RFC 3339 text, enumerations as their values."""
    payload: dict[str, Any] = msgspec.to_builtins(fact)
    return payload


def gravestone(version: int) -> dict[str, Any]:
    """Return what is stored of a fact that was erased, or (version 0) of one that has not come yet."""
    return {VERSION_FIELD: version}


def is_nobodys(payload: Mapping[str, Any] | None) -> bool:
    """Whether a stored payload is no fact: that of a gravestone, or of a vector that waits for its fact."""
    return not payload or TENANT_FIELD not in payload


def from_payload(payload: Mapping[str, Any] | None) -> Fact:
    """Return the fact that :func:`to_payload` wrote.

    Raises :class:`ConsistencyError` for a payload that is not a fact: somebody else writes there.
    """
    try:
        return msgspec.convert(payload, Fact)
    except msgspec.ValidationError as error:
        raise ConsistencyError(
            f"the Qdrant collection holds a point that is not a fact of this version ({error}). "
            "Give Switchboard a collection or folder of its own; it is filled from memory.facts.v1."
        ) from error


def is_point_id(fact_id: str) -> bool:
    """Whether ``fact_id`` is a uuid in its usual form, the only kind of text that Qdrant takes as an id."""
    try:
        return str(UUID(fact_id)) == fact_id
    except ValueError:
        return False


def point_ids(fact_ids: Iterable[str]) -> list[str]:
    """Return the distinct ids that can be stored, in their order: any other is certainly not there."""
    return [fact_id for fact_id in dict.fromkeys(fact_ids) if is_point_id(fact_id)]


def newest(facts: Iterable[Fact]) -> list[Fact]:
    """Return each fact once, in its highest version.

    Raises :class:`InvalidRecord` (``invalid_fact_id``) for a ``fact_id`` that is not a uuid.
    """
    found: dict[str, Fact] = {}
    for fact in facts:
        if not is_point_id(fact.fact_id):
            raise InvalidRecord("invalid_fact_id", f"fact_id is not a uuid in lower case: {fact.fact_id!r}")
        known = found.get(fact.fact_id)
        if known is None or known.version < fact.version:
            found[fact.fact_id] = fact
    return list(found.values())


def wanted_keywords(where: FactFilter) -> list[tuple[str, Sequence[str]]]:
    """Return the fields, and the values one of which each must have, that ``where`` asks for."""
    wanted: list[tuple[str, Sequence[str]]] = [
        (TENANT_FIELD, (where.user_id,)),
        ("tenant_id", (where.tenant_id,)),
        ("status", [status.value for status in where.statuses]),
        ("category", [category.value for category in where.categories]),
    ]
    return [(field, values) for field, values in wanted if values]


def text_score(bm25: float) -> float:
    """Map a BM25 score (0 and up, no upper end) to 0..1, keeping the order."""
    return bm25 / (1.0 + bm25)


def batches(count: int) -> list[slice]:
    """Return slices of at most :data:`WRITE_BATCH` that cover ``count`` items."""
    return [slice(start, start + WRITE_BATCH) for start in range(0, count, WRITE_BATCH)]
