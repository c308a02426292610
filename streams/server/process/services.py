"""Stages of each service, and their dependencies."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from models.errors import ConfigurationError
from streams.config.background import in_background
from streams.config.settings import Settings
from streams.config.settings.services import SERVICES
from streams.runtime.stage import Stage
from streams.telemetry.health import HealthState
from streams.telemetry.metrics import Metrics

#: How long a command that looks into the indexes by itself may take: the service that starts meanwhile waits.
_COMMAND_SECONDS = 10.0

Close = Callable[[], Awaitable[None]]
Companion = Callable[[HealthState], Awaitable[Close]]


@dataclass(frozen=True)
class Service:
    """A service made ready: its stages, and what to start beside them once it is up.

    ``companions`` are called with the health state after the app has started; what they return is called
    at the end, before the stages' own resources are closed.  ``needed`` is awaited before the app starts: what
    must be known before the first record is read.
    """

    stages: Sequence[Stage]
    companions: Sequence[Companion] = ()
    needed: Sequence[Callable[[], Awaitable[None]]] = ()


async def open_service(name: str, settings: Settings, metrics: Metrics, resources: AsyncExitStack) -> Service:
    """Make the stages of service ``name``; what must be closed at the end goes on ``resources``.

    Raises:
        ConfigurationError: no such service, or something it needs is set wrongly.
    """
    if name == "ingest":
        return await _ingest(settings, resources)
    if name == "memory":
        return await _memory(settings, metrics, resources)
    if name == "recall":
        return await _recall(settings, metrics, resources)
    if name == "respond":
        return _respond(settings, metrics)
    raise ConfigurationError(f"no service is called {name!r}: choose one of {', '.join(SERVICES)}")


async def _ingest(settings: Settings, resources: AsyncExitStack) -> Service:
    from streams.agents.ingest.conversations import Conversations
    from streams.clients.erasure_ledger import open_ledger
    from streams.llm.tokenizer import open_counter

    ledger = await open_ledger(settings, resources)
    stage = Conversations(settings, open_counter(settings.tokenizer), ledger).stage()
    return Service([stage], needed=[ledger.ready])


def _respond(settings: Settings, metrics: Metrics) -> Service:
    if settings.generation:
        raise ConfigurationError(
            f"SWITCHBOARD_GENERATION={settings.generation}: respond filters what people are shown now, so "
            "there is one for all generations. Unset it for this worker"
        )
    from streams.agents.respond.responses import Responses
    from streams.agents.respond.routing import ChunkRouting

    filtering = Responses(settings, metrics.content_detection_latency_seconds.observe).stage()
    if settings.response_memory == "conversation":
        return Service([ChunkRouting(settings).stage(), filtering])
    return Service([filtering])


async def _memory(settings: Settings, metrics: Metrics, resources: AsyncExitStack) -> Service:
    from streams.agents.memory.commands import Commands
    from streams.agents.memory.extraction import Extraction
    from streams.agents.memory.facts import Facts
    from streams.agents.memory.graph import GraphStage
    from streams.agents.memory.merge_validation import MergeValidation
    from streams.agents.memory.summaries import Summaries
    from streams.agents.recall.episodes import Episodes
    from streams.clients.policies.known import open_policies
    from streams.llm.erasure_answers import ConversationAnswers
    from streams.llm.extraction_models import open_extraction_models
    from streams.llm.tokenizer import open_counter

    count = open_counter(settings.tokenizer)
    policies = await open_policies(settings, resources)
    known = None
    if settings.asks_model("extractor", "graph_reader"):
        from streams.llm.embedders import open_embedder
        from streams.stores.remembered.known import KnownFacts
        from streams.stores.remembered.opening import open_remembered

        remembered = await open_remembered(settings, metrics, resources, open_embedder, policies)
        known = KnownFacts(remembered.search, remembered.facts)
    readers = await open_extraction_models(settings, metrics, count, resources, known, policies)
    stages = [
        Extraction(settings, readers.extractor, readers.graph, policies).stage(),
        Facts(settings, policies).stage(),
        Summaries(settings, readers.summarizer, count).stage(),
        Commands(settings, ConversationAnswers(settings)).stage(),
        MergeValidation(settings, readers.validator).stage(),
        # Its source has a reader in the recall service already, and what it forms is no view.
        Episodes(settings, policies).stage(),
        GraphStage(settings).stage(),
    ]
    return Service(stages, needed=[policies.ready])


async def _recall(settings: Settings, metrics: Metrics, resources: AsyncExitStack) -> Service:
    from models.index import SearchIndex
    from models.vectors import VectorKind
    from processors.retrieval.context.packing import Budget
    from streams.agents.contexts.making import ContextMaker
    from streams.agents.erasure.clean_files import CleanFiles
    from streams.agents.erasure.expiry import Expiry
    from streams.agents.recall.context import ContextStage
    from streams.agents.recall.context_log import ContextView
    from streams.agents.recall.embedding import Embedding
    from streams.agents.recall.episode_index import EpisodeIndex
    from streams.agents.recall.graph_index import entity_index, relation_index
    from streams.agents.recall.index import Index
    from streams.agents.recall.turn_log import TurnLog
    from streams.agents.recall.turns import Turns
    from streams.agents.recall.vectors import VectorViews
    from streams.agents.vectors.queue import VectorQueue
    from streams.agents.vectors.recall_indexes import open_indexes
    from streams.clients.erasure_ledger import open_ledger
    from streams.clients.policies.known import open_policies
    from streams.llm.embedders import behind_contexts, open_vectors
    from streams.llm.tokenizer import cl100k_counter
    from streams.stores.expiring_index import shown_entities, shown_facts, shown_relations
    from streams.stores.log_factory import open_views
    from streams.stores.remembered.opening import shares_views
    from streams.stores.remembered.recall_rpc import Indexes, answer_others, recall_socket
    from streams.stores.search import MemorySearch
    from streams.stores.search.graph import GraphSearch

    embedder, paid = await open_vectors(settings, resources, metrics)
    indexes = await open_indexes(settings, embedder, metrics, resources, _COMMAND_SECONDS)
    index, turns, episodes = indexes.facts, indexes.turns, indexes.episodes
    entities, relations = indexes.entities, indexes.relations
    policies = await open_policies(settings, resources)
    ledger = await open_ledger(settings, resources)
    shown = shown_facts(index, policies)
    kinds: dict[VectorKind, SearchIndex[Any, Any]] = {
        VectorKind.FACT: index,
        VectorKind.TURN: turns,
        VectorKind.EPISODE: episodes,
    }
    views = open_views(settings, resources)
    log = views.log
    vectors = VectorQueue(indexes.embedder, metrics.context_texts_waiting.set)
    resources.push_async_callback(vectors.close)
    maker = ContextMaker(
        shown,
        turns,
        vectors,
        log,
        cl100k_counter(),
        budget=Budget(total=settings.context_tokens),
        rates=settings.decay_rates,
        episodes=episodes,
        missed=metrics.context_log_misses_total.inc,
    )
    stages = [
        Turns(settings, ledger).stage(),
        TurnLog(settings, log, turns).stage(),
        EpisodeIndex(settings, episodes).stage(),
        entity_index(settings, entities),
        relation_index(settings, relations),
        Index(settings, index).stage(),
        Embedding(settings, behind_contexts(embedder), paid, indexes.built, index=index).stage(),
        VectorViews(settings, kinds, built=indexes.built).stage(),
        ContextStage(settings, maker, indexes.embedder.model).stage(),
        ContextView(settings, views.contexts).stage(),
    ]

    expiry = Expiry(
        {"turns": turns, "episodes": episodes},
        timedelta(days=settings.turn_retention_days),
        {"facts": index, "entities": entities, "relations": relations},
    )
    files = CleanFiles(
        (index, turns, episodes, entities, relations),
        timedelta(seconds=settings.erased_files_seconds),
        metrics,
    )
    companions: list[Companion] = [expiry.begin, files.begin]
    if indexes.rebuild is not None:
        companions.append(indexes.rebuild.begin)
    if shares_views(settings):
        return Service(stages, companions, [ledger.ready])  # whoever answers reads the servers itself
    graph = GraphSearch(shown_entities(entities, policies), shown_relations(relations, policies))
    search = MemorySearch(
        shown,
        indexes.embedder,
        turns,
        log,
        episodes,
        graph=graph,
        rates=settings.decay_rates,
        floor=settings.search_floor,
    )

    async def answer(health: HealthState) -> Close:
        server = await answer_others(settings, Indexes(search, shown, graph), health.waited_for)
        health.describe("socket", str(recall_socket(settings)))
        keeping = in_background(views.keep_running(), "valkey")

        async def close() -> None:
            keeping.cancel()
            await server.close()

        return close

    return Service(stages, [answer, *companions], [ledger.ready])
