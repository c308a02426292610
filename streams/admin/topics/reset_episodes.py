"""Episode data that a reset of ``memory`` keeps: erasures, and their times.

A worker that was taken for dead may still write one of them, and only who knows the erasure erases that copy.
"""

from __future__ import annotations

from models.errors import ConsistencyError
from streams.admin.topics import reset_log
from streams.admin.topics.reset_conversations import Remembered
from streams.admin.topics.reset_log import Placed
from streams.agents.recall.episode_pages import ERASED_EPISODES, ERASED_MARK
from streams.agents.recall.episodes import Episodes
from streams.clients.catalog import Catalog
from streams.clients.records import SourceRecord
from streams.config.settings import Settings
from streams.runtime.marks import Layout


async def read(catalog: Catalog, settings: Settings) -> Remembered:
    """Return the erased episodes that the table knows.

    Raises:
        DependencyUnavailable: the broker does not answer.
    """
    stage = Episodes(settings).stage()
    changelog = catalog.get(f"switchboard-memory-{stage.table}-changelog")
    tombstones = _ErasedEpisodes(Layout(stage.sources))
    await reset_log.read(settings, changelog, tombstones.note)
    return Remembered(tombstones.values, changelog)


class _ErasedEpisodes:
    """The erased episodes of each conversation, read in the order of the table."""

    def __init__(self, layout: Layout) -> None:
        self.values: dict[bytes, Placed] = {}
        self._layout = layout

    def note(self, record: SourceRecord) -> None:
        """Note a value of the table; what cannot be read is forgotten, as all of the table is."""
        if record.key is None or not record.value or ERASED_MARK not in record.key:
            return
        try:
            payload = self._layout.payload(self._layout.adopt(record.value))
            if payload is not None:
                payload = ERASED_EPISODES.encode(ERASED_EPISODES.decode(payload))
        except ConsistencyError:
            payload = None
        if payload is None:
            self.values.pop(record.key, None)
            return
        # As the stage would have stored it before any record: all of its topics are read again.
        self.values[record.key] = Placed(record.partition, self._layout.seal(None, payload, 0, None))
