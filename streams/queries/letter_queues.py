"""The dead-letter queues of one deployment, by the topics' names in the contract."""

from __future__ import annotations

from collections.abc import Collection

from streams.clients.catalog import catalog_for
from streams.config.settings import Settings
from streams.queries import dead_letters
from streams.queries.dead_letters import Group, Letter, Place, Whole
from streams.runtime.deadletters import DLQ_SUFFIX


class LetterQueues:
    """:mod:`streams.queries.dead_letters` for one deployment.  Raises what that raises."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._catalog = catalog_for(settings)

    def contract_name(self, queue: str) -> str:
        """Return the name in the contract of the topic whose queue this is."""
        return self._catalog.get(queue).contract_name.removesuffix(DLQ_SUFFIX)

    async def groups(self) -> list[Group]:
        """Return the unsettled letters of all queues."""
        return await dead_letters.groups_of(self._settings)

    async def of_topic(self, topic: str) -> list[Letter]:
        """Return the letters of a topic that are not settled, the latest last."""
        queue = dead_letters.queue_named(self._settings, topic)
        return await dead_letters.letters_of(self._settings, queue.name)

    async def read(self, topic: str, place: Place) -> Whole:
        """Return one letter with its record."""
        queue = dead_letters.queue_named(self._settings, topic)
        [whole] = await dead_letters.read_letters(self._settings, queue.name, [place])
        return whole

    async def retry(self, topic: str, places: Collection[Place], *, keep_trace: bool = True) -> list[Letter]:
        """Send records once more and mark their letters; return these."""
        queue = dead_letters.queue_named(self._settings, topic)
        return await dead_letters.retry(self._settings, queue, places, keep_trace=keep_trace)

    async def drop(self, topic: str, places: Collection[Place]) -> list[Letter]:
        """Mark letters as done with; return them."""
        return await dead_letters.drop(self._settings, dead_letters.queue_named(self._settings, topic), places)
