"""Sending what was said, and seeing what becomes of it."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Annotated, Any, ClassVar
from uuid import uuid4

import msgspec

from models.errors import InvalidRecord, NotFound
from models.ids import deterministic_id
from models.messages import DEFAULT_TENANT, AnyIdentifier, AnyTime, ChatMessage, Identifier, MessageShape
from processors.text import shapes
from processors.text.validation import decode_chat_message
from streams.clients.sending import Outgoing, Sender, check_clock
from streams.clients.topics import MESSAGES
from streams.queries.conversations.listing import Conversations
from streams.queries.conversations.progress import Progress, ProgressReader
from streams.server.api.measuring import REPLACED
from streams.server.api.operations import Call, Parameters, Scope, operation
from streams.server.api.problems import (
    INVALID_REQUEST,
    NOT_ALLOWED,
    TOO_LARGE,
    UNKNOWN_CONVERSATION,
    UNKNOWN_POSITION,
    Problem,
)

#: Messages of one request.
MOST_MESSAGES = 1000

#: Of a message with its metadata, in bytes: its topic takes 1,048,576, of which headers and Kafka need some.
MOST_RECORD_BYTES = 1_000_000

_KEY_HEADER = "idempotency-key"
_LONGEST_KEY = 256

_encode = msgspec.json.Encoder().encode


class NewMessage(MessageShape, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A message, in any form that `chat.messages.v1` takes.

    ``message_id``: made here if left out; ``sent_at``: now; ``user_id``: that of the request.
    """

    conversation_id: AnyIdentifier
    user_id: AnyIdentifier | None = None
    message_id: AnyIdentifier | None = None
    sent_at: AnyTime | None = None
    name: str | None = None
    tool_call_id: str | None = None
    annotations: list[Any] | None = None


class NewMessages(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Messages, in the order in which they were said.  ``user_id``: of those that do not name their own."""

    #: Halves of characters in the body are replaced.
    mends_halves: ClassVar[bool] = True

    messages: Annotated[tuple[NewMessage, ...], msgspec.Meta(min_length=1, max_length=MOST_MESSAGES)]
    user_id: AnyIdentifier | None = None
    tenant_id: AnyIdentifier = DEFAULT_TENANT


class Accepted(msgspec.Struct, frozen=True, kw_only=True):
    """A message that the broker has; ``position`` is what ``/v1/progress`` is asked with."""

    message_id: str
    conversation_id: str
    partition: int
    offset: int
    position: str


class MessagesAccepted(msgspec.Struct, frozen=True, kw_only=True):
    """All of them, in their order."""

    messages: list[Accepted]


def idempotency_key(call: Call) -> str:
    """Return the header ``Idempotency-Key``, ``""`` if there is none.

    Raises:
        Problem: 400; it is too long.
    """
    key = call.request.headers.get(_KEY_HEADER, "")
    if len(key) > _LONGEST_KEY:
        raise Problem(INVALID_REQUEST, f"Idempotency-Key may have {_LONGEST_KEY} characters.")
    return key


@operation(
    "POST",
    "/v1/messages",
    scope=Scope.WRITE,
    status=202,
    problems=[UNKNOWN_CONVERSATION],
    example_body={
        "user_id": "ada",
        "messages": [{"conversation_id": "c-1", "role": "user", "content": "I'm allergic to peanuts."}],
    },
    links={
        "get_progress": {"position": "/messages/0/position"},
        "get_conversation": {"conversation_id": "/messages/0/conversation_id"},
        "get_log": {"conversation_id": "/messages/0/conversation_id"},
        "close_conversation": {"conversation_id": "/messages/0/conversation_id"},
    },
)
async def send_messages(call: Call, body: NewMessages) -> MessagesAccepted:
    """Have messages remembered, up to 1,000 at once, as clients of language models have them.

    The answer comes when the broker has confirmed all of them.  So that they count once if you send them again,
    give each a `message_id`, or the header `Idempotency-Key`, from which ids are made.  A token
    for one person writes into conversations that the person takes part in, and into new ones; nobody
    writes into those of another tenant.
    """
    sender: Sender = call.part("sender")
    key = idempotency_key(call)
    now = datetime.now(UTC)
    if any(each.sent_at is None for each in body.messages):
        check_clock(now)
    messages = [_message(call, body, number, key, now) for number in range(len(body.messages))]
    if len({(each.conversation_id, each.message_id) for each in messages}) < len(messages):
        raise Problem(
            INVALID_REQUEST, "Two messages of a conversation have the same message_id: each has its own."
        )
    if REPLACED in call.request.scope:
        call.request.scope[REPLACED] = _replaced(messages)
    records = [_record(call, each, number) for number, each in enumerate(messages)]
    await _check_writable(call, messages)
    sent = await sender.send(records)
    for given, at in zip(body.messages, sent, strict=True):
        if given.sent_at is None:
            check_clock(now, at.arrived_ms)
    return MessagesAccepted(
        messages=[
            Accepted(
                message_id=message.message_id,
                conversation_id=message.conversation_id,
                partition=at.partition,
                offset=at.offset,
                position=f"{at.partition}:{at.offset}",
            )
            for message, at in zip(messages, sent, strict=True)
        ]
    )


class ProgressParameters(Parameters, frozen=True, kw_only=True):
    """``position``: as `POST /v1/messages` gave it; ``wait``: for how long it may take to answer (seconds)."""

    position: Annotated[str, msgspec.Meta(pattern=r"^[0-9]{1,9}:[0-9]{1,18}$")]
    wait: Annotated[float, msgspec.Meta(ge=0, le=30)] = 0.0
    user_id: Identifier | None = None
    tenant_id: Identifier = DEFAULT_TENANT


@operation(
    "GET",
    "/v1/progress",
    scope=Scope.READ,
    example={"position": "3:1842"},
    problems=[UNKNOWN_POSITION],
)
async def get_progress(call: Call, wanted: ProgressParameters) -> Progress:
    """How far a message has come: waiting for ingest, in the open window, extracted, searchable, or refused.

    With `wait` the answer comes once nothing more becomes of it, or when that time is over.
    """
    progress: ProgressReader = call.part("progress")
    partition, _, offset = wanted.position.partition(":")
    try:
        return await progress.at(wanted.tenant_id, wanted.user_id, int(partition), int(offset), wanted.wait)
    except NotFound as error:
        raise Problem(UNKNOWN_POSITION, f"{error}.") from error


def _message(call: Call, body: NewMessages, number: int, key: str, now: datetime) -> ChatMessage:
    """Return a message as the services read it, which is how it is written."""
    given, where = body.messages[number], f"messages[{number}]"
    user_id = given.user_id if given.user_id is not None else body.user_id
    if user_id is None:
        raise Problem(
            INVALID_REQUEST,
            f"{where} has no user_id, and the request none for all: say whose memory it is.",
        )
    if call.caller.user_id is not None and str(user_id) != call.caller.user_id:
        raise Problem(NOT_ALLOWED, f"{where} is of another person than the token: leave user_id out.")
    try:
        message = shapes.message_of(
            given,
            message_id=given.message_id if given.message_id is not None else str(uuid4()),
            conversation_id=given.conversation_id,
            user_id=user_id,
            tenant_id=body.tenant_id,
            sent_at=now if given.sent_at is None else shapes.moment(given.sent_at),
        )
    except InvalidRecord as error:
        raise Problem(INVALID_REQUEST, f"{where}: {error}.") from error
    if given.message_id is not None or not key:
        return message
    # What is said counts, too: under a key that somebody uses again, nothing else is taken for a repetition.
    said = (message.user_id, message.conversation_id, message.role, message.content)
    made = deterministic_id("message", message.tenant_id, key, str(number), *said)
    return msgspec.structs.replace(message, message_id=made)


def _replaced(messages: list[ChatMessage]) -> int:
    """Return how many characters of contents were replaced in a body that was mended."""
    for number, each in enumerate(messages):
        if any(
            "\ufffd" in name for name in (each.message_id, each.conversation_id, each.user_id, each.tenant_id)
        ):
            raise Problem(
                INVALID_REQUEST, f"messages[{number}] has half a character in an id: send whole ones."
            )
    return sum(each.content.count("\ufffd") for each in messages)


async def _check_writable(call: Call, messages: list[ChatMessage]) -> None:
    """Check that the caller may write; a writer takes part in the conversation from then on, and reads it."""
    found: Conversations = call.part("conversations")
    people: dict[str, str] = {}
    for each in messages:
        people.setdefault(each.conversation_id, each.user_id)
    alone = call.caller.user_id is not None
    try:
        await found.check_writable(messages[0].tenant_id, people, alone=alone)
    except NotFound as error:
        raise Problem(UNKNOWN_CONVERSATION, f"{error}: nothing was sent.") from error


def _record(call: Call, message: ChatMessage, number: int) -> Outgoing:
    """Return the record.  What ingest would refuse is refused here, while somebody listens."""
    key, value = message.conversation_id.encode(), _encode(message)
    most = call.parts.most_content_bytes
    try:
        decode_chat_message(key, value, max_content_bytes=most, arrived_ms=int(time.time() * 1000))
    except InvalidRecord as error:
        raise Problem(INVALID_REQUEST, f"messages[{number}]: {error}.") from error
    if len(value) > MOST_RECORD_BYTES:
        raise Problem(
            TOO_LARGE,
            f"messages[{number}] has {len(value):,} bytes with its metadata, and may have "
            f"{MOST_RECORD_BYTES:,}.",
        )
    return Outgoing(MESSAGES, key, value, message.message_id)
