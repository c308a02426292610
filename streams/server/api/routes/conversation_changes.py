"""Conversations begun, closed and forgotten."""

from __future__ import annotations

from datetime import datetime
from uuid import uuid4

import msgspec

from models.errors import ConfigurationError
from models.messages import DEFAULT_TENANT, Identifier
from streams.queries.conversations.listing import Conversations
from streams.queries.erasure.proving import Accepted, Erasures
from streams.server.api.operations import Call, Scope, operation
from streams.server.api.problems import NOT_READ_YET, UNKNOWN_CONVERSATION, Problem
from streams.server.api.routes.conversations import ConversationParameters, checked


class NewConversation(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Owner of a new conversation."""

    user_id: Identifier
    tenant_id: Identifier = DEFAULT_TENANT


class Begun(msgspec.Struct, frozen=True, kw_only=True):
    """The name of a conversation that nothing was said in yet."""

    conversation_id: str
    user_id: str
    tenant_id: str


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """Accepted command, applied when it is read."""

    conversation_id: str
    tenant_id: str
    asked: str


class Erased(msgspec.Struct, frozen=True, kw_only=True):
    """Accepted erasure.

    ``erasure_id``: `GET /v1/erasures/{erasure_id}` tells whether it is done, and has the certificate.
    ``gone``: from where, as soon as the services have read it, within seconds.  What lies in topics remains to
    their readers: in ``compacted`` ones until then, in others until ``kept`` says, by topic.
    """

    erasure_id: str
    conversation_ids: list[str]
    user_id: str
    tenant_id: str
    gone: list[str]
    compacted: datetime
    kept: dict[str, datetime]


_GONE = ["search", "facts", "windows", "vectors", "contexts", "conversations"]


def erased(accepted: Accepted) -> Erased:
    """Return the answer to what was erased."""
    asked, left, erasure_id = accepted
    return Erased(
        erasure_id=erasure_id,
        conversation_ids=[*asked.conversation_ids],
        user_id=asked.user_id,
        tenant_id=asked.tenant_id,
        gone=_GONE,
        compacted=left.compacted,
        kept=left.kept,
    )


@operation(
    "POST",
    "/v1/conversations",
    scope=Scope.WRITE,
    status=201,
    example_body={"user_id": "ada"},
    links={
        "get_conversation": {"conversation_id": "/conversation_id"},
        "delete_conversation": {"conversation_id": "/conversation_id"},
    },
)
async def new_conversation(call: Call, body: NewConversation) -> Begun:
    """A name for a new conversation, which no other has. It begins with its first message."""
    return Begun(conversation_id=str(uuid4()), user_id=body.user_id, tenant_id=body.tenant_id)


@operation(
    "POST",
    "/v1/conversations/{conversation_id}/close",
    scope=Scope.WRITE,
    status=202,
    example={"conversation_id": "c-1", "user_id": "ada"},
    problems=[UNKNOWN_CONVERSATION, NOT_READ_YET],
)
async def close_conversation(call: Call, wanted: ConversationParameters) -> Asked:
    """End the open window of a conversation now, so that facts come of its last messages; it may go on."""
    found: Conversations = call.part("conversations")
    if call.caller.user_id is not None:
        await checked(found, wanted)
    await found.close(wanted.tenant_id, wanted.conversation_id)
    return Asked(conversation_id=wanted.conversation_id, tenant_id=wanted.tenant_id, asked="close")


@operation(
    "DELETE",
    "/v1/conversations/{conversation_id}",
    scope=Scope.WRITE,
    status=202,
    example={"conversation_id": "c-1", "user_id": "ada"},
    problems=[UNKNOWN_CONVERSATION, NOT_READ_YET],
)
async def delete_conversation(call: Call, wanted: ConversationParameters) -> Erased:
    """Forget what was said in a conversation so far, or with `user_id` what that person said in it."""
    found: Conversations = call.part("conversations")
    await checked(found, wanted)
    erasures: Erasures = call.part("erasures")
    try:
        return erased(
            await erasures.erase_conversation(wanted.tenant_id, wanted.conversation_id, wanted.user_id or "")
        )
    except ConfigurationError as error:
        raise Problem(UNKNOWN_CONVERSATION, f"{error}.") from error
