"""A person's memory without a broker: the stages of ``ingest``, ``memory`` and ``recall`` that make facts.

They are the stages of a deployment, with the same settings; records go from one to the other in the order in
which they are written.  So ``score.py`` can be run in seconds: of facts, not of contexts and searches.
"""

from __future__ import annotations

from collections import deque
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Self

import msgspec

from models.commands import Command, CommandKind
from models.facts import FactStatus
from models.index import FactFilter, SearchIndex, VectorSpace
from models.messages import ChatMessage, Role
from models.ports import Extractor, KnownNotes
from models.vectors import VectorKind
from streams.agents.ingest.conversations import Conversations
from streams.agents.memory.extraction import Extraction
from streams.agents.memory.facts import Facts
from streams.agents.recall.embedding import Embedding
from streams.agents.recall.index import Index
from streams.agents.recall.turns import Turns
from streams.agents.recall.vectors import VectorViews
from streams.clients.topics import COMMANDS, MESSAGES
from streams.config.settings import Settings
from streams.llm.onnx_embedder import OnnxEmbedder
from streams.llm.tokenizer import cl100k_counter
from streams.runtime.effects import Output
from streams.runtime.testing import StageHarness
from streams.stores.index_factory import open_index
from streams.stores.qdrant_kinds import FACTS
from streams.stores.remembered.known import KnownFacts
from streams.stores.search import MemorySearch

#: The broker's clock: all of a person arrives in one run, as ``score.py`` sends it.
_BEGINS = datetime(2027, 1, 1, tzinfo=UTC)

_STATUSES = {"active": (FactStatus.ACTIVE,), "any": ()}


class SteppedMemory:
    """``async with SteppedMemory(folder, embedder) as memory``; then :meth:`read_by`, and :meth:`feed`."""

    def __init__(self, folder: Path, embedder: OnnxEmbedder) -> None:
        self._settings = Settings(data_dir=folder)
        self._embedder = embedder
        self._resources = AsyncExitStack()
        self._stages: list[StageHarness] = []
        self._arrived = _BEGINS

    async def __aenter__(self) -> Self:
        space = VectorSpace(self._embedder.model, self._embedder.dimensions)
        self.index: SearchIndex[Any, Any] = open_index(self._settings, FACTS, space)
        self._resources.push_async_callback(self.index.close)
        search = MemorySearch(self.index, self._embedder, floor=self._settings.search_floor)
        #: What a language model is shown of what is known.
        self.known: KnownNotes = KnownFacts(search, self.index)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._resources.aclose()

    def read_by(self, extractor: Extractor) -> None:
        """Set up the stages around an extractor."""
        settings = self._settings
        stages = (
            Conversations(settings, cl100k_counter()).stage(),
            Turns(settings).stage(),
            Extraction(settings, extractor).stage(),
            Facts(settings).stage(),
            Embedding(settings, self._embedder).stage(),
            Index(settings, self.index).stage(),
            VectorViews(settings, {VectorKind.FACT: self.index}).stage(),
        )
        self._stages = [StageHarness(stage) for stage in stages]

    async def feed(self, person: dict[str, Any]) -> None:
        """Send a person's sessions; each is closed at its end."""
        for session in person["sessions"]:
            conversation_id = session["conversation_id"]
            for each in session["messages"]:
                message = ChatMessage(
                    message_id=each["id"],
                    conversation_id=conversation_id,
                    user_id=person["person"],
                    role=Role(each["role"]),
                    content=each["text"],
                    sent_at=datetime.fromisoformat(each["at"]).astimezone(UTC),
                )
                await self._send(MESSAGES, conversation_id, message)
            close = Command(
                command_id=f"close-{conversation_id}",
                command=CommandKind.CLOSE,
                conversation_id=conversation_id,
                issued_at=self._arrived,
            )
            await self._send(COMMANDS, conversation_id, close)

    async def facts(self, user_id: str, status: str) -> list[dict[str, Any]]:
        """Return facts as ``GET /v1/facts`` does."""
        where = FactFilter(user_id=user_id, statuses=_STATUSES[status])
        found, _ = await self.index.page(where, 10_000)
        return [msgspec.to_builtins(each) for each in found]

    async def _send(self, topic: str, key: str, value: msgspec.Struct) -> None:
        waiting = deque([Output(topic, key.encode(), msgspec.json.encode(value))])
        while waiting:
            output = waiting.popleft()
            self._arrived += timedelta(milliseconds=50)
            for harness in self._stages:
                if output.topic in harness.spec.sources:
                    waiting += await self._step(harness, output)

    async def _step(self, harness: StageHarness, output: Output) -> list[Output]:
        harness.arrived = self._arrived
        record = harness.record(output.value, output.topic, key=output.key, headers=[*output.headers])
        stepped = harness.spec.step is not None
        effects = harness.feed(record) if stepped else await harness.call(record)
        for _, reason, message, _ in effects.dead_letters:
            raise ValueError(f"{harness.spec.name} refuses a record of {output.topic}: {reason}: {message}")
        return list(effects.outputs)
