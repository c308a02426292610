"""A deployment with a language model: real broker, real Valkey, and a server that counts what it is asked."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from deploy.local.kafka import LocalKafka
from deploy.local.model_server import ModelServer
from models.memo import Memo
from models.ports import KnownNotes
from streams.admin.topics import admin
from streams.clients.catalog import Catalog, catalog_for
from streams.clients.local_valkey import LocalValkey
from streams.config.settings import Settings
from streams.llm.chat_models import ChatModels, open_chat_models
from streams.llm.extraction_models import ExtractionModels, open_extraction_models
from streams.llm.extractor import ModelExtractor
from streams.llm.memo.memo import MemoLog
from streams.llm.memo.topic import MemoTopic
from streams.llm.memo.view import MemoView
from streams.llm.tokenizer import cl100k_counter
from streams.telemetry.metrics import Metrics
from tests.topic_records import records_of

#: When it is for budgets, which are of a day: one that ended in the middle of a test would begin another.
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


class Rig:
    """A deployment of one extractor, opened and closed as a worker does."""

    def __init__(self, settings: Settings, server: ModelServer, valkey: LocalValkey) -> None:
        self.settings = settings
        self.server = server
        self.valkey = valkey
        self.metrics = Metrics()
        self._resources = AsyncExitStack()

    async def readers(self, known: KnownNotes | None = None, **changes: Any) -> ExtractionModels:
        """Return those of a worker that has just started."""
        settings = self.settings.model_copy(update=changes)
        return await open_extraction_models(settings, self.metrics, cl100k_counter(), self._resources, known)

    async def extractor(self, **changes: Any) -> ModelExtractor:
        """Return that of a worker that has just started."""
        found = (await self.readers(**changes)).extractor
        assert isinstance(found, ModelExtractor)
        found._questions.asking.account.clock = lambda: NOON
        return found

    async def chat_models(self, **changes: Any) -> ChatModels:
        """Return those of a process that has just started."""
        settings = self.settings.model_copy(update=changes)
        return await open_chat_models(settings, self.metrics, cl100k_counter(), self._resources)

    async def empty_redis(self) -> None:
        client = self.valkey.client()
        await client.flushall()
        await client.aclose()

    async def memos(self) -> list[tuple[str, Memo | None]]:
        """Return all records of the topic, in order within a partition."""
        spec = catalog_for(self.settings).get("models.memo.v1")
        records = await records_of(self.settings.bootstrap_servers, {spec.name: spec.partitions})
        return [
            (each.key.decode(), None if each.value is None else msgspec.json.decode(each.value, type=Memo))
            for each in records[spec.name]
        ]

    def metered(self, name: str, **labels: str) -> float:
        """Return a metric of calls for extraction."""
        labels |= {"purpose": "extraction", "model": self.settings.model_endpoint.model}
        found = self.metrics.registry.get_sample_value(f"switchboard_{name}", labels)
        return found or 0.0

    def log(self) -> MemoLog:
        topic = MemoTopic(self.settings)
        self._resources.push_async_callback(topic.close)
        client = self.valkey.client()
        self._resources.push_async_callback(client.aclose)
        log = MemoLog(topic, MemoView(client, self.settings.namespace))
        self._resources.push_async_callback(log.close)
        return log

    async def close(self) -> None:
        await self._resources.aclose()


@pytest.fixture
async def rig(
    kafka: LocalKafka,
    topic_prefix: str,
    tmp_path: Path,
    shared_valkey: LocalValkey,
    authorities_read_once: None,
) -> AsyncIterator[Rig]:
    async with AsyncExitStack() as resources:
        valkey = shared_valkey
        server = await resources.enter_async_context(ModelServer())
        settings = Settings(
            bootstrap_servers=kafka.bootstrap_servers,
            topic_prefix=topic_prefix,
            data_dir=tmp_path,
            redis_url=f"unix://{valkey.socket}",
            model_url=server.url,
            extractor="gemini",
            summarizer="gemini",
            understander="gemini",
            responder="gemini",
            **{"GEMINI_API_KEY": "scripted"},
        )
        catalog = catalog_for(settings)
        await admin.apply(Catalog([catalog.get("models.memo.v1")], catalog.prefix), settings)
        made = Rig(settings, server, valkey)
        resources.push_async_callback(made.close)
        yield made
