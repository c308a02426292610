"""Erasures of conversations from ``models.memo.v1``, for a worker that asks no model.

Only the marks are kept, in memory: 200 bytes for each conversation, for as long as the topic says so.
"""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import Iterable
from contextlib import aclosing
from datetime import datetime

from models.memo import Erased
from streams.clients.erasures import Erasing
from streams.llm.memo.topic import MemoTopic, erasing_of

#: How long a mark is remembered, from when it was written: as long as the topic keeps it.
_KEPT_SECONDS = 30 * 86_400.0


class ErasureMarks:
    """The marks of a deployment, as they stand at each call."""

    def __init__(self, topic: MemoTopic) -> None:
        self._topic = topic
        self._is_there = False
        self._read_to: defaultdict[int, int] = defaultdict(int)
        self._until: dict[tuple[str, str], dict[str, datetime]] = {}
        #: When the latest mark of a conversation was written (epoch seconds, by the broker).
        self._written: dict[tuple[str, str], float] = {}
        self._reading = asyncio.Lock()

    async def erased(self, conversations: Iterable[tuple[str, str]]) -> dict[tuple[str, str], Erased]:
        """Return the erasures of conversations (tenant, id) by now; a conversation without one is left out.

        Raises:
            DependencyUnavailable: the broker does not answer; called again, it reads on from where it was.
        """
        async with self._reading:
            if not self._is_there:
                self._is_there = await self._topic.exists()
            if self._is_there:
                await self._catch_up()
        names = {*conversations} & self._until.keys()
        return {name: Erased(dict(self._until[name])) for name in names}

    async def _catch_up(self) -> None:
        for partition, end in enumerate(await self._topic.ends()):
            if end < self._read_to[partition]:  # the topic was made again
                self._read_to[partition] = 0
            if end == self._read_to[partition]:
                continue
            # Closed here, whatever happens: it holds the reader.
            async with aclosing(self._topic.read(partition, self._read_to[partition], end)) as parts:
                async for entries, following in parts:
                    for entry in entries:
                        if (erasing := erasing_of(entry)) is not None:
                            self._note(erasing, entry.timestamp / 1000)
                    self._read_to[partition] = following
            self._forget()

    def _note(self, erasing: Erasing, at: float) -> None:
        name = erasing.tenant_id, erasing.conversation_id
        until = self._until.setdefault(name, {})
        until[erasing.user_id] = max(erasing.until, until.get(erasing.user_id, erasing.until))
        self._written[name] = at

    def _forget(self) -> None:
        before = time.time() - _KEPT_SECONDS
        for name in [name for name, at in self._written.items() if at < before]:
            del self._until[name], self._written[name]
