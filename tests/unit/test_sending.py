"""What is written for whoever asked over HTTP: at a time that its readers take."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest

from models.errors import DependencyUnavailable, InvalidRecord
from models.messages import ChatMessage, Role
from processors.text.validation import decode_chat_message
from streams.chat.sending import Sending
from streams.sending import Outgoing, Sent
from streams.settings import Settings

_BROKER = datetime(2026, 3, 1, 12, tzinfo=UTC)
_BROKER_MS = int(_BROKER.timestamp() * 1000)


class _Broker:
    """Takes everything, at its own time."""

    def __init__(self) -> None:
        self.taken: list[Outgoing] = []

    async def send(self, records: Sequence[Outgoing]) -> list[Sent]:
        self.taken += records
        return [Sent(0, offset, _BROKER_MS) for offset in range(len(records))]


@pytest.fixture
def broker() -> _Broker:
    return _Broker()


@pytest.fixture
def sending(broker: _Broker, monkeypatch: pytest.MonkeyPatch) -> Sending:
    made = Sending(Settings())
    monkeypatch.setattr(made, "_sender", broker)
    return made


def _message(sent_at: datetime) -> ChatMessage:
    return ChatMessage(
        message_id="m1",
        conversation_id="c1",
        user_id="ada",
        role=Role.USER,
        content="My bike is green.",
        sent_at=sent_at,
    )


@pytest.mark.parametrize(
    "away", [timedelta(0), timedelta(hours=-30), timedelta(hours=23), timedelta(days=-9000)]
)
async def test_what_ingest_takes_is_written(sending: Sending, broker: _Broker, away: timedelta) -> None:
    await sending.message(_message(_BROKER + away))
    [record] = broker.taken
    decode_chat_message(record.key, record.value, max_content_bytes=1000, arrived_ms=_BROKER_MS)


async def test_with_a_clock_before_all_chats_nothing_is_written(sending: Sending, broker: _Broker) -> None:
    """Else the reader would be told that it is remembered, and ingest puts it aside."""
    with pytest.raises(DependencyUnavailable, match=r"clock says 1999.*before 2000: set it"):
        await sending.message(_message(datetime(1999, 12, 31, tzinfo=UTC)))
    assert not broker.taken


async def test_with_a_clock_ahead_of_the_brokers_nobody_is_told_that_it_is_remembered(
    sending: Sending, broker: _Broker
) -> None:
    with pytest.raises(DependencyUnavailable, match=r"clock says 2026-03-02.*broker it was 2026-03-01T12"):
        await sending.message(_message(_BROKER + timedelta(hours=25)))
    [record] = broker.taken
    with pytest.raises(InvalidRecord, match="in the future"):
        decode_chat_message(record.key, record.value, max_content_bytes=1000, arrived_ms=_BROKER_MS)
