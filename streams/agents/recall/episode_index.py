"""recall/episode-index: keeps the index of episodes a view of ``memory.episodes.v1``.

An episode is found by its words as soon as it is here; its vector comes by ``memory.embeddings.v1``.  Which
of two copies is the newer one, and whether it came before an erasure, is told by when its last turn arrived.
"""

from __future__ import annotations

from models.episodes import Episode
from models.errors import InvalidRecord
from models.index import EpisodeFilter, SearchIndex
from processors.text.validation import decode
from streams.agents.recall.episodes import EPISODES
from streams.clients import erasures
from streams.clients.records import RecordBatch, SourceRecord
from streams.config.settings import Settings
from streams.runtime.effects import Effects
from streams.runtime.stage import Stage, StateReader
from streams.stores.qdrant_kinds import version_at
from streams.stores.qdrant_payload import is_point_id


class EpisodeIndex:
    """The step around an index of episodes."""

    def __init__(self, settings: Settings, index: SearchIndex[Episode, EpisodeFilter]) -> None:
        self._settings = settings
        self._index = index

    def stage(self) -> Stage:
        """Return the stage."""
        return Stage(
            name="episode-index",
            sources=(EPISODES,),
            async_step=self.step,
            batch_records=4 * self._settings.call_batch_records,
            view_marks=self._index.marks,
        )

    async def step(self, batch: RecordBatch, state: StateReader) -> Effects:
        """Store the episodes of the batch, and erase what was erased."""
        effects = Effects()
        newest: dict[str, Episode] = {}
        erased: dict[str, int] = {}
        for record in batch.records:
            try:
                episode_id, said = _read(record)
            except InvalidRecord as error:
                effects.dead_letter(record, error)
                continue
            if isinstance(said, int):
                erased[episode_id] = max(said, erased.get(episode_id, said))
            elif (known := newest.get(episode_id)) is None or known.arrived_at <= said.arrived_at:
                newest[episode_id] = said
        # The order of both is all the same to the index: the newer one stays.
        if erased:
            await self._index.erase(erased)
        if newest:
            await self._index.upsert(list(newest.values()))
        await self._index.set_mark((batch.source, batch.partition), batch.next_position)
        return effects


def _read(record: SourceRecord) -> tuple[str, Episode | int]:
    """Return an episode under its id, or up to which version it is erased.

    Raises:
        InvalidRecord: as :func:`decode`, or ``invalid_episode_id``, ``invalid_erasure``.
    """
    if record.value is None:
        episode_id = _checked((record.key or b"").decode(errors="replace"))
        return episode_id, version_at(erasures.until_of(record))
    episode = decode(Episode, record.value)
    return _checked(episode.episode_id), episode


def _checked(episode_id: str) -> str:
    """Return the id if a point may be called so; else one bad id would refuse the whole batch."""
    if not is_point_id(episode_id):
        raise InvalidRecord("invalid_episode_id", f"episode_id is not a uuid in lower case: {episode_id!r}")
    return episode_id
