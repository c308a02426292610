"""The indexes of the recall service; when the embedder was changed, those built beside the living ones, too.

All that the topics hold is read again into both, and the requests for vectors are answered again by the new
embedder (:mod:`streams.agents.recall.embedding`); marks in the index that is built say how far that is, so a
restart in the middle goes on.  Until it is whole the living indexes answer, asked with their own embedder.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import structlog
from aiokafka import AIOKafkaConsumer, TopicPartition

from models.errors import SwitchboardError
from models.index import Place, SearchIndex, VectorSpace
from models.ports import Embedder
from streams.agents.recall.embedding import Building
from streams.agents.vectors.living_embedder import open_former
from streams.agents.vectors.requests import REQUESTS
from streams.clients.catalog import catalog_for
from streams.clients.kafka import broker
from streams.config.background import cancel_and_wait, in_background
from streams.config.settings import Settings
from streams.stores.dual_write_index import DualWriteIndex
from streams.stores.index_dirs import IndexDirs, find_index_dirs
from streams.stores.index_factory import open_index
from streams.stores.qdrant_kinds import ENTITIES, EPISODES, RELATIONS, TURNS, Kind, facts_kind
from streams.telemetry.health import INDEX_REBUILD, HealthState
from streams.telemetry.metrics import Metrics

log = structlog.get_logger("streams.agents.vectors.recall_indexes")

_LOOK_SECONDS, _AGAIN_SECONDS = 1.0, 10.0

#: Where the end of a partition holds nothing, so many times as many offsets are looked at next.
_FURTHER_BACK = 64

_Index = SearchIndex[Any, Any]


@dataclass(frozen=True)
class Indexes:
    """All of them, and the embedder that they are asked with.

    ``built``: what is being built anew, if anything: its index of facts keeps the mark of how far requests are
    answered; ``rebuild`` looks after it.
    """

    embedder: Embedder
    facts: _Index
    turns: _Index
    episodes: _Index
    entities: _Index
    relations: _Index
    built: Building | None = None
    rebuild: Rebuild | None = None


async def open_indexes(
    settings: Settings, embedder: Embedder, metrics: Metrics, resources: AsyncExitStack, patience: float
) -> Indexes:
    """Open the indexes for the vectors of ``embedder``, or those that answer until they are built.

    ``patience`` (seconds): how long another process may keep them.

    Raises:
        ConfigurationError: they are in use, or cannot be read.
    """
    space = VectorSpace(embedder.model, embedder.dimensions)
    kinds = (facts_kind(settings.decay_rates), TURNS, EPISODES, ENTITIES, RELATIONS)
    if settings.qdrant_url:
        return _all(embedder, [await _open(settings, kind, space, patience, resources) for kind in kinds])
    dirs = find_index_dirs(settings, space, patience=patience)
    if dirs.beside is None:
        found = [await _open(settings, kind, space, patience, resources) for kind in kinds]
        build = dirs.note(space, settings)
        if not build:
            return _all(embedder, found)
        return _all(embedder, found, Rebuild(settings, dirs, kinds, Building(found[0], build), found, metrics))
    own = dirs.space_of_living()
    # Of two by a model's endpoint only one can keep its limits in a Valkey of this process.
    limited = settings.redis_url or not settings.asks_model("embedder")
    living = await open_former(own, dirs.living, resources, metrics if limited else None, start=True)
    olds = [await _open(settings, kind, own, patience, resources) for kind in kinds]
    # Who goes back has requests answered again from the beginning: from now on they are by another embedder.
    for number in range(catalog_for(settings).partitions(REQUESTS)):
        await olds[0].set_mark((REQUESTS, number), 0)
    build = dirs.note(space, settings)
    news = [await _open(settings, kind, space, patience, resources, dirs.beside) for kind in kinds]
    log.warning(
        "the embedder was changed: an index for it is built beside the living one, which answers meanwhile",
        living=living.model,
        built=embedder.model,
        folder=str(dirs.beside),
    )
    both = [DualWriteIndex[Any, Any](old, new) for old, new in zip(olds, news, strict=True)]
    return _all(living, both, Rebuild(settings, dirs, kinds, Building(news[0], build), news, metrics))


def _all(embedder: Embedder, found: Sequence[_Index], rebuild: Rebuild | None = None) -> Indexes:
    facts, turns, episodes, entities, relations = found
    built = None if rebuild is None else rebuild.building
    return Indexes(embedder, facts, turns, episodes, entities, relations, built, rebuild)


async def _open(
    settings: Settings,
    kind: Kind[Any],
    space: VectorSpace,
    patience: float,
    resources: AsyncExitStack,
    folder: Path | None = None,
) -> _Index:
    # In a thread: one in which something was erased is rewritten first, for up to a minute.
    opening = partial(open_index, settings, kind, space, patience=patience, folder=folder)
    index = await asyncio.to_thread(opening)
    resources.push_async_callback(index.close)
    return index


class Rebuild:
    """Looks how much of the new index is there, and says so, until it is whole."""

    def __init__(
        self,
        settings: Settings,
        dirs: IndexDirs,
        kinds: Sequence[Kind[Any]],
        building: Building,
        indexes: Sequence[_Index],
        metrics: Metrics,
    ) -> None:
        self._settings = settings
        self._dirs = dirs
        self.building = building
        self._model = building.index.space.model
        self._gauge = metrics.index_rebuild_ratio.labels(self._model)
        # The mark of requests is set behind their vectors, so these are there as well.
        self._filled: list[tuple[_Index, str]] = [
            (building.index, REQUESTS),
            *((index, kind.filled_from) for index, kind in zip(indexes, kinds, strict=True)),
        ]

    async def begin(self, health: HealthState) -> Callable[[], Awaitable[None]]:
        """Begin to look; returns what ends it."""
        task = in_background(self._run(health), "index-rebuild")

        async def stop() -> None:
            await cancel_and_wait(task)

        return stop

    async def _run(self, health: HealthState) -> None:
        ends: Mapping[Place, int] | None = None
        beside = self._dirs.beside is not None
        while True:
            try:
                if ends is None:
                    ends = await self._ends()
                done, total = await self.progress(ends)
                share = done / total if total else 1.0
                self._gauge.set(share)
                if done == total:
                    self._dirs.mark_ready()
                    break
            except SwitchboardError as error:
                health.describe(INDEX_REBUILD, f"how much of the new index is there cannot be seen: {error}")
                log.warning("how much of the new index is there cannot be seen", why=str(error))
                await asyncio.sleep(_AGAIN_SECONDS)
                continue
            said = f"{share:.0%} of the index for {self._model} is built"
            health.describe(INDEX_REBUILD, f"{said}; the living one answers meanwhile" if beside else said)
            await asyncio.sleep(_LOOK_SECONDS)
        said = f"the index for {self._model} is whole"
        if beside:
            said += ": restart recall, and it takes the place of the living one"
        health.describe(INDEX_REBUILD, said if beside else None)
        log.warning(said, folder=str(self._dirs.built))

    async def progress(self, ends: Mapping[Place, int]) -> tuple[int, int]:
        """Return how many records are in the new index, and how many there were when it was first looked."""
        done = total = 0
        for index, topic in self._filled:
            places = [place for place in ends if place[0] == topic]
            marks = await index.marks(places) if places else {}
            done += sum(min(marks[place], ends[place]) for place in places)
            total += sum(ends[place] for place in places)
        return done, total

    async def _ends(self) -> dict[Place, int]:
        """Return the offset after the last record of each partition that is read into it, if it holds any."""
        catalog = catalog_for(self._settings)
        specs = [catalog.get(topic) for _, topic in self._filled]
        names = {spec.name: spec.contract_name for spec in specs}
        places = [TopicPartition(spec.name, number) for spec in specs for number in range(spec.partitions)]
        async with broker.reading(self._settings) as consumer:
            ends = await last_records(consumer, places)
        return {(names[place.topic], place.partition): end for place, end in ends.items()}


async def last_records(
    consumer: AIOKafkaConsumer, places: Sequence[TopicPartition]
) -> dict[TopicPartition, int]:
    """Return the offset after the last record that each partition holds; those without one are left out.

    A partition may end behind it, as compaction takes tombstones in the end: up to there nobody gets.
    """
    begins, ends = await broker.beginnings_of(consumer, places), await broker.ends_of(consumer, places)
    found: dict[TopicPartition, int] = {}
    left, back = [place for place in places if begins[place] < ends[place]], 1
    while left:
        starts = {place: max(begins[place], ends[place] - back) for place in left}
        consumer.assign(left)
        for place, start in starts.items():
            consumer.seek(place, start)
        async for records in broker.batches_until(consumer, {place: ends[place] for place in left}):
            last = records[-1]
            found[TopicPartition(last.topic, last.partition)] = last.offset + 1
        left = [place for place in left if place not in found and starts[place] > begins[place]]
        back *= _FURTHER_BACK
    return found
