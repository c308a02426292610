"""What the views of the recall service must hold, computed from the topics alone, compared with what is there.

The messages are folded into turns from scratch; what the log of turns, the index of turns and its vectors must
hold follows from the topics.  Nothing here asks a worker: Redis is read by its socket, the index when its
worker has stopped.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import msgspec
import numpy as np
import qdrant_edge as edge
from aiokafka import ConsumerRecord
from topic_reader import Comparison

from models.index import VectorSpace
from models.messages import ChatMessage
from models.turns import Turn
from models.vectors import EmbeddingRequest, EmbeddingResult, VectorKind
from processors.conversations.message_ids import IdPage
from processors.retrieval.embedding.vectors import unpack
from processors.retrieval.recall.masking import Masker
from processors.retrieval.recall.turns import TurnFold, TurnsState
from streams.agents.recall.punctuations import TURNS, is_punctuation
from streams.agents.vectors.requests import EMBEDDINGS, REQUESTS
from streams.clients.catalog import Catalog
from streams.clients.local_valkey import LocalValkey
from streams.clients.topics import MESSAGES
from streams.config.settings import Settings
from streams.llm.onnx_model import DIMENSIONS, MODEL
from streams.stores.conversation_log import ConversationLog
from streams.stores.index_factory import open_index
from streams.stores.qdrant_edge import QdrantEdgeIndex
from streams.stores.qdrant_kinds import TURNS as KIND
from streams.stores.qdrant_payload import VECTOR, is_nobodys


class RecallVerdict(Comparison):
    """The topics of one deployment and the views of its one recall worker."""

    def __init__(self, servers: str, catalog: Catalog, settings: Settings) -> None:
        super().__init__(servers, catalog)
        self._settings = settings
        self.turns: dict[str, Turn] = {}
        self.vectors: dict[str, np.ndarray] = {}

    async def topics(self) -> None:
        self.turns = self._expected(await self._read(MESSAGES))
        written: dict[str, Turn] = {}
        for record in await self._read(TURNS):
            if is_punctuation(record):
                continue
            turn = msgspec.json.decode(record.value, type=Turn)
            if turn != self.turns.get(turn.turn_id):
                self._problem(f"turn {turn} was published, expected {self.turns.get(turn.turn_id)}")
            written[turn.turn_id] = turn
        self._same("published turns", written.keys(), self.turns.keys())
        asked = {}
        for record in await self._read(REQUESTS):
            request = msgspec.json.decode(record.value, type=EmbeddingRequest)
            asked[request.id] = request
        self._same(
            "requests for vectors", asked.keys(), (t.turn_id for t in self.turns.values() if t.text.strip())
        )
        for record in await self._read(EMBEDDINGS):
            result = msgspec.json.decode(record.value, type=EmbeddingResult)
            if result.kind is not VectorKind.TURN:
                continue
            if result.id not in asked or result.text_hash != asked[result.id].text_hash:
                self._problem(f"vector {result.id} is of another text than what was asked for")
            self.vectors[result.id] = unpack(result)
        self._same("vectors", self.vectors.keys(), asked.keys())
        for topic in (TURNS, REQUESTS, EMBEDDINGS):
            if letters := await self._read(topic + ".dlq"):
                self._problem(f"{len(letters)} dead letters of {topic}")

    async def redis(self) -> None:
        """Compare the log of conversations with the topics, while its worker runs."""
        valkey = LocalValkey(self._settings.folder, "recall")
        log = ConversationLog(valkey.client(), self._settings.namespace)
        by_conversation: dict[str, list[Turn]] = defaultdict(list)
        for turn in self.turns.values():
            by_conversation[turn.conversation_id].append(turn)
        try:
            for name, turns in by_conversation.items():
                expected = sorted(turns, key=lambda turn: turn.index)
                if await log.turns("default", name, 0, 10**9) != expected:
                    self._problem(f"the log of {name} is not what was said")
        finally:
            await log.close()

    async def index(self) -> None:
        """Compare the index with the topics, after its worker has stopped."""
        index = open_index(self._settings, KIND, VectorSpace(MODEL, DIMENSIONS))
        assert isinstance(index, QdrantEdgeIndex)
        try:
            request = edge.ScrollRequest(limit=100_000, with_payload=True, with_vector=True)
            records, _ = index._files.shard.engine.scroll(request)
        finally:
            await index.close()
        items = {str(record.id): record for record in records if not is_nobodys(record.payload)}
        self._same("points", items.keys(), self.turns.keys())
        for name, record in items.items():
            if KIND.from_payload(record.payload) != self.turns.get(name):
                self._problem(f"point {name} is not the turn")
            stored = record.vector.get(VECTOR) if isinstance(record.vector, dict) else None
            if name in self.vectors and (
                stored is None or not np.allclose(np.asarray(stored), self.vectors[name], atol=2e-3)
            ):
                self._problem(f"point {name} has not the vector that was computed")

    def finish(self) -> None:
        self._raise()
        print(f"{len(self.turns)} turns, {len(self.vectors)} vectors: as expected in topics, Redis and index")

    def _expected(self, records: Iterable[ConsumerRecord]) -> dict[str, Turn]:
        """Return the turns that the messages are, folded one at a time."""
        mask = Masker([]).mask
        states: dict[bytes, TurnsState] = {}
        pages: defaultdict[bytes, dict[IdPage, bytes]] = defaultdict(dict)
        found: dict[str, Turn] = {}
        for record in records:
            message = msgspec.json.decode(record.value, type=ChatMessage)
            fold = TurnFold(
                record.key.decode(),
                states.get(record.key, TurnsState()),
                forget_seconds=self._settings.conversation_forget_days * 86_400,
                load_ids=pages[record.key].__getitem__,
                source=(MESSAGES, record.partition),
                mask=mask,
            )
            fold.add([(message, record.offset, record.timestamp / 1000)])
            states[record.key] = fold.finish() or TurnsState()
            pages[record.key] |= {name: page for name, page in fold.id_pages.items() if page is not None}
            found |= {turn.turn_id: turn for turn in fold.turns}
        return found

    def _same(self, what: str, found: Iterable[str], expected: Iterable[str]) -> None:
        wanted, there = set(expected), set(found)
        missing, invented = wanted - there, there - wanted
        if missing or invented:
            self._problem(f"{what}: {len(missing)} missing, {len(invented)} that nobody asked for")
