"""What is written for whoever asked over HTTP: at a time that its readers take."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import msgspec
import pytest
import samples
from aiokafka.errors import OutOfOrderSequenceNumber
from aiokafka.structs import RecordMetadata, TopicPartition

from models.errors import DependencyUnavailable, InvalidRecord
from models.messages import ChatMessage
from processors.text.validation import decode_chat_message
from streams.chat.sending import Sending
from streams.clients import kafka
from streams.clients.sending import Outgoing, Sender, Sent
from streams.config.settings import Settings

_BROKER = datetime(2026, 3, 1, 12, tzinfo=UTC)
_BROKER_MS = int(_BROKER.timestamp() * 1000)


class _Broker:
    """Takes everything, at its own time."""

    def __init__(self) -> None:
        self.taken: list[Outgoing] = []

    async def send(self, records: Sequence[Outgoing]) -> list[Sent]:
        self.taken += records
        return [Sent(0, offset, _BROKER_MS) for offset in range(len(records))]


class _Producer:
    """Refuses what it is told to, and from then on everything, as the broker does what is out of order."""

    def __init__(self, refuses: bytes) -> None:
        self._refuses = refuses
        self._is_out_of_order = False
        self.is_closed = False

    async def send(self, topic: str, value: bytes, *_: object, **__: object) -> asyncio.Future[RecordMetadata]:
        confirmed: asyncio.Future[RecordMetadata] = asyncio.get_running_loop().create_future()
        if self._is_out_of_order or value == self._refuses:
            confirmed.set_exception(OutOfOrderSequenceNumber())
            self._is_out_of_order = True
        else:
            confirmed.set_result(RecordMetadata(topic, 0, TopicPartition(topic, 0), 7, _BROKER_MS, 0, 0))
        return confirmed

    async def stop(self) -> None:
        self.is_closed = True


async def test_after_a_record_that_is_refused_others_are_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[_Producer] = []

    def make_producer(*_: object) -> _Producer:
        made.append(_Producer(b"too large"))
        return made[-1]

    async def connect(*_: object) -> None: ...

    monkeypatch.setattr(kafka, "make_producer", make_producer)
    monkeypatch.setattr(kafka, "connect", connect)
    sender = Sender(Settings())
    for _ in range(2):
        with pytest.raises(DependencyUnavailable, match="has not confirmed it"):
            await sender.send([Outgoing("chat.messages.v1", b"c", b"too large", "e")])
        assert await sender.send([Outgoing("chat.messages.v1", b"c", b"fits", "e")]) == [Sent(0, 7, _BROKER_MS)]
    await sender.close()
    assert len(made) == 3 and all(each.is_closed for each in made)


@pytest.fixture
def broker() -> _Broker:
    return _Broker()


@pytest.fixture
def sending(broker: _Broker, monkeypatch: pytest.MonkeyPatch) -> Sending:
    made = Sending(Settings())
    monkeypatch.setattr(made, "_sender", broker)
    return made


def _message(sent_at: datetime) -> ChatMessage:
    return samples.message(1, sent_at=sent_at)


@pytest.mark.parametrize(
    "away", [timedelta(0), timedelta(hours=-30), timedelta(hours=23), timedelta(days=-9000)]
)
async def test_what_ingest_takes_is_written(sending: Sending, broker: _Broker, away: timedelta) -> None:
    await sending.message(_message(_BROKER + away))
    [record] = broker.taken
    decode_chat_message(record.key, record.value, max_content_bytes=1000, arrived_ms=_BROKER_MS)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"message_id": "m\n1"}, "message_id holds control characters"),
        ({"content": "x" * 70_000}, "exceeds 65536 bytes"),
    ],
)
async def test_what_ingest_refuses_is_not_written(
    sending: Sending, broker: _Broker, changed: dict[str, str], said: str
) -> None:
    with pytest.raises(InvalidRecord, match=said):
        await sending.message(msgspec.structs.replace(_message(_BROKER), **changed))
    assert not broker.taken
