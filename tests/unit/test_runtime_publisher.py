"""The publisher: where an output goes, what a batch and a request hold, what stops the worker."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaTimeoutError, ProducerClosed

from models.errors import ConsistencyError
from streams.clients.aiokafka_internals import MemoryRecords, ProduceRequest
from streams.clients.catalog import load_catalog
from streams.clients.partitioner import partition_of
from streams.config.settings import Settings
from streams.runtime.effects import Output
from streams.runtime.publisher import (
    DELIVERY_TIMEOUT_SECONDS,
    OutputTooLarge,
    Publisher,
    TopicLayout,
    make_producer,
    record_bytes,
)
from streams.runtime.requests import send_in_one_go

PARTITIONS = {"a": 8, "b": 3}
LIMIT = 4000
BATCH = 16_384


def layout() -> TopicLayout:
    return TopicLayout(lambda topic: f"prefix-{topic}", PARTITIONS.__getitem__, lambda topic: LIMIT)


@pytest.fixture
async def publisher() -> AsyncIterator[Publisher]:
    producer = AIOKafkaProducer(max_batch_size=BATCH)
    yield Publisher(producer, layout(), submit_timeout=0.05)
    await producer.stop()


def read(packed: Any) -> list[tuple[str, int, list[tuple[bytes | None, bytes | None, Any]]]]:
    return [
        (
            topic,
            partition,
            [(r.key, r.value, r.headers) for r in MemoryRecords(bytes(builder._build())).next_batch()],
        )
        for topic, partition, builder in packed
    ]


class TestPack:
    async def test_a_partition_beats_a_route_and_that_a_key(self, publisher: Publisher) -> None:
        key, route = b"key", b"some route"
        assert len({partition_of(key, 8), partition_of(route, 8), 5}) == 3
        outputs = [
            Output("a", key, b"1"),
            Output("a", key, b"2", route=route),
            Output("a", key, b"3", route=route, partition=5),
            Output("a", None, b"4"),
            Output("a", None, b"5", route=route),
            Output("b", key, b"6", route=b""),
        ]
        where = {
            value: (topic, partition)
            for topic, partition, records in read(publisher.pack(outputs))
            for _, value, _ in records
        }
        assert where == {
            b"1": ("prefix-a", partition_of(key, 8)),
            b"2": ("prefix-a", partition_of(route, 8)),
            b"3": ("prefix-a", 5),
            b"4": ("prefix-a", 0),
            b"5": ("prefix-a", partition_of(route, 8)),
            b"6": ("prefix-b", partition_of(b"", 3)),
        }

    async def test_no_loop_on_a_refusal(self, publisher: Publisher, monkeypatch: pytest.MonkeyPatch) -> None:
        builder = SimpleNamespace(append=lambda **_: None)
        monkeypatch.setattr(publisher._producer, "create_batch", lambda: builder)
        with pytest.raises(ConsistencyError, match="an empty batch for a refused 5 bytes"):
            publisher.pack_values("a", 5, {b"k": b"value"})

    async def test_all_but_copies_get_the_stamp_and_it_counts(self, publisher: Publisher) -> None:
        stamp = (("sw_code", b"1"), ("sw_config", b"2"))
        outputs = [Output("a", b"k", b"v", [("h", b"")]), Output("a", b"k", b"v", [("h", b"")], copy=True)]
        [(_, _, records)] = read(publisher.pack(outputs, stamp))
        assert [headers for _, _, headers in records] == [[("h", b""), *stamp], [("h", b"")]]
        spare = LIMIT - record_bytes(b"k", None, stamp)
        publisher.pack([Output("a", b"k", bytes(spare))], stamp)
        publisher.pack([Output("a", b"k", bytes(spare + 1), copy=True)], stamp)
        with pytest.raises(OutputTooLarge):
            publisher.pack([Output("a", b"k", bytes(spare + 1))], stamp)

    async def test_a_record_may_be_as_large_as_its_topic_takes(self, publisher: Publisher) -> None:
        take = publisher.pack
        assert publisher.largest("a") == LIMIT
        for key, headers in ((b"key", ()), (None, [("\u20ac" * 9, b"value"), ("n", None)])):
            spare = LIMIT - record_bytes(key, None, headers)
            take([Output("a", key, b"v" * spare, headers)])
            with pytest.raises(OutputTooLarge, match="4001 bytes is larger than a takes") as caught:
                take([Output("a", b"k", b"small"), Output("a", key, b"v" * (spare + 1), headers)])
            assert caught.value.topic == "a"


class HandProducer:
    """Takes batches as the test says."""

    def __init__(self, *failures: BaseException | None) -> None:
        self.failures = list(failures)
        self.taken: list[tuple[Any, str, int]] = []
        self.futures: list[asyncio.Future[Any]] = []

    async def send_batch(self, builder: Any, topic: str, *, partition: int) -> asyncio.Future[Any]:
        failure = self.failures.pop(0) if self.failures else None
        if isinstance(failure, asyncio.CancelledError):
            await asyncio.Event().wait()
        if failure is not None:
            raise failure
        self.taken.append((builder, topic, partition))
        self.futures.append(asyncio.get_running_loop().create_future())
        return self.futures[-1]


class TestSubmit:
    async def test_batches_are_handed_over_in_order(self) -> None:
        producer: Any = HandProducer()
        packed: Any = [("t", 1, "first"), ("t", 1, "second"), ("u", 0, "third")]
        confirmations = await Publisher(producer, layout(), submit_timeout=1).submit(packed)
        assert producer.taken == [("first", "t", 1), ("second", "t", 1), ("third", "u", 0)]
        assert confirmations == producer.futures

    @pytest.mark.parametrize("failure", [ProducerClosed(), KafkaTimeoutError(), asyncio.CancelledError()])
    async def test_a_batch_that_is_not_taken_stops_the_worker(self, failure: BaseException) -> None:
        producer: Any = HandProducer(None, failure)
        packed: Any = [("t", 1, "first"), ("t", 2, "second"), ("t", 3, "third")]
        with pytest.raises(ConsistencyError, match="took no batch for t-2"):
            await Publisher(producer, layout(), submit_timeout=0.01).submit(packed)
        assert [batch for batch, _, _ in producer.taken] == ["first"]

    async def test_an_undeliverable_batch_stops_the_worker_after_the_others(self) -> None:
        producer: Any = HandProducer()
        publisher = Publisher(producer, layout(), submit_timeout=1)
        packed: Any = [("t", 1, "first"), ("t", 2, "second")]
        task = asyncio.create_task(publisher.confirm(await publisher.submit(packed)))
        producer.futures[0].set_exception(KafkaTimeoutError())
        await asyncio.sleep(0.01)
        assert not task.done()
        producer.futures[1].set_result(SimpleNamespace(offset=1))
        with pytest.raises(ConsistencyError, match="could not be delivered"):
            await task


async def test_the_producer_is_idempotent_and_patient() -> None:
    producer = make_producer(Settings(compression="zstd", batch_bytes=20_000), "ingest")
    assert producer._sender._acks == -1
    assert producer._txn_manager is not None
    assert producer.client._client_id == "switchboard-ingest"
    assert producer._max_request_size > max(spec.max_message_bytes for spec in load_catalog())
    assert producer._request_timeout_ms == DELIVERY_TIMEOUT_SECONDS * 1000
    builder = producer.create_batch()
    while builder.append(timestamp=None, key=None, value=bytes(1000)) is not None:
        pass
    assert 19_000 < builder.size() <= 20_000
    assert MemoryRecords(bytes(builder._build())).next_batch().compression_type == 4
    plain = make_producer(Settings(), "ingest")
    builder = plain.create_batch()
    builder.append(timestamp=None, key=None, value=bytes(100))
    assert MemoryRecords(bytes(builder._build())).next_batch().compression_type == 0
    await producer.stop()
    await plain.stop()


TOPICS: list[Any] = [
    [],
    [("windows", [])],
    [("windows", [(0, b"a batch"), (7, bytearray(b"another one"))]), ("changelog", [(3, b""), (4, None)])],
]


class Client:
    """aiokafka's client, as far as it is asked to send."""

    def __init__(self) -> None:
        self.sent: list[Any] = []

    async def send(self, node_id: int, request: Any, **options: Any) -> Any:
        self.sent.append((node_id, request, options))
        return "answered"


@pytest.mark.parametrize("version", range(8))
@pytest.mark.parametrize("topics", TOPICS)
async def test_a_request_is_encoded_as_aiokafka_does(version: int, topics: Any) -> None:
    client = Client()
    send_in_one_go(client)
    request = ProduceRequest(None, -1, 3000, topics)
    assert await client.send(2, request, group=5) == "answered"
    [(node, sent, options)] = client.sent
    assert (node, options) == (2, {"group": 5})
    assert sent.required_acks == -1
    versions = {ProduceRequest.API_KEY: (version, version)}
    plain, flat = request.prepare(versions), sent.prepare(versions)
    assert flat.encode() == plain.encode()
    assert type(flat).encode is not type(plain).encode
    assert (version, plain.RESPONSE_TYPE) == (flat.API_VERSION, flat.RESPONSE_TYPE)
    header = {"correlation_id": 9, "client_id": "bench"}
    assert flat.build_request_header(**header).encode() == plain.build_request_header(**header).encode()
