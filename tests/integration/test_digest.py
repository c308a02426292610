"""``switchboard digest`` on topics of a real broker."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from deploy.local.kafka import LocalKafka
from streams.cli import digest, main
from streams.clients.kafka import described
from streams.clients.partitioner import partition_of

pytestmark = pytest.mark.kafka

FACTS = "memory.facts.v1"
PARTITIONS = 3


class Broker:
    """Topics of the test's own and what it sends there."""

    def __init__(self, servers: str, prefix: str) -> None:
        self.servers = servers
        self.prefix = prefix

    def name(self, which: str) -> str:
        return f"{self.prefix}{which}-{FACTS}"

    async def create(self, which: str, partitions: int = PARTITIONS) -> str:
        client = AIOKafkaAdminClient(bootstrap_servers=self.servers)
        await client.start()
        await client.create_topics([NewTopic(self.name(which), partitions, 1)])
        # It is made when the controller says so, and there when the broker knows of it.
        async with asyncio.timeout(60):
            while self.name(which) not in (await described(client, [self.name(which)])).found:
                await asyncio.sleep(0.05)
        await client.close()
        return self.name(which)

    async def send(
        self, which: str, records: Sequence[tuple[str, object]], *, transaction: str | None = None
    ) -> None:
        """Send (key, value) records; in an aborted transaction if one is named."""
        async with AIOKafkaProducer(bootstrap_servers=self.servers, transactional_id=transaction) as producer:
            if transaction:
                await producer.begin_transaction()
            for key, value in records:
                raw = None if value is None else json.dumps(value).encode()
                partition = partition_of(key.encode(), PARTITIONS)
                await producer.send(self.name(which), raw, key.encode(), partition=partition)
            await producer.flush()
            if transaction:
                await producer.abort_transaction()


@pytest.fixture
async def broker(
    kafka: LocalKafka, topic_prefix: str, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Broker]:
    monkeypatch.setenv("SWITCHBOARD_BOOTSTRAP_SERVERS", kafka.bootstrap_servers)
    monkeypatch.setenv("SWITCHBOARD_TOPIC_PREFIX", f"{topic_prefix}a-")
    yield Broker(kafka.bootstrap_servers, topic_prefix)


def fact(number: int, **changes: object) -> tuple[str, object]:
    value = {"fact_id": f"f-{number}", "statement": "likes tea", "version": 1, "learned_at": "2026-03-01"}
    return f"f-{number}", value | changes


async def run(*arguments: str) -> int:
    """Run the command in a thread: it has an event loop of its own."""
    return await asyncio.to_thread(main.run, ["digest", *arguments])


async def test_topics_that_say_the_same_in_another_way_are_equal(
    broker: Broker, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = await broker.create("a"), await broker.create("b")
    facts = [fact(number) for number in range(200)]
    await broker.send("a", facts)
    await broker.send("b", [*reversed(facts), fact(999), ("f-999", None), *facts[:50]])
    await broker.send("b", [fact(7, statement="never said")], transaction=f"{broker.prefix}t")
    assert await run(FACTS, second, "--json") == 0
    report = json.loads(capsys.readouterr().out)
    assert report["comparison"] == {"equal": True, "differing": 0, "differences": []}
    assert [topic["topic"] for topic in report["topics"]] == [first, second]
    assert [topic["keys"] for topic in report["topics"]] == [200, 200]
    assert report["topics"][0]["digest"] == report["topics"][1]["digest"]
    assert [len(each["buckets"]) for each in report["topics"][0]["partitions"]] == [256] * PARTITIONS
    assert await run(FACTS, f"{broker.servers}/{second}") == 0
    assert "They say the same." in capsys.readouterr().out


async def test_what_differs_is_named_with_its_fields(
    broker: Broker, capsys: pytest.CaptureFixture[str]
) -> None:
    await broker.create("a")
    second = await broker.create("b")
    await broker.send("a", [fact(0), fact(1), fact(2), fact(3, learned_at="2026-03-02")])
    await broker.send("b", [fact(0), fact(1, statement="likes rum", version=2), fact(3), fact(4)])
    assert await run(FACTS, second, "--json") == digest.DIFFERENT
    found = json.loads(capsys.readouterr().out)["comparison"]
    assert (found["equal"], found["differing"]) == (False, 3)
    assert {(row["key"], row["what"], *row["fields"]) for row in found["differences"]} == {
        ("f-1", "differs", "statement", "version"),
        ("f-2", "only in the first"),
        ("f-4", "only in the second"),
    }
    assert await run(FACTS, second, "--exact", "--limit", "1") == digest.DIFFERENT
    said = capsys.readouterr().out
    assert "They differ in 4 keys." in said, "when it was recorded counts, exactly"
    assert "and 3 more (--limit)" in said


async def test_what_cannot_be_compared_is_refused_with_a_reason(
    broker: Broker, capsys: pytest.CaptureFixture[str]
) -> None:
    await broker.create("a")
    other = await broker.create("b", PARTITIONS + 1)
    for arguments, reason, status in (
        ((FACTS, other), "as many partitions", 78),
        ((FACTS, "memory.windows.v1"), "hold different things", 78),
        (("memory.fact.v1",), "did you mean", 66),
        (("memory.windows.v1",), "does not exist", 66),
        (("memory.windows.v1.dlq",), "digest_key", 78),
    ):
        assert await run(*arguments) == status
        assert reason in capsys.readouterr().err
