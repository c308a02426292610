"""Meaning of a question, before an answer."""

from __future__ import annotations

from typing import Annotated

import msgspec

from models.errors import NotFound
from models.messages import DEFAULT_TENANT, Identifier
from models.understanding import QueryUnderstanding
from processors.retrieval.recall.question import LONGEST_QUESTION, InvalidQuestion
from streams.chat.answering.understanding import Understanding
from streams.server.api.operations import Call, Parameters, Scope, operation
from streams.server.api.problems import INVALID_REQUEST, UNKNOWN_CONVERSATION, Problem
from streams.server.api.usage import usage


class UnderstandingParameters(Parameters, frozen=True, kw_only=True):
    """``conversation_id``: where it is asked; left out, at a conversation's beginning."""

    q: Annotated[str, msgspec.Meta(max_length=LONGEST_QUESTION)]
    user_id: Identifier
    conversation_id: Identifier | None = None
    tenant_id: Identifier = DEFAULT_TENANT


@operation(
    "GET",
    "/v1/understanding",
    scope=Scope.READ,
    example={"q": "what does she eat", "user_id": "ada"},
    problems=[UNKNOWN_CONVERSATION],
)
async def get_understanding(call: Call, wanted: UnderstandingParameters) -> QueryUnderstanding:
    """Meaning of a question, before an answer."""
    try:
        return await _read(call, wanted)
    except InvalidQuestion as error:
        raise Problem(INVALID_REQUEST, f"{error}. {usage(get_understanding)}.") from error


class UnderstandingQuestion(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """As the parameters of `GET /v1/understanding`."""

    q: Annotated[str, msgspec.Meta(max_length=LONGEST_QUESTION)]
    user_id: Identifier
    conversation_id: Identifier | None = None
    tenant_id: Identifier = DEFAULT_TENANT


@operation(
    "POST",
    "/v1/understanding",
    scope=Scope.READ,
    example_body={"q": "what does she eat", "user_id": "ada"},
    problems=[UNKNOWN_CONVERSATION],
)
async def post_understanding(call: Call, body: UnderstandingQuestion) -> QueryUnderstanding:
    """As `GET /v1/understanding`, with the question in the body: words of people do not belong into logs."""
    try:
        return await _read(call, UnderstandingParameters(**msgspec.structs.asdict(body)))
    except InvalidQuestion as error:
        raise Problem(INVALID_REQUEST, f"{error}. {usage(post_understanding)}.") from error


async def _read(call: Call, wanted: UnderstandingParameters) -> QueryUnderstanding:
    understanding: Understanding = call.part("understanding")
    try:
        return await understanding.read(
            wanted.q, wanted.user_id, wanted.tenant_id, wanted.conversation_id or ""
        )
    except NotFound as error:
        raise Problem(UNKNOWN_CONVERSATION, f"{error}.") from error
