"""Writing what is said in a chat: messages, and what is shown of answers, each confirmed by the broker."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from models.messages import ChatMessage
from models.responses import ContentDuplicationEvent, ResponseChunk
from models.turns import TurnSource
from processors.text.validation import decode_chat_message
from streams.clients.broker_clock import BrokerClock
from streams.clients.sending import Outgoing, Sender, check_clock
from streams.clients.topics import DUPLICATES, MESSAGES, RESPONSES
from streams.config.settings import Settings

_encode = msgspec.json.Encoder().encode


class Sending:
    """Writer of a chat's records, with its own producer: a flood of messages over HTTP holds up no answer."""

    def __init__(self, settings: Settings, clock: BrokerClock | None = None) -> None:
        self._most_content_bytes = settings.max_content_bytes
        self._sender = Sender(settings, clock)
        self.close = self._sender.close

    async def message(self, message: ChatMessage) -> TurnSource:
        """Write a message and return where it stands.

        Raises:
            InvalidRecord: ingest would put it aside, so nothing was written.
            DependencyUnavailable: the broker has not confirmed it, and it may be there all the same; or this
                machine's clock is so wrong that nobody takes the message.
        """
        check_clock(message.sent_at)
        [sent] = await self._sender.send([self.checked(message)])
        check_clock(message.sent_at, sent.arrived_ms)
        return TurnSource(topic=MESSAGES, partition=sent.partition, offset=sent.offset)

    def checked(self, message: ChatMessage) -> Outgoing:
        """Return the record of a message.

        Raises:
            InvalidRecord: ingest would put it aside.
        """
        conversation, value = message.conversation_id, _encode(message)
        key = conversation.encode()
        # When it arrives the broker's clock says.
        decode_chat_message(key, value, max_content_bytes=self._most_content_bytes, arrived_ms=0)
        return Outgoing(MESSAGES, key, value, message.message_id, conversation)

    async def send_all(self, records: Sequence[Outgoing]) -> None:
        """Write messages that were checked, in their order.

        Raises:
            DependencyUnavailable: as :meth:`message`.
        """
        if records:
            await self._sender.send(records)

    async def response(self, chunk: ResponseChunk, duplicates: Sequence[ContentDuplicationEvent]) -> None:
        """Write what was shown of an answer, and what was taken out of it.

        Raises:
            DependencyUnavailable: as :meth:`message`.
        """
        response_id, key = chunk.response_id, chunk.response_id.encode()
        records = [Outgoing(DUPLICATES, key, _encode(each), each.event_id, response_id) for each in duplicates]
        shown = Outgoing(RESPONSES, key, _encode(chunk), f"{response_id}/{chunk.sequence}", response_id)
        await self._sender.send([shown, *records])
