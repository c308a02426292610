"""How an index is laid out in Qdrant, whichever engine holds it and whatever it holds.

One point per item: its id is the item's (a uuid), its payload the whole item as JSON values, and its named
vector is absent until the text has been embedded.  Payload and vector come from two topics, in any order, and
neither touches the other.  So a point may hold a vector and a version of 0; and of an item that was erased a
tombstone stays for a while, which holds the erased version.  Both belong to nobody, so no search for a
person's items finds them.

So do the points that say what the index is: one *seal*, with the kind, the format and the model that made the
vectors, and a *mark* for each partition that was read into it.  They lie in the engine's own log, behind the
writes that they are about: what a mark says is there is there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any
from uuid import UUID, uuid5

from models.errors import ConfigurationError
from models.ids import NAMESPACE
from models.index import Place, VectorSpace

#: The format of what is stored.  Another one is another index: it is deleted and filled again.
FORMAT = 1

#: The named vector.
VECTOR = "text"

#: Every search names a person, so this index is the one that makes them fast; Qdrant lays out its storage by
#: it.
OWNER_FIELD = "user_id"
VERSION_FIELD = "version"

#: When a tombstone was put up, so that it can go again.
ERASED_FIELD = "erased_at"

#: Points per write.  Small, because the embedded engine holds the interpreter for as long as one runs.
WRITE_BATCH = 100

#: Where the index's seal lies.
SEAL_ID = str(uuid5(NAMESPACE, "index/seal"))

#: Where an embedded index counts its points: those of a damaged file are missing without a word.
TALLY_ID = str(uuid5(NAMESPACE, "index/tally"))

#: What only marks have.
MARK_FIELD = "next_offset"

_SEAL_FIELD, _TALLY_FIELD = "seal", "points"


def tombstone(version: int, erased_at: datetime | None = None) -> dict[str, Any]:
    """Return the payload of an erased item, or (version 0) of one that has not come yet."""
    return {VERSION_FIELD: version} | ({ERASED_FIELD: erased_at.isoformat()} if erased_at else {})


def is_nobodys(payload: Mapping[str, Any] | None) -> bool:
    """Return whether a stored payload is no item: a tombstone, a waiting vector, a seal or a mark."""
    return not payload or OWNER_FIELD not in payload


def seal(kind: str, space: VectorSpace) -> dict[str, Any]:
    """Return the payload of an index's seal."""
    return {_SEAL_FIELD: {"format": FORMAT, "kind": kind, **space._asdict()}}


def check_seal(found: Mapping[str, Any] | None, expected: Mapping[str, Any], where: str, rebuild: str) -> None:
    """Compare what an index says of itself with what it should be; ``rebuild`` says what to do if it differs.

    Raises:
        ConfigurationError: it is of another kind, format or model, or says nothing of itself.
    """
    said = dict((found or {}).get(_SEAL_FIELD) or {})
    wanted = expected[_SEAL_FIELD]
    if not said:
        raise ConfigurationError(
            f"{where} does not say what made it: it is of an earlier version, or not Switchboard's. {rebuild}"
        )
    for name, what in (("format", "of format"), ("kind", "an index of"), ("model", "built with the model")):
        if said.get(name) != wanted[name]:
            raise ConfigurationError(
                f"{where} is {what} {said.get(name)}, and this worker has {wanted[name]}: they cannot be "
                f"mixed. {rebuild}"
            )


def mark_id(place: Place) -> str:
    """Return the id of the point that says how far a partition was read into the index."""
    topic, partition = place
    return str(uuid5(NAMESPACE, f"index/mark/{topic}/{partition}"))


def mark(next_offset: int) -> dict[str, Any]:
    """Return the payload of an offset mark."""
    return {MARK_FIELD: next_offset}


def marks_of(payloads: Mapping[str, Mapping[str, Any] | None], places: Iterable[Place]) -> dict[Place, int]:
    """Return the mark of each place, 0 if there is none; ``payloads`` by point id."""
    return {place: int((payloads.get(mark_id(place)) or {}).get(MARK_FIELD, 0)) for place in places}


def tally(points: int) -> dict[str, Any]:
    """Return the payload of a point count."""
    return {_TALLY_FIELD: points}


def tallied(payload: Mapping[str, Any] | None) -> int:
    """Return how many points there were; 0 if nobody counted."""
    return int((payload or {}).get(_TALLY_FIELD, 0))


def check_space(space: VectorSpace, dimensions: int, model: str | None, rebuild: str) -> None:
    """Refuse vectors that are not of an index's space; ``model`` ``None``: whoever asks knows it.

    Raises:
        ConfigurationError: another model made them, or they are of another length.
    """
    if model is not None and model != space.model:
        raise ConfigurationError(
            f"vectors of the model {model} do not fit an index of {space.model}: they cannot be mixed. "
            f"{rebuild}"
        )
    if dimensions != space.dimensions:
        raise ConfigurationError(
            f"vectors of {dimensions} dimensions do not fit an index of {space.dimensions}: the embedding "
            f"model was changed. {rebuild}"
        )


def is_point_id(name: str) -> bool:
    """Return whether ``name`` is a uuid in its usual form, the only text that Qdrant takes as an id."""
    try:
        return str(UUID(name)) == name
    except ValueError:
        return False


def point_ids(names: Iterable[str]) -> list[str]:
    """Return the distinct ids that can be stored, in their order: any other is certainly not there."""
    return [name for name in dict.fromkeys(names) if is_point_id(name)]


def batches(count: int) -> list[slice]:
    """Return slices of at most :data:`WRITE_BATCH` that cover ``count`` items."""
    return [slice(start, start + WRITE_BATCH) for start in range(0, count, WRITE_BATCH)]
