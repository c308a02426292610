"""A memory as the services keep it, without a broker: their stages, called one after the other, on real
indexes.

Messages go through the stages of ``ingest``, ``memory`` and ``recall`` in the order of the topics; what they
write is stored in embedded Qdrant and a Valkey of its own, and searched by the search of the API.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import numpy as np

from models.graph import Entity, Relation
from models.ids import text_hash
from models.index import FactIndex, GraphFilter, SearchIndex, Vectors, VectorSpace
from models.messages import PUNCTUATION_HEADER, ChatMessage, Punctuation, PunctuationKind
from models.ports import Embedder
from models.turns import Turn
from models.vectors import VectorKind
from processors.conversations.episodes.state import KeptTurn, kept
from processors.extraction.graph.reading import read
from processors.extraction.graph.resolving import resolve
from streams.agents.ingest.conversations import Conversations
from streams.agents.memory.extraction import Extraction
from streams.agents.memory.facts import FACTS, Facts
from streams.agents.recall.embedding import Embedding
from streams.agents.recall.index import Index
from streams.agents.recall.turn_log import TurnLog
from streams.agents.recall.turns import TURNS as TURNS_TOPIC
from streams.agents.recall.turns import Turns
from streams.agents.recall.vectors import VectorViews
from streams.agents.vectors.requests import EMBEDDINGS, REQUESTS
from streams.clients.topics import CANDIDATES, MESSAGES, WINDOWS
from streams.config.settings import Settings
from streams.llm.builtin_extractor import BuiltinExtractor
from streams.llm.onnx_embedder import OnnxEmbedder
from streams.llm.onnx_reader import OnnxReader
from streams.llm.tokenizer import cl100k_counter
from streams.runtime.effects import Output
from streams.runtime.stage import Stage
from streams.runtime.testing import StageHarness
from streams.stores.conversation_log import ConversationLog
from streams.stores.index_factory import open_index
from streams.stores.log_factory import open_views
from streams.stores.qdrant_kinds import ENTITIES, RELATIONS, TURNS, facts_kind
from streams.stores.search import MemorySearch, TurnIndex
from streams.stores.search.graph import GraphSearch

#: When everything arrives, and is asked for: after all that the sets say, and the same on every day.
NOW = datetime(2026, 3, 1, tzinfo=UTC)

_BATCH = 500
_PATIENCE = 600.0

Item = TypeVar("Item", Output, ChatMessage)


class CachedEmbedder:
    """Keeps the vectors of an embedder in a file, so that another run need not compute them again."""

    def __init__(self, inner: Embedder, path: Path | None) -> None:
        self._inner = inner
        self._path = path
        self._known: dict[str, Vectors] = {}
        self.computed = 0
        if path is not None and path.is_file():
            with np.load(path) as stored:
                self._known = dict(zip(stored["names"].tolist(), stored["vectors"], strict=True))

    @property
    def model(self) -> str:
        return self._inner.model

    @property
    def dimensions(self) -> int:
        return self._inner.dimensions

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """See the port."""
        names = [text_hash(f"{self.model} {text}") for text in texts]
        missing = {name: text for name, text in zip(names, texts, strict=True) if name not in self._known}
        if missing:
            vectors = await self._inner.embed([*missing.values()])
            self._known.update(zip(missing, vectors, strict=True))
            self.computed += len(missing)
        if not names:
            return np.empty((0, self.dimensions), dtype=np.float32)
        return np.stack([self._known[name] for name in names])

    def save(self) -> None:
        """Write the file."""
        if self._path is not None and self.computed:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            np.savez(self._path, names=np.array([*self._known]), vectors=np.stack([*self._known.values()]))


class Memory:
    """The indexes and the log, filled by :meth:`remember` and searched by :attr:`search`."""

    def __init__(
        self,
        settings: Settings,
        facts: FactIndex,
        turns: TurnIndex,
        log: ConversationLog,
        embedder: Embedder,
        entities: SearchIndex[Entity, GraphFilter],
        relations: SearchIndex[Relation, GraphFilter],
    ) -> None:
        graph = GraphSearch(entities, relations)
        self.search = MemorySearch(
            facts,
            embedder,
            turns,
            log,
            graph=graph,
            rates=settings.decay_rates,
            # On a busy machine, too, all is found that can be: nothing is left out for being late.
            embed_timeout=_PATIENCE,
            neighbour_timeout=_PATIENCE,
            clock=lambda: NOW,
        )
        self.facts, self.turns, self.log, self.embedder = facts, turns, log, embedder
        self._settings = settings
        self._entities, self._relations = entities, relations
        self._index = StageHarness(Index(settings, facts).stage())
        self._turn_log = StageHarness(TurnLog(settings, log, turns).stage())
        self._embedding = StageHarness(Embedding(settings, embedder).stage())
        indexes: dict[VectorKind, SearchIndex[Any, Any]] = {VectorKind.FACT: facts, VectorKind.TURN: turns}
        self._vectors = StageHarness(VectorViews(settings, indexes, lambda: NOW).stage())

    async def remember(self, messages: Sequence[ChatMessage]) -> None:
        """Take the messages of one person, in order; they arrive at :data:`NOW`, whenever they were sent."""
        outputs = [*(await self.learn(messages)).outputs, *self.say(messages).outputs]
        await _call(self._index, FACTS, outputs)
        await _call(self._turn_log, TURNS_TOPIC, outputs)
        await _call(self._embedding, REQUESTS, outputs)
        await _call(self._vectors, EMBEDDINGS, self._embedding.outputs)
        self._embedding.outputs.clear()
        await self._relate([each.value for each in outputs if each.topic == TURNS_TOPIC and each.value])

    async def _relate(self, records: Iterable[bytes]) -> None:
        """Make the graph of a person's turns."""
        turns = [msgspec.json.decode(each, type=Turn) for each in records]
        by_conversation: dict[str, list[KeptTurn]] = {}
        for turn in turns:
            by_conversation.setdefault(turn.conversation_id, []).append(kept(turn))
        graph = resolve(each for name, said in by_conversation.items() for each in read(name, said))
        await self._entities.upsert([*graph.entities.values()])
        await self._relations.upsert([*graph.relations.values()])

    async def learn(self, messages: Sequence[ChatMessage]) -> StageHarness:
        """Return the stage of facts, with what is learned and the vectors that are asked for."""
        conversations = _harness(Conversations(self._settings, cl100k_counter()).stage())
        for part in _parts(messages):
            conversations.feed(*[conversations.record(message) for message in part])
        for name in dict.fromkeys(message.conversation_id for message in messages):
            said = Punctuation(punctuation=PunctuationKind.CLOSE, conversation_id=name)
            header = (PUNCTUATION_HEADER, PunctuationKind.CLOSE.value.encode())
            conversations.feed(conversations.record(said, MESSAGES, headers=[header]))
        extraction = _harness(Extraction(self._settings, BuiltinExtractor(OnnxReader())).stage())
        await _call(extraction, WINDOWS, conversations.outputs)
        facts = _harness(Facts(self._settings).stage())
        for found in _parts([each for each in extraction.outputs if each.topic == CANDIDATES]):
            facts.feed(*[facts.record(each.value, key=each.key) for each in found])
        return facts

    def say(self, messages: Sequence[ChatMessage]) -> StageHarness:
        """Return the stage of turns, with them and the vectors that are asked for."""
        turns = _harness(Turns(self._settings).stage())
        for part in _parts(messages):
            turns.feed(*[turns.record(message) for message in part])
        return turns


@asynccontextmanager
async def opened(folder: Path, cache: Path | None = None) -> AsyncIterator[Memory]:
    """Open a memory in an empty folder; ``cache``: a file of vectors."""
    settings = Settings(data_dir=folder)
    async with AsyncExitStack() as resources:
        inner = OnnxEmbedder(cache_size=0, timeout=600.0)
        resources.push_async_callback(inner.close)
        embedder = CachedEmbedder(inner, cache)
        resources.callback(embedder.save)
        space = VectorSpace(embedder.model, embedder.dimensions)
        facts = open_index(settings, facts_kind(settings.decay_rates), space)
        resources.push_async_callback(facts.close)
        turns = open_index(settings, TURNS, space)
        resources.push_async_callback(turns.close)
        entities, relations = open_index(settings, ENTITIES, space), open_index(settings, RELATIONS, space)
        resources.push_async_callback(entities.close)
        resources.push_async_callback(relations.close)
        log = open_views(settings, resources).log
        yield Memory(settings, facts, turns, log, embedder, entities, relations)


def _harness(stage: Stage) -> StageHarness:
    return StageHarness(stage, start=NOW)


async def _call(harness: StageHarness, topic: str, outputs: Iterable[Output]) -> None:
    """Hand on what was written to a topic."""
    for part in _parts([each for each in outputs if each.topic == topic]):
        records = [harness.record(each.value, topic, key=each.key, headers=list(each.headers)) for each in part]
        await harness.call(*records)
        if harness.dead_letters:
            raise RuntimeError(f"{harness.spec.name} refuses a record: {harness.dead_letters[0]}")
        await asyncio.sleep(0)


def _parts(items: Sequence[Item]) -> Iterable[Sequence[Item]]:
    return [items[at : at + _BATCH] for at in range(0, len(items), _BATCH)]
