"""How long a record lives, to scale: the catalog's own rules with seconds for days, on a real broker."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import msgspec
import pytest
from aiokafka import AIOKafkaProducer

from deploy.local.kafka import LocalKafka
from streams.admin.topics.admin import apply
from streams.clients.catalog import Catalog, load_catalog
from streams.clients.topic_spec import TopicSpec
from streams.config.settings import Settings
from tests.topic_records import records_of

pytestmark = pytest.mark.kafka

#: A broker that looks at once; whether it finds anything to do is the topic's configuration alone.
EAGER = {
    "log.initial.task.delay.ms": "100",
    "log.retention.check.interval.ms": "200",
    "log.segment.delete.delay.ms": "100",
    "log.cleaner.backoff.ms": "200",
}


@pytest.fixture(scope="module")
def eager(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalKafka]:
    with LocalKafka(tmp_path_factory.mktemp("eager"), overrides=EAGER) as kafka:
        yield kafka


async def made(kafka: LocalKafka, name: str, **changes: object) -> TopicSpec:
    """Create a topic of the catalog with other times and one partition; the broker alone judges it."""
    spec = msgspec.structs.replace(
        load_catalog().get(name), partitions=1, co_partitioned_with=(), dead_letter=False, **changes
    )
    result = await apply(Catalog([spec]), Settings(bootstrap_servers=kafka.bootstrap_servers))
    assert result.remaining == []
    return spec


async def values(kafka: LocalKafka, topic: str) -> list[bytes | None]:
    records = await records_of(kafka.bootstrap_servers, {topic: 1})
    return [record.value for record in records[topic]]


async def test_retention_ends_while_a_topic_is_written_to(eager):
    """A segment that stayed open for its default week would keep its oldest record for a week more."""
    spec = await made(eager, "chat.response-chunks.v1", retention_ms=3000)
    async with asyncio.timeout(120), AIOKafkaProducer(bootstrap_servers=eager.bootstrap_servers) as producer:
        await producer.send_and_wait(spec.name, b"the oldest")
        # One look at both: what is newer goes, too, if we are kept from looking for as long as it lives.
        while b"the oldest" in (found := await values(eager, spec.name)) or b"a newer one" not in found:
            await producer.send_and_wait(spec.name, b"a newer one")
            await asyncio.sleep(0.05)
