"""Reading ``chat.messages.v1``: messages, copies of messages, and punctuations, in one order for all who read.

Whoever counts messages reads the log through here into a conversation of his own
(:class:`processors.conversations.sequence.Sequencer`), so that all count alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from models.errors import MissingMessageId
from models.ids import message_id
from models.messages import PUNCTUATION_HEADER, ChatMessage, Punctuation, PunctuationKind
from processors.text.validation import decode, decode_chat_message, decode_message
from streams.clients.erasure_ledger import Refusing
from streams.clients.records import Headers, Origin, SourceRecord, header, origin
from streams.runtime.deadletters import HEADER_PREFIX


class Conversation(Protocol):
    """State of one conversation.  Times are epoch seconds."""

    def is_second_copy(self, origin: str, offset: int, came: float, arrived: float) -> bool:
        """Say whether a record was copied here before."""
        ...

    def add(self, run: Iterable[tuple[ChatMessage, int, float]]) -> None:
        """Take the next messages: (message, offset, arrival)."""
        ...

    def tick(self, arrived: float) -> None:
        """Somebody found it silent."""
        ...

    def close(self, tenant_id: str, offset: int) -> None:
        """Somebody of this tenant says that it is over, in the record at ``offset``."""
        ...

    def erase(self, tenant_id: str, user_id: str, offset: int, arrived: float) -> None:
        """Somebody of this tenant wants gone what was said until now, by a person or (``""``) by everybody."""
        ...


def decode_item(record: SourceRecord, max_content_bytes: int) -> ChatMessage | Punctuation:
    """Return the decoded record of ``chat.messages.v1``; raises :class:`InvalidRecord` as its decoders do."""
    if record.headers and header(record.headers, PUNCTUATION_HEADER):
        return decode(Punctuation, record.value)
    try:
        return decode_chat_message(
            record.key, record.value, max_content_bytes=max_content_bytes, arrived_ms=record.timestamp
        )
    except MissingMessageId:
        return decode_chat_message(
            record.key,
            record.value,
            max_content_bytes=max_content_bytes,
            arrived_ms=record.timestamp,
            message_id=made_id(record),
        )


def read_message(record: SourceRecord) -> ChatMessage:
    """Return the message of a record, whether the services take it or not.

    Raises:
        InvalidRecord: as :func:`processors.text.validation.decode_message`.
    """
    try:
        return decode_message(record.value)
    except MissingMessageId:
        return decode_message(record.value, made_id(record))


def made_id(record: SourceRecord) -> str:
    """Return the id of a message that has none: made of where its record stands, of a copy the first one."""
    came_from = _origin(record.headers) if record.headers else None
    if came_from is not None:
        return message_id(came_from.place, came_from.offset)
    return message_id(f"{record.topic}-{record.partition}", record.offset)


def fold_into(
    conversation: Conversation, items: Sequence[tuple[ChatMessage | Punctuation, SourceRecord]]
) -> int:
    """Fold messages and punctuations in order; return how many copies were passed over that had come before."""
    headers = [record.headers for _, record in items]
    if not any(headers):
        # Neither punctuations nor copies, as most of the time.
        conversation.add([(item, record.offset, record.timestamp / 1000) for item, record in items])  # type: ignore[misc]
        return 0
    copied = 0
    messages: list[tuple[ChatMessage, int, float]] = []
    for item, record in items:
        arrived = record.timestamp / 1000
        if record.headers and (came_from := _origin(record.headers)) is not None:
            conversation.add(messages)
            messages = []
            came = came_from.timestamp / 1000
            if conversation.is_second_copy(came_from.place, came_from.offset, came, arrived):
                copied += 1
                continue
        if isinstance(item, ChatMessage):
            messages.append((item, record.offset, arrived))
            continue
        conversation.add(messages)
        messages = []
        if item.punctuation == PunctuationKind.TICK:
            conversation.tick(arrived)
        elif item.punctuation == PunctuationKind.CLOSE:
            conversation.close(item.tenant_id, record.offset)
        elif item.punctuation == PunctuationKind.ERASE:
            conversation.erase(item.tenant_id, item.user_id, record.offset, arrived)
    conversation.add(messages)
    return copied


def taken(
    items: Sequence[tuple[ChatMessage | Punctuation, SourceRecord]], ledger: Refusing
) -> Sequence[tuple[ChatMessage | Punctuation, SourceRecord]]:
    """Return the items without messages of people who were erased after they had sent them."""
    if ledger.is_empty:
        return items
    return [
        (item, record)
        for item, record in items
        if not isinstance(item, ChatMessage) or not ledger.refuses(item, arrived_at(record))
    ]


def arrived_at(record: SourceRecord) -> float:
    """Return when a message arrived (epoch seconds); of a copy, when the original did."""
    came_from = _origin(record.headers) if record.headers else None
    return (record.timestamp if came_from is None else came_from.timestamp) / 1000


def _origin(headers: Headers) -> Origin | None:
    """Return the original of a copied record; a retried dead letter has none."""
    came_from = origin(headers)
    if came_from is not None and any(name.startswith(HEADER_PREFIX) for name, _ in headers):
        return None
    return came_from
