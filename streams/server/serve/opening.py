"""The parts of ``switchboard serve``, put together: here is where a new one is made, started and closed."""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import partial

from starlette.routing import BaseRoute, Mount

from processors.retrieval.context.packing import Budget
from streams.admin.topics.cluster import cluster_id
from streams.agents.masking import mask_of
from streams.chat.answering.understanding import Understanding
from streams.clients.broker_clock import BrokerClock
from streams.clients.catalog import catalog_for
from streams.clients.erasure_ledger import open_ledger
from streams.clients.kafka.lookup import Lookup
from streams.clients.kafka.readers import Readers
from streams.clients.policies.topic import PolicyStore
from streams.clients.sending import Sender
from streams.config.settings import Settings
from streams.llm.embedders import open_embedder
from streams.llm.tokenizer import cl100k_counter
from streams.queries.contexts.reading import ContextReader
from streams.queries.conversations.listing import Conversations
from streams.queries.conversations.progress import ProgressReader
from streams.queries.conversations.unread import Unread
from streams.queries.conversations.windows import WindowRetriever
from streams.queries.erasure.forgetting import Forgetter
from streams.queries.erasure.proving import Erasures
from streams.queries.fact_uses import FactUses
from streams.queries.letter_queues import LetterQueues
from streams.queries.live.history import History
from streams.queries.live.reader import Live
from streams.queries.live.status import Status
from streams.server.api.app import Mounted
from streams.server.api.parts import Parts
from streams.server.console.app import Console
from streams.server.replays.beside import Replays
from streams.stores.remembered.opening import OpenEmbedder, open_remembered
from streams.stores.turn_topic import TurnTopic
from streams.telemetry.metrics import Metrics


@dataclass(frozen=True)
class Opened:
    """App of a server: the operations' dependencies, other apps under their own paths, and pages."""

    parts: Parts
    mounted: list[Mounted] = field(default_factory=list)
    pages: list[BaseRoute] = field(default_factory=list)


async def open_all(
    settings: Settings,
    metrics: Metrics,
    resources: AsyncExitStack,
    opening_embedder: OpenEmbedder = open_embedder,
    clock: BrokerClock | None = None,
) -> Opened:
    """Return the opened app; resources to close at the end go on ``resources``.

    Nothing outside has to be up: a part that is down costs only the operations that need it.  ``clock`` is
    compared with the stamps of what is written.

    Raises:
        ConfigurationError: a setting is wrong.
    """
    parts = await open_parts(settings, metrics, resources, opening_embedder, clock)
    await open_chats(settings, metrics, parts, resources, clock)
    catalog = catalog_for(settings)
    live = Live(settings, catalog, parts.status)
    live.start()
    resources.push_async_callback(live.stop)
    parts.live = live
    return Opened(parts, pages=[Mount("", Console())])


async def open_chats(
    settings: Settings,
    metrics: Metrics,
    parts: Parts,
    resources: AsyncExitStack,
    clock: BrokerClock | None = None,
) -> None:
    """Add chats, and the understanding that the settings name; both stand on the parts that there are.

    Raises:
        ConfigurationError: a model is to be asked, and something about it is set wrongly.
    """
    from streams.chat.answering.driving import Answerer
    from streams.chat.answering.recollection import Recollection
    from streams.chat.chats import Chats
    from streams.chat.completions import Completions
    from streams.chat.resending import Resending
    from streams.chat.sending import Sending
    from streams.chat.turn_limiter import TurnLimiter
    from streams.llm.chat_models import open_chat_models
    from streams.llm.tokenizer import open_counter

    count = open_counter(settings.tokenizer)
    chat_models = await open_chat_models(settings, metrics, count, resources, f"serve-{settings.api_port}")
    search, contexts, conversations = parts.part("search"), parts.part("contexts"), parts.part("log")
    parts.understanding = Understanding(search, conversations, chat_models.understander)
    memory = Recollection(
        search,
        parts.understanding,
        contexts,
        conversations,
        parts.part("facts"),
        rates=settings.decay_rates,
    )
    answerer = Answerer(
        memory, count, chat_models.responder, budget=settings.answer_tokens, style=settings.answer_style
    )
    room = TurnLimiter(settings.chat_turns_at_once, metrics)
    shared = parts.part("lookup"), parts.part("leases")
    parts.chats = Chats(settings, answerer, conversations, count, *shared, room)
    resources.push_async_callback(parts.chats.close)
    sending = Sending(settings, clock)
    resources.push_async_callback(sending.close)
    parts.completions = Completions(
        answerer,
        chat_models.responder,
        settings.model_endpoint.model if chat_models.responder is not None else "",
        count,
        settings.answer_tokens,
        parts.mask,
        parts.part("conversations"),
        Resending(sending, conversations, parts.mask),
        room,
    )


async def open_parts(
    settings: Settings,
    metrics: Metrics,
    resources: AsyncExitStack,
    opening_embedder: OpenEmbedder = open_embedder,
    clock: BrokerClock | None = None,
) -> Parts:
    """Return the parts that need no task of their own: those that a command can use, too."""
    catalog = catalog_for(settings)
    remembered = await open_remembered(settings, metrics, resources, opening_embedder)
    sender, readers = Sender(settings, clock), Readers(settings)
    resources.push_async_callback(sender.close)
    resources.push_async_callback(readers.close)
    lookup = Lookup(settings, readers=readers)
    ledger = await open_ledger(settings, resources)
    replays = Replays(settings)
    resources.push_async_callback(replays.close)
    status = Status(settings, catalog)
    resources.push_async_callback(status.close)
    contexts = ContextReader(
        remembered.contexts,
        remembered.log,
        remembered.facts,
        cl100k_counter(),
        budget=Budget(total=settings.context_tokens),
        rates=settings.decay_rates,
    )
    return Parts(
        search=remembered.search,
        facts=remembered.facts,
        log=remembered.log,
        graph=remembered.graph,
        windows=WindowRetriever(remembered.log, TurnTopic(settings, lookup)),
        understanding=Understanding(remembered.search, remembered.log),
        contexts=contexts,
        history=History(settings, catalog, lookup),
        status=status,
        letters=LetterQueues(settings),
        sender=sender,
        conversations=Conversations(settings, remembered.log, sender, lookup),
        progress=ProgressReader(settings, remembered.facts, remembered.log, lookup, ledger),
        unread=Unread(settings, remembered.log, readers),
        most_content_bytes=settings.max_content_bytes,
        metadata_keys=settings.searched_metadata,
        mask=mask_of(settings),
        responder=settings.responder,
        forgetter=Forgetter(settings),
        erasures=Erasures(settings, partial(cluster_id, settings, settings.request_timeout_seconds)),
        lookup=lookup,
        leases=remembered.leases,
        policies=PolicyStore(settings),
        replays=replays,
        uses=FactUses(contexts, remembered.log, lookup),
    )
