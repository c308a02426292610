"""recall/entities-index and recall/relations-index: keep the indexes of the graph views of their topics."""

from __future__ import annotations

from typing import Generic, TypeVar

from models.errors import InvalidRecord
from models.graph import Entity, Relation
from models.index import GraphFilter, SearchIndex
from processors.text.validation import decode
from streams.agents.memory.graph import VERSION_HEADER
from streams.clients.records import RecordBatch, SourceRecord, header, number_of
from streams.config.settings import Settings
from streams.runtime.effects import Effects
from streams.runtime.stage import Stage, StateReader
from streams.stores.qdrant_kinds import ENTITIES, RELATIONS, Kind
from streams.stores.qdrant_payload import is_point_id

Thing = TypeVar("Thing", Entity, Relation)


class GraphIndex(Generic[Thing]):
    """The step around an index of entities, or of relations."""

    def __init__(self, settings: Settings, kind: Kind[Thing], index: SearchIndex[Thing, GraphFilter]) -> None:
        self._settings = settings
        self._kind: Kind[Thing] = kind
        self._index: SearchIndex[Thing, GraphFilter] = index

    def stage(self) -> Stage:
        """Return the stage."""
        return Stage(
            name=f"{self._kind.name}-index",
            sources=(self._kind.filled_from,),
            async_step=self.step,
            batch_records=4 * self._settings.call_batch_records,
            view_marks=self._index.marks,
        )

    async def step(self, batch: RecordBatch, state: StateReader) -> Effects:
        """Store what is new or changed, and erase what was erased."""
        effects = Effects()
        stored: dict[str, Thing] = {}
        erased: dict[str, int] = {}
        for record in batch.records:
            try:
                name, found = self._read(record)
            except InvalidRecord as error:
                effects.dead_letter(record, error)
                continue
            if isinstance(found, int):
                stored.pop(name, None)
                erased[name] = max(found, erased.get(name, 0))
            elif (known := stored.get(name)) is None or self._version(known) <= self._version(found):
                stored[name] = found
        if erased:
            await self._index.erase(erased)
        if stored:
            await self._index.upsert(list(stored.values()))
        await self._index.set_mark((batch.source, batch.partition), batch.next_position)
        return effects

    def _version(self, thing: Thing) -> int:
        return self._kind.version_of(thing)

    def _read(self, record: SourceRecord) -> tuple[str, Thing | int]:
        """Return a thing under its id, or up to which version it is erased.

        Raises:
            InvalidRecord: as :func:`decode`, ``invalid_id`` or ``invalid_erasure``.
        """
        if record.value is None:
            said = header(record.headers, VERSION_HEADER)
            if (version := number_of(said)) is None:
                raise InvalidRecord("invalid_erasure", f"{VERSION_HEADER} must be a number: {said!r:.200}")
            return _checked((record.key or b"").decode(errors="replace")), version
        thing = decode(self._kind.type, record.value)
        return _checked(self._kind.id_of(thing)), thing


def entity_index(settings: Settings, index: SearchIndex[Entity, GraphFilter]) -> Stage:
    """Return the stage that keeps the index of entities."""
    return GraphIndex(settings, ENTITIES, index).stage()


def relation_index(settings: Settings, index: SearchIndex[Relation, GraphFilter]) -> Stage:
    """Return the stage that keeps the index of relations."""
    return GraphIndex(settings, RELATIONS, index).stage()


def _checked(name: str) -> str:
    """Return the id if a point may be called so; else one bad id would refuse the whole batch."""
    if not is_point_id(name):
        raise InvalidRecord("invalid_id", f"the id is not a uuid in lower case: {name!r}")
    return name
