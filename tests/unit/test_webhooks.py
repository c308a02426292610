"""Webhooks: what is sent and how it is signed, where nothing is sent, and what happens when nobody takes it."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from ipaddress import ip_address
from typing import Any

import httpcore
import pytest
from aiokafka import TopicPartition
from prometheus_client import CollectorRegistry

from models.errors import DependencyUnavailable
from models.webhooks import Undelivered, Webhook
from streams.cli.main import run
from streams.clients.records import Record
from streams.config.settings import Settings
from streams.server.webhooks import delivering
from streams.server.webhooks.addresses import AddressRefused, CheckedNetwork, is_public
from streams.server.webhooks.delivering import Delivery, body_of
from streams.server.webhooks.endpoints import message_id, new_secret, signed_headers
from streams.server.webhooks.sending import Sender
from streams.telemetry.metrics import Metrics

FACTS = "memory.facts.v1"
PLACE = TopicPartition(FACTS, 5)
WRITTEN = datetime(2026, 3, 1, 10, 0, tzinfo=UTC).timestamp()


def webhook(url: str = "https://crm.example.com/hook", **changes: Any) -> Webhook:
    made = {"webhook_id": "w-1", "url": url, "topic": FACTS, "secret": new_secret()}
    return Webhook(**made, **({"created_at": datetime(2026, 3, 1, tzinfo=UTC)} | changes))


def record(value: bytes | None, **changes: Any) -> Record:
    return Record(value, b"f-1", 7, FACTS, 5, int(WRITTEN * 1000))._replace(**changes)


class TestSigning:
    def test_it_is_the_signature_of_standard_webhooks(self) -> None:
        headers = signed_headers(
            "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
            "msg_p5jXN8AQM9LWM0D4loKWxJek",
            1614265330,
            b'{"test": 2432232314}',
        )
        assert headers == {
            "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
            "webhook-timestamp": "1614265330",
            "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
        }

    def test_the_id_is_the_records(self) -> None:
        ids = {message_id("w", FACTS, 1, 23), message_id("w", FACTS, 12, 3), message_id("v", FACTS, 1, 23)}
        assert len(ids) == 3
        assert message_id("w", FACTS, 1, 23) in ids


class TestBody:
    def test_it_holds_the_record(self) -> None:
        body = body_of(
            webhook(), record(b'{"fact_id":"f-1","tenant_id":"acme","value":"\xc3\xa9"}'), "memory.fact.v1"
        )
        assert json.loads(body or b"") == {
            "type": "memory.fact.v1",
            "timestamp": "2026-03-01T10:00:00Z",
            "key": "f-1",
            "data": {"fact_id": "f-1", "tenant_id": "acme", "value": "é"},
        }

    @pytest.mark.parametrize(
        ("value", "tenant", "is_sent"),
        [
            (b'{"tenant_id":"acme"}', "", True),
            (b'{"tenant_id":"acme"}', "acme", True),
            (b'{"tenant_id":"acme"}', "umbrella", False),
            (b"{}", "default", True),
            (b"{}", "acme", False),
            (None, "acme", True),
            (b"{", "", False),
            (b"[" * 20_000 + b"]" * 20_000, "", False),
            (b"\xff", "", False),
        ],
    )
    def test_a_tenants_endpoint_gets_its_records(self, value: bytes | None, tenant: str, is_sent: bool) -> None:
        body = body_of(webhook(tenant_id=tenant), record(value), "memory.fact.v1")
        assert (body is not None) is is_sent

    def test_an_erasure_of_a_person_is_named_by_no_record(self) -> None:
        erased = record(None, headers=[("erased_scope", b'{"user_id":"ada"}')])
        assert body_of(webhook(), erased, "memory.fact.v1") is None


@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0"),
        *("224.0.0.1", "255.255.255.255", "::1", "::", "fe80::1", "fc00::1", "ff02::1", "::ffff:127.0.0.1"),
        *("::ffff:10.0.0.1", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "2002:7f00:1::", "2001:db8::1"),
    ],
)
def test_no_webhook_goes_to_an_address_that_is_not_public(address: str) -> None:
    assert not is_public(ip_address(address))


@pytest.mark.parametrize("address", ["1.1.1.1", "2606:4700:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808"])
def test_a_webhook_may_go_to_a_public_address(address: str) -> None:
    assert is_public(ip_address(address))


class TestAddresses:
    @staticmethod
    def resolved(monkeypatch: pytest.MonkeyPatch, *addresses: str) -> list[str]:
        asked: list[str] = []

        def getaddrinfo(host: str, port: int, **_: Any) -> list[tuple[Any, ...]]:
            asked.append(host)
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (each, port)) for each in addresses]

        monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
        return asked

    async def test_one_private_address_among_others_is_refused(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.resolved(monkeypatch, "1.1.1.1", "10.0.0.1")
        with pytest.raises(AddressRefused, match="leads to 10"):
            await CheckedNetwork(allow_private=False).connect_tcp("crm.example", 443, 1.0)

    async def test_what_was_checked_is_connected_to(self, monkeypatch: pytest.MonkeyPatch) -> None:
        asked = self.resolved(monkeypatch, "1.1.1.1", "1.0.0.1")
        tried: list[str] = []

        class Network(httpcore.AnyIOBackend):
            async def connect_tcp(self, host: str, *_: Any, **__: Any) -> httpcore.AsyncNetworkStream:
                tried.append(host)
                raise httpcore.ConnectError("no")

        network = CheckedNetwork(allow_private=False)
        network._network = Network()
        with pytest.raises(httpcore.ConnectError):
            await network.connect_tcp("crm.example", 443, 1.0)
        assert (asked, tried) == (["crm.example"], ["1.1.1.1", "1.0.0.1"])


@asynccontextmanager
async def endpoint(answer: bytes, *, hangs: bool = False) -> AsyncIterator[tuple[str, list[bytes]]]:
    """A server that answers every request with these bytes, and then closes or hangs; what it was sent."""
    heard: list[bytes] = []
    release = asyncio.Event()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(next(line for line in head.lower().split(b"\r\n") if b"content-length" in line).split()[1])
        heard.append(head + await reader.readexactly(length))
        writer.write(answer)
        await writer.drain()
        if hangs:
            await release.wait()
        writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/hook", heard
    finally:
        release.set()
        server.close()
        await server.wait_closed()


async def sent(url: str, *, seconds: float = 5.0, allow_private: bool = True) -> str:
    sender = Sender(webhook(url), seconds, allow_private=allow_private, clock=lambda: 1614265330)
    try:
        return await sender.send("msg_1", b'{"a":1}')
    finally:
        await sender.close()


class TestSending:
    @pytest.mark.parametrize("status", ["200 OK", "201 Created", "204 No Content"])
    async def test_any_status_of_success_is_taken(self, status: str) -> None:
        async with endpoint(f"HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n".encode()) as (url, heard):
            assert await sent(url) == ""
        (request,) = heard
        head, _, body = request.partition(b"\r\n\r\n")
        assert head.startswith(b"POST /hook HTTP/1.1") and body == b'{"a":1}'
        assert b"webhook-id: msg_1" in head and b"webhook-timestamp: 1614265330" in head

    async def test_an_endpoint_that_answers_200_and_hangs_has_taken_it(self) -> None:
        hanging = b"HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n{"
        async with endpoint(hanging, hangs=True) as (url, _):
            assert await sent(url, seconds=60.0) == ""

    @pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 200 OK\r\ncontent-"])
    async def test_an_endpoint_without_an_answer_has_not(self, answer: bytes) -> None:
        async with endpoint(answer, hangs=True) as (url, _):
            assert await sent(url, seconds=0.3) == "no answer within 0.3 s"

    async def test_a_redirect_is_not_followed(self) -> None:
        async with endpoint(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n") as (elsewhere, followed):
            moved = f"HTTP/1.1 307 Moved\r\nlocation: {elsewhere}\r\ncontent-length: 0\r\n\r\n"
            async with endpoint(moved.encode()) as (url, _):
                assert await sent(url) == "it answered 307"
            assert not followed

    @pytest.mark.parametrize(
        "answer",
        [
            b"HTTP/1.1 500 No\r\ncontent-length: 0\r\n\r\n",
            b"<html>hello</html>\r\n\r\n",
            b"\x16\x03\x01\r\n\r\n",
        ],
    )
    async def test_anything_else_is_a_failure_with_a_reason(self, answer: bytes) -> None:
        async with endpoint(answer) as (url, _):
            assert await sent(url)

    async def test_nobody_there_is_a_failure_with_a_reason(self) -> None:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            assert "ConnectError" in await sent(f"http://127.0.0.1:{taken.getsockname()[1]}/")

    async def test_a_private_address_is_not_called(self) -> None:
        async with endpoint(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n") as (url, heard):
            assert "no public address" in await sent(url, allow_private=False)
            assert not heard


class Rig:
    """A delivery whose endpoint answers as it is told, by a clock that moves when it sleeps."""

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)
        self.sent: list[tuple[str, bytes]] = []
        self.slept: list[float] = []
        self.now = WRITTEN
        self.metrics = Metrics(CollectorRegistry())
        sender: Any = self
        self.delivery = Delivery(Settings(), webhook(), self.metrics, sender, lambda: self.now, self.sleep)

    async def send(self, message: str, body: bytes) -> str:
        self.sent.append((message, body))
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds

    def count(self, outcome: str) -> float:
        name = "switchboard_webhook_deliveries_total"
        found = self.metrics.registry.get_sample_value(name, {"webhook": "w-1", "outcome": outcome})
        return found or 0.0


@pytest.fixture
def letters(monkeypatch: pytest.MonkeyPatch) -> list[Undelivered]:
    found: list[Undelivered] = []

    async def put(_: Settings, key: str, value: Undelivered) -> None:
        found.append(value)

    monkeypatch.setattr(delivering.UNDELIVERED, "put", put)
    return found


class TestDelivering:
    async def test_it_is_retried_by_the_same_id_ever_more_rarely(self, letters: list[Undelivered]) -> None:
        rig = Rig(*["it answered 503"] * 12, "")
        await rig.delivery.deliver(PLACE, record(b"{}"))
        assert len(rig.sent) == 13 and len(set(rig.sent)) == 1
        assert rig.slept[0] <= 1.0 and 300 <= rig.slept[-1] <= 600
        assert (rig.count("failed"), rig.count("delivered"), letters) == (12, 1, [])

    async def test_after_a_day_it_is_given_up(self, letters: list[Undelivered]) -> None:
        rig = Rig("it answered 500")
        await rig.delivery.deliver(PLACE, record(b"{}"))
        assert 86_400 <= rig.now - WRITTEN < 86_401
        (letter,) = letters
        assert (letter.partition, letter.offset, letter.key, letter.reason) == (5, 7, "f-1", "it answered 500")
        assert letter.attempts == len(rig.sent) == rig.count("failed")
        assert (rig.count("dead_lettered"), rig.count("delivered")) == (1, 0)

    async def test_old_records_have_an_hour_after_a_pause_of_ours(self, letters: list[Undelivered]) -> None:
        rig = Rig("it answered 500")
        rig.now += 5 * 86_400
        began = rig.now
        await rig.delivery.deliver(PLACE, record(b"{}"))
        assert 3600 <= rig.now - began < 3601
        # Those behind it were refused for as long.
        await rig.delivery.deliver(PLACE, record(b"{}", offset=8))
        assert rig.now - began < 3601
        assert [each.offset for each in letters] == [7, 8]

    async def test_a_mistake_does_not_end_the_deliveries(self, monkeypatch: pytest.MonkeyPatch) -> None:
        rig, began = Rig(""), []

        async def consume(_: Delivery) -> None:
            began.append(rig.now)
            if len(began) == 3:
                raise asyncio.CancelledError
            raise ValueError("a defect")

        async def close() -> None:
            rig.slept.append(-1.0)

        monkeypatch.setattr(Delivery, "_consume", consume)
        rig.close = close  # type: ignore[attr-defined]
        with pytest.raises(asyncio.CancelledError):
            await rig.delivery.run()
        assert (len(began), rig.slept[-1]) == (3, -1.0), "its connections are closed at the end"

    async def test_what_was_taken_is_committed_when_it_stops(self) -> None:
        """Also where the commit of its batch was under way, or a later record of the batch is refused."""
        rig, committed = Rig(""), []

        class Consumer:
            async def commit(self, offsets: dict[TopicPartition, int]) -> None:
                committed.append(dict(offsets))
                if len(committed) == 1:
                    await asyncio.Event().wait()

        rig.delivery._consumer = Consumer()
        task = asyncio.create_task(rig.delivery._partition(PLACE, [record(b"{}")]))
        rig.delivery._tasks[PLACE] = task
        while not committed:
            await asyncio.sleep(0)
        await rig.delivery._stop([PLACE])
        assert committed == [{PLACE: 8}, {PLACE: 8}]

    async def test_what_was_taken_is_committed_before_a_wait(self) -> None:
        rig, committed = Rig("", "it answered 503", ""), []

        class Consumer:
            async def commit(self, offsets: dict[TopicPartition, int]) -> None:
                committed.append((dict(offsets), len(rig.slept)))

        rig.delivery._consumer = Consumer()
        await rig.delivery._partition(PLACE, [record(b"{}"), record(b"{}", offset=8)])
        assert committed == [({PLACE: 8}, 0), ({PLACE: 9}, 1)]

    async def test_without_kafka_nothing_is_given_up(self, monkeypatch: pytest.MonkeyPatch) -> None:
        async def put(*_: Any) -> None:
            raise DependencyUnavailable("kafka", "down")

        monkeypatch.setattr(delivering.UNDELIVERED, "put", put)
        rig = Rig("it answered 500")
        with pytest.raises(DependencyUnavailable):
            await rig.delivery.deliver(PLACE, record(b"{}"))
        assert rig.count("dead_lettered") == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["ftp://example.com/"], "no such webhook"),
        (["http://127.0.0.1:8371/v1/people"], "no public address"),
        (["https://ada:secret@example.com/"], "no user"),
        (["https://"], "no URL"),
    ],
)
def test_the_command_says_what_is_wrong(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SWITCHBOARD_BOOTSTRAP_SERVERS", "127.0.0.1:1")
    assert run(["webhook", "add", *arguments]) == 78
    assert said in capsys.readouterr().err
