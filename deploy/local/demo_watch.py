"""The demo's view: the topics, read along without a group, folded into what is known so far."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import TypeVar

import msgspec
from aiokafka import AIOKafkaConsumer, TopicPartition

from models.episodes import Episode
from models.errors import InvalidRecord
from models.facts import Fact, FactStatus
from models.messages import ChatMessage
from models.responses import ContentDuplicationEvent, ResponseChunk
from models.summaries import Summary
from models.windows import Window
from processors.text.validation import decode
from streams.agents.message_log import read_message
from streams.clients.catalog import Catalog
from streams.clients.kafka import broker
from streams.clients.records import SourceRecord
from streams.clients.topics import DUPLICATES, EPISODES, FACTS, MESSAGES, RESPONSES, SUMMARIES, WINDOWS
from streams.config.settings import Settings

Struct = TypeVar("Struct", bound=msgspec.Struct)

CHUNKS = "chat.response-chunks.v1"

_LOOK_SECONDS = 0.05

WATCHED = (MESSAGES, WINDOWS, EPISODES, FACTS, SUMMARIES, RESPONSES, DUPLICATES)


class View:
    """State of the people and conversations of the demo's input, read from the topics.

    ``messages`` and ``windowed`` hold ``(conversation_id, message_id)``; ``facts`` the latest version by id.
    """

    def __init__(self, messages: Iterable[ChatMessage], response_id: str) -> None:
        of_interest = list(messages)
        self._conversations = {message.conversation_id for message in of_interest}
        self._people = {message.user_id for message in of_interest}
        self._response_id = response_id
        self.messages: set[tuple[str, str]] = set()
        self.windows: set[str] = set()
        self.windowed: set[tuple[str, str]] = set()
        self.episodes: set[str] = set()
        self.facts: dict[str, Fact] = {}
        self.summaries: dict[str, Summary] = {}
        self.response: dict[int, ResponseChunk] = {}
        self.duplicates: dict[str, ContentDuplicationEvent] = {}

    def take(self, record: SourceRecord, topic: str) -> None:
        """Fold one record of ``topic`` (contract name) in; what cannot be decoded is not for us to judge."""
        try:
            self._fold(record, topic)
        except InvalidRecord:
            return

    def _fold(self, record: SourceRecord, topic: str) -> None:
        if topic == MESSAGES:
            message = read_message(record)
            if message.conversation_id in self._conversations:
                self.messages.add((message.conversation_id, message.message_id))
        elif topic == WINDOWS:
            window = decode(Window, record.value)
            if window.conversation_id in self._conversations:
                self.windows.add(window.window_id)
                self.windowed.update((window.conversation_id, message) for message in window.message_ids)
        elif topic == EPISODES:
            episode = decode(Episode, record.value)
            if episode.conversation_id in self._conversations:
                self.episodes.add(episode.episode_id)
        elif topic == FACTS:
            self._fold_fact(record)
        elif topic == SUMMARIES:
            summary = decode(Summary, record.value)
            if summary.conversation_id in self._conversations:
                self.summaries[summary.summary_id] = summary
        elif topic == RESPONSES:
            chunk = decode(ResponseChunk, record.value)
            if chunk.response_id == self._response_id:
                self.response[chunk.sequence] = chunk
        elif topic == DUPLICATES:
            event = decode(ContentDuplicationEvent, record.value)
            if event.response_id == self._response_id:
                self.duplicates[event.event_id] = event

    def _fold_fact(self, record: SourceRecord) -> None:
        if record.value is None:
            self.facts.pop((record.key or b"").decode(errors="replace"), None)
            return
        fact = decode(Fact, record.value)
        if fact.user_id in self._people:
            self.facts[fact.fact_id] = fact

    @property
    def known(self) -> list[Fact]:
        """The facts that hold: neither merged into another nor given up."""
        return [fact for fact in self.facts.values() if fact.status is FactStatus.ACTIVE]

    @property
    def response_is_complete(self) -> bool:
        """True if the final chunk of the response has come back."""
        return any(chunk.final for chunk in self.response.values())


class Watcher:
    """Reads the watched topics from their beginning into a :class:`View`."""

    def __init__(self, consumer: AIOKafkaConsumer, catalog: Catalog, view: View) -> None:
        self._consumer = consumer
        self._contract = {catalog.name(topic): topic for topic in WATCHED}
        self.view = view

    async def catch_up(self, settings: Settings) -> None:
        """Read what is there already."""
        present = await broker.partitions_of(settings, self._contract)
        partitions = [TopicPartition(topic, n) for topic, count in present.items() for n in range(count)]
        self._consumer.assign(partitions)
        ends = await broker.ends_of(self._consumer, partitions)
        async for record in broker.until(self._consumer, ends):
            self.view.take(record, self._contract[record.topic])

    async def follow(self) -> None:
        """Read on until cancelled."""
        while True:
            for records in (await self._consumer.getmany(timeout_ms=200)).values():
                for record in records:
                    self.view.take(record, self._contract[record.topic])

    async def caught_up(self) -> None:
        """Wait until :meth:`follow`, which runs beside, has read all that the topics hold now."""
        ends = await broker.ends_of(self._consumer, list(self._consumer.assignment()))
        async with asyncio.timeout(broker.ANSWER_SECONDS):
            for place, end in ends.items():
                while await self._consumer.position(place) < end:
                    await asyncio.sleep(_LOOK_SECONDS)
