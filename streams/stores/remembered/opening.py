"""Where what is remembered is read: here, as far as servers hold it, else where the recall service has it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

from streams.config.settings import Settings
from streams.stores.remembered.ports import Remembered
from streams.stores.remembered.recall_rpc import ask_recall, recall_socket
from streams.telemetry.metrics import Metrics

if TYPE_CHECKING:
    from models.index import FactReader
    from models.ports import Embedder
    from streams.clients.policies.known import Policies
    from streams.stores.conversation_log import ConversationLog
    from streams.stores.search import MemorySearch
    from streams.stores.search.graph import GraphSearch

#: Opens the embedder of the settings; what is to be closed goes on the stack.
OpenEmbedder = Callable[[Settings, AsyncExitStack, Metrics], Awaitable["Embedder"]]


def shares_views(settings: Settings) -> bool:
    """Tell whether servers hold all views, so that every process can read them by itself."""
    return bool(settings.qdrant_url and settings.redis_url)


async def open_remembered(
    settings: Settings,
    metrics: Metrics,
    resources: AsyncExitStack,
    open_embedder: OpenEmbedder,
    policies: Policies | None = None,
) -> Remembered:
    """Return the opened views; resources to close at the end go on ``resources``.

    The index is opened here where a Qdrant server has it.  The logs of conversations are read where they are:
    in Redis, or in the Valkey of the recall service.  Nobody is spoken to before something is read.
    ``policies``: those that this process follows already.
    """
    from streams.stores.log_factory import open_views, open_views_of_recall

    far, remote = ask_recall(recall_socket(settings))
    resources.push_async_callback(remote.close)
    if settings.redis_url:
        log, contexts, leases, *_ = open_views(settings, resources)
    else:
        log, contexts, leases, *_ = open_views_of_recall(settings, remote.connected, resources)
    if not settings.qdrant_url:
        return Remembered(far.search, far.facts, log, contexts, far.graph, leases)
    from streams.clients.policies.known import open_policies

    embedder = await open_embedder(settings, resources, metrics)
    policies = policies or await open_policies(settings, resources)
    search, facts, graph = open_search(settings, embedder, log, resources, policies)
    return Remembered(search, facts, log, contexts, graph, leases)


def open_search(
    settings: Settings,
    embedder: Embedder,
    log: ConversationLog | None,
    resources: AsyncExitStack,
    policies: Policies,
) -> tuple[MemorySearch, FactReader, GraphSearch]:
    """Open the indexes; return what searches them, without ``log`` without looking around what is found.

    What ``policies`` no longer show is left out.
    """
    from models.index import VectorSpace
    from streams.stores.expiring_index import shown_entities, shown_facts, shown_relations
    from streams.stores.index_factory import open_index
    from streams.stores.qdrant_kinds import ENTITIES, EPISODES, RELATIONS, TURNS, facts_kind
    from streams.stores.search import MemorySearch
    from streams.stores.search.graph import GraphSearch

    space = VectorSpace(embedder.model, embedder.dimensions)
    stored = open_index(settings, facts_kind(settings.decay_rates), space)
    resources.push_async_callback(stored.close)
    facts = shown_facts(stored, policies)
    turns = open_index(settings, TURNS, space)
    resources.push_async_callback(turns.close)
    episodes = open_index(settings, EPISODES, space)
    resources.push_async_callback(episodes.close)
    entities, relations = open_index(settings, ENTITIES, space), open_index(settings, RELATIONS, space)
    resources.push_async_callback(entities.close)
    resources.push_async_callback(relations.close)
    graph = GraphSearch(shown_entities(entities, policies), shown_relations(relations, policies))
    search = MemorySearch(
        facts,
        embedder,
        turns,
        log,
        episodes,
        graph=graph,
        rates=settings.decay_rates,
        floor=settings.search_floor,
    )
    return search, facts, graph
