"""The parts of the recall service that make contexts, without a broker: a real Valkey, embedded indexes, and an
embedder that a test can stop.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import samples
from word_embedder import WordEmbedder

from models.context import Context, ContextRequest, Tier
from models.episodes import Episode
from models.facts import Fact
from models.index import EpisodeFilter, FactIndex, SearchIndex, TurnFilter, VectorSpace
from models.turns import Turn
from processors.retrieval.context.packing import Budget
from streams.agents.contexts.making import ContextMaker
from streams.agents.contexts.requests import CONTEXT_REQUESTS, CONTEXTS
from streams.agents.recall.context import ContextStage
from streams.agents.recall.context_log import ContextView
from streams.agents.vectors.queue import VectorQueue
from streams.clients.local_valkey import LocalValkey
from streams.config.settings import Settings
from streams.llm.tokenizer import cl100k_counter
from streams.queries.contexts.reading import ContextAnswer, ContextReader
from streams.runtime.effects import Effects
from streams.runtime.testing import START, StageHarness
from streams.stores.context_log import ContextLog
from streams.stores.conversation_log import ConversationLog
from streams.stores.index_factory import open_index
from streams.stores.qdrant_kinds import EPISODES, FACTS, TURNS

NOW = START + timedelta(hours=1)


def turn(index: int, text: str = "", conversation: str = "c", **changes: Any) -> Turn:
    return samples.turn(index, text, conversation_id=conversation, **changes)


def fact(statement: str, user: str = "ada", tenant: str = "default", **changes: Any) -> Fact:
    said = samples.evidence(statement, conversation_id="earlier", window_id="w", message_ids=("e1",))
    known = {"user_id": user, "tenant_id": tenant, "confidence": 0.9, "provenance": (said,)}
    return samples.fact(statement, **(known | changes))


class Rig:
    """The stages that make and keep contexts, and the reader of them."""

    def __init__(
        self,
        valkey: LocalValkey,
        log: ConversationLog,
        contexts: ContextLog,
        settings: Settings,
        facts: FactIndex,
        turns: SearchIndex[Turn, TurnFilter],
        episodes: SearchIndex[Episode, EpisodeFilter],
    ) -> None:
        self.valkey, self.log, self.contexts, self.facts, self.turns = valkey, log, contexts, facts, turns
        self.episodes = episodes
        self.embedder = WordEmbedder()
        self.now: datetime = NOW
        self.misses = 0
        self.waiting: list[int] = []
        self.vectors = VectorQueue(self.embedder, self.waiting.append)
        self.maker = ContextMaker(
            facts,
            turns,
            self.vectors,
            log,
            cl100k_counter(),
            budget=Budget(total=settings.context_tokens),
            episodes=episodes,
            clock=lambda: self.now,
            missed=self._missed,
        )
        self.settings = settings
        self.stage = self.stage_with_patience(settings.context_patience_ms)
        self.view = StageHarness(ContextView(settings, contexts).stage())
        self.reader = ContextReader(contexts, log, facts, cl100k_counter(), clock=lambda: self.now)

    def stage_with_patience(self, milliseconds: float) -> StageHarness:
        """Return the stage as it waits so long for a vector."""
        settings = Settings(**self.settings.model_dump() | {"context_patience_ms": milliseconds})
        return StageHarness(ContextStage(settings, self.maker, "words").stage())

    def _missed(self) -> None:
        self.misses += 1

    async def know(self, *facts: Fact, embedded: bool = True) -> None:
        """Put facts into the index."""
        await self.facts.upsert(facts)
        if embedded and facts:
            vectors = await self.embedder.embed([each.statement for each in facts])
            await self.facts.store_vectors([each.fact_id for each in facts], vectors, "words")

    async def hear(self, *turns: Turn, embedded: bool = True) -> None:
        """Put turns into the log and the index."""
        await self.log.write([(each, each.index) for each in turns])
        await self.turns.upsert(turns)
        if embedded:
            vectors = await self.embedder.embed([each.text for each in turns])
            await self.turns.store_vectors([each.turn_id for each in turns], vectors, "words")

    async def remember(self, *turns: Turn) -> Episode:
        """Put turns into the log and the indexes, and the episode that they are."""
        await self.hear(*turns)
        made = samples.episode(*turns)
        await self.episodes.upsert([made])
        vectors = await self.embedder.embed([made.text])
        await self.episodes.store_vectors([made.episode_id], vectors, "words")
        return made

    async def ask(self, *requests: ContextRequest | tuple[Turn, ...]) -> list[Context]:
        """Let the stage take requests, one batch; return the contexts that it published."""
        made = [
            each
            if isinstance(each, ContextRequest)
            else ContextRequest(turns=each, conversation_id=each[-1].conversation_id)
            for each in requests
        ]
        effects = await self.stage.call(*[self.stage.record(each) for each in made])
        return published(effects)

    async def keep(self, *contexts: Context) -> None:
        """Let the view take contexts, one batch."""
        await self.view.call(*[self.view.record(each) for each in contexts])

    async def say(self, *turns: Turn) -> Context:
        """Hear turns, make the context after them, and keep it."""
        await self.hear(*turns)
        (context,) = await self.ask(turns[-5:])
        await self.keep(context)
        return context

    async def read(self, user: str = "ada", conversation: str = "c", tenant: str = "default") -> ContextAnswer:
        return await self.reader.read(tenant, user, conversation)

    def again(self) -> list[ContextRequest]:
        """Return what the stage asked itself in its latest call."""
        decoder = msgspec.json.Decoder(ContextRequest)
        outputs = [each for each in self.stage.last.outputs if each.topic == CONTEXT_REQUESTS]
        return [decoder.decode(each.value or b"") for each in outputs]


def published(effects: Effects) -> list[Context]:
    decoder = msgspec.json.Decoder(Context)
    return [decoder.decode(each.value or b"") for each in effects.outputs if each.topic == CONTEXTS]


def inside(context: Context, tier: Tier) -> list[str]:
    """Return the texts of a tier that are in the prompt."""
    return [item.text for item in context.items if item.tier is tier and item.left_out is None]


@asynccontextmanager
async def open_rig(folder: Path, **changed: Any) -> AsyncIterator[Rig]:
    settings = Settings(data_dir=folder, context_patience_ms=5_000, **changed)
    async with AsyncExitStack() as resources:
        valkey = LocalValkey(folder, "n")
        resources.push_async_callback(valkey.close)
        await valkey.ensure()  # not by the first who reads a context, and waits for two seconds only
        client = valkey.client()
        resources.push_async_callback(client.aclose)
        log = ConversationLog(client, settings.namespace, ready=valkey.ensure)
        contexts = ContextLog(client, settings.namespace, ready=valkey.ensure)
        space = VectorSpace("words", WordEmbedder.dimensions)
        facts = open_index(settings, FACTS, space)
        resources.push_async_callback(facts.close)
        turns = open_index(settings, TURNS, space)
        resources.push_async_callback(turns.close)
        episodes = open_index(settings, EPISODES, space)
        resources.push_async_callback(episodes.close)
        rig = Rig(valkey, log, contexts, settings, facts, turns, episodes)
        resources.push_async_callback(rig.vectors.close)
        yield rig
