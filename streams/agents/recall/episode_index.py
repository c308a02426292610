"""recall/episode-index: keeps the index of episodes a view of ``memory.episodes.v1``.

An episode is found by its words as soon as it is here; its vector comes by ``memory.embeddings.v1``.
"""

from __future__ import annotations

from models.episodes import Episode
from models.errors import InvalidRecord
from models.index import EpisodeFilter, SearchIndex
from processors.text.validation import decode
from streams.adapters.qdrant_payload import is_point_id
from streams.agents.recall.episodes import EPISODES
from streams.runtime.effects import Effects
from streams.runtime.records import RecordBatch, SourceRecord
from streams.runtime.stage import Stage, StateReader
from streams.settings import Settings

#: Episodes have no versions: one that was erased stays out of the index.
_ONLY_VERSION = 1


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
        found: dict[str, Episode | None] = {}
        for record in batch.records:
            try:
                episode_id, episode = _read(record)
            except InvalidRecord as error:
                effects.dead_letter(record, error)
                continue
            found[episode_id] = episode
        if stored := [episode for episode in found.values() if episode is not None]:
            await self._index.upsert(stored)
        if erased := [episode_id for episode_id, episode in found.items() if episode is None]:
            await self._index.erase(dict.fromkeys(erased, _ONLY_VERSION))
        await self._index.set_mark((batch.source, batch.partition), batch.next_position)
        return effects


def _read(record: SourceRecord) -> tuple[str, Episode | None]:
    """Return an episode under its id; without it if it is erased.

    Raises:
        InvalidRecord: as :func:`decode`, or ``invalid_episode_id``.
    """
    if record.value is None:
        return _checked((record.key or b"").decode(errors="replace")), None
    episode = decode(Episode, record.value)
    return _checked(episode.episode_id), episode


def _checked(episode_id: str) -> str:
    """Return the id if a point may be called so; else one bad id would refuse the whole batch."""
    if not is_point_id(episode_id):
        raise InvalidRecord("invalid_episode_id", f"episode_id is not a uuid in lower case: {episode_id!r}")
    return episode_id
