"""Reading what the respond service makes of answers: their text without repeats, and what was repeated.

One consumer without a group for all turns of a process; while there is none, nothing is read.  One that loses
the broker in the midst of a turn goes on from where it was.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeAlias

import msgspec
import structlog
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import KafkaError, OffsetOutOfRangeError

from models.errors import DependencyUnavailable, SwitchboardError
from models.responses import ContentDuplicationEvent, ResponseChunk
from models.summaries import Summary
from streams import kafka
from streams.background import in_background
from streams.backoff import backoff
from streams.kafka.pacing import pace
from streams.settings import Settings
from streams.topics.catalog import catalog_for

log = structlog.get_logger("streams.chat")

RESPONSES = "chat.responses.v1"
DUPLICATES = "chat.duplicates.v1"
SUMMARIES = "memory.summaries.v1"

#: What a turn is told: its own text and duplicates, the summaries of its conversation.
Told: TypeAlias = ResponseChunk | ContentDuplicationEvent | Summary

_KINDS: dict[str, type[Told]] = {
    RESPONSES: ResponseChunk,
    DUPLICATES: ContentDuplicationEvent,
    SUMMARIES: Summary,
}

#: How long a fetch may wait for records, and so how long it holds up what the next turn asks the broker (ms).
_POLL_MS = 100

_FIRST_WAIT_SECONDS, _LONGEST_WAIT_SECONDS = 0.25, 5.0


class Filtered:
    """The reader.  Close it at the end."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        catalog = catalog_for(settings)
        self._names = {catalog.get(topic).name: kind for topic, kind in _KINDS.items()}
        self._places = [
            TopicPartition(catalog.get(topic).name, number)
            for topic in _KINDS
            for number in range(catalog.get(topic).partitions)
        ]
        self._watching: dict[tuple[str, ...], list[asyncio.Queue[Told]]] = {}
        self._task: asyncio.Task[None] | None = None
        #: Where is read on; nowhere: nobody waits for what was before.
        self._next: dict[TopicPartition, int] = {}
        self._reading = asyncio.Event()
        self._wanted = asyncio.Event()

    @contextmanager
    def watch(self, response_id: str, tenant_id: str, conversation_id: str) -> Iterator[asyncio.Queue[Told]]:
        """Yield what comes of a response and its conversation, once it is :meth:`ready`."""
        queue: asyncio.Queue[Told] = asyncio.Queue()
        keys = ((response_id,), (tenant_id, conversation_id))
        for key in keys:
            self._watching.setdefault(key, []).append(queue)
        self._wanted.set()
        if self._task is None or self._task.done():
            self._task = in_background(self._read(), "chat-reader")
        try:
            yield queue
        finally:
            for key in keys:
                self._watching[key].remove(queue)
                if not self._watching[key]:
                    del self._watching[key]
            if not self._watching:
                self._wanted.clear()

    async def ready(self) -> None:
        """Return when whatever is written from now on is seen by those who watch.

        Raises:
            DependencyUnavailable: the broker does not answer.
        """
        try:
            async with asyncio.timeout(self._settings.request_timeout_seconds):
                await self._reading.wait()
        except TimeoutError as error:
            raise DependencyUnavailable("kafka", "what is answered cannot be read back: try again") from error

    async def close(self) -> None:
        """Stop reading."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _read(self) -> None:
        attempt = 0
        while True:
            await self._until_wanted()
            client = kafka.make_consumer(
                self._settings,
                "switchboard-chat",
                group_id=None,
                auto_offset_reset="none",  # what is gone from a topic is not passed over without a word
                fetch_max_wait_ms=_POLL_MS,
            )
            try:
                async with kafka.connected(client, self._settings, self._settings.request_timeout_seconds):
                    attempt = 0
                    pace(client)
                    await self._follow(client)
            except OffsetOutOfRangeError as error:  # what is missing then is missed by whoever is told the rest
                log.warning("answers are gone before they were read back", error=str(error))
                self._next = {}
            except (KafkaError, OSError, SwitchboardError) as error:
                log.warning("answers cannot be read back; trying again", error=str(error))
                attempt += 1
                await asyncio.sleep(backoff(attempt, _FIRST_WAIT_SECONDS, _LONGEST_WAIT_SECONDS))
            finally:
                self._reading.clear()

    async def _until_wanted(self) -> None:
        if not self._wanted.is_set():
            self._next = {}
            await self._wanted.wait()

    async def _follow(self, client: AIOKafkaConsumer) -> None:
        """Read on; from the end, whenever nobody watched for a while."""
        while True:
            if not self._wanted.is_set():
                self._reading.clear()
                # A fetch that waits at the broker would hold up the question for the end.
                client.pause(*self._places)
                await self._until_wanted()
            if not self._reading.is_set():
                async with asyncio.timeout(self._settings.request_timeout_seconds):
                    self._next = self._next or dict(await client.end_offsets(self._places))
                client.assign(self._places)
                for place, offset in self._next.items():
                    client.seek(place, offset)
                self._reading.set()
            for place, records in (await client.getmany(timeout_ms=_POLL_MS)).items():
                for record in records:
                    self._tell(self._names[place.topic], record.value)
                self._next[place] = records[-1].offset + 1

    def _tell(self, kind: type[Told], value: bytes | None) -> None:
        if value is None:
            return
        try:
            told = msgspec.json.decode(value, type=kind)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            log.warning("a record of an answer cannot be read, and is passed over", error=str(error))
            return
        for queue in self._watching.get(_key(told), ()):
            queue.put_nowait(told)


def _key(told: Told) -> tuple[str, ...]:
    return (told.tenant_id, told.conversation_id) if isinstance(told, Summary) else (told.response_id,)
