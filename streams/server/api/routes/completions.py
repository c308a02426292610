"""Chat completions as clients of OpenAI's API ask for them, with memory."""

from __future__ import annotations

import asyncio
import re
import secrets
import time
from collections.abc import AsyncGenerator
from typing import Annotated, Any, ClassVar

import msgspec
from starlette.responses import Response

from models.errors import InvalidRecord, NotFound
from models.messages import DEFAULT_TENANT, Identifier
from processors.conversations.resent import spoken
from streams.chat.completions import BUILTIN, AnswerFailed, Begun, Completions, Event, Wanted
from streams.chat.turn_limiter import NoRoom
from streams.config.printing import encode_json, printable
from streams.server.api.operations import JSON, Call, Parameters, Scope, operation
from streams.server.api.problems import (
    INVALID_REQUEST,
    TOO_MANY_TURNS,
    UNKNOWN_CONVERSATION,
    Problem,
)
from streams.server.api.routes.completion_answers import Chunks, chunks, headers_of, problem_of, whole

#: Longest body: a long history, and images as data (bytes).
_MOST_BYTES = 16 << 20

_MOST_MESSAGES = 10_000

#: An error within this time has a status of its own; later it comes within the stream (seconds).
_FIRST_SECONDS = 10.0

_NO_ID = re.compile(r"[\x00-\x1f\x7f]")

_TokenLimit = Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]


class CompletionParameters(Parameters, frozen=True, kw_only=True):
    """Person whose memory it is, where neither token nor body name one."""

    user_id: Identifier | None = None
    tenant_id: Identifier = DEFAULT_TENANT


class CompletionOptions(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Options that go to the model unchanged."""

    tools: list[dict[str, Any]] | None = None
    tool_choice: str | dict[str, Any] | None = None
    parallel_tool_calls: bool | None = None
    response_format: dict[str, Any] | None = None
    max_tokens: _TokenLimit | None = None
    max_completion_tokens: _TokenLimit | None = None
    temperature: float | None = None
    top_p: float | None = None
    frequency_penalty: float | None = None
    presence_penalty: float | None = None
    logit_bias: dict[str, float] | None = None
    stop: str | list[str] | None = None
    seed: int | None = None
    reasoning_effort: str | None = None
    verbosity: str | None = None


class CompletionBody(CompletionOptions, frozen=True, kw_only=True, omit_defaults=True):
    """A request as OpenAI's API takes it.  Fields that are not named here are not passed on.

    ``user``: whose memory it is, unless the token says it.  ``metadata``: `conversation_id` names the
    conversation.  ``model``: any name; the answer says which model answered.
    """

    #: Halves of characters in the body are replaced.
    mends_halves: ClassVar[bool] = True

    messages: Annotated[list[dict[str, Any]], msgspec.Meta(min_length=1, max_length=_MOST_MESSAGES)]
    model: str | None = None
    stream: bool | None = None
    stream_options: dict[str, Any] | None = None
    user: str | int | None = None
    metadata: dict[str, Any] | None = None
    n: int | None = None
    logprobs: bool | None = None
    top_logprobs: int | None = None
    functions: list[dict[str, Any]] | None = None
    modalities: list[str] | None = None


class Model(msgspec.Struct, frozen=True, kw_only=True):
    """A model that answers."""

    id: str
    object: str = "model"
    created: int = 0
    owned_by: str = "switchboard"


class Models(msgspec.Struct, frozen=True, kw_only=True):
    """Those that there are."""

    data: list[Model]
    object: str = "list"


@operation("GET", "/v1/models", scope=Scope.SELF)
async def list_models(call: Call) -> Models:
    """The model that answers chat completions, as OpenAI's API lists it."""
    there = call.parts.completions
    return Models(data=[Model(id=there.model if there is not None else BUILTIN)])


@operation(
    "POST",
    "/v1/chat/completions",
    scope=Scope.CHAT,
    example_body={"user": "ada", "messages": [{"role": "user", "content": "Where do I live?"}]},
    problems=[UNKNOWN_CONVERSATION, TOO_MANY_TURNS],
    streams=True,
    most_bytes=_MOST_BYTES,
    answer=dict[str, Any],
)
async def create_completion(call: Call, wanted: CompletionParameters, body: CompletionBody) -> Response:
    """Answer a chat as OpenAI's API does, with what is remembered of the person in front.

    New messages are remembered once, however often the client sends them again.  The person is the token's,
    else `user`, else the header `X-Switchboard-User`; the conversation is `metadata.conversation_id`, else the
    header `X-Switchboard-Conversation`, else made of the person and the first question.  The header
    `X-Switchboard-Memory` of the answer is `ok`, or says what is missing: `not-read`, `not-written`.  With
    `stream` the answer comes as `chat.completion.chunk` events.  Errors have a member `error` as OpenAI's.
    """
    completions: Completions = call.part("completions")
    _refuse(body)
    asked = _wanted(call, wanted, body)
    events = completions.answer(asked)
    try:
        return await _answer(call, body, completions.model, events)
    except BaseException:  # of a cancelled request, too: the model is stopped, and nothing more is paid
        await events.aclose()
        raise


async def _answer(call: Call, body: CompletionBody, model: str, events: AsyncGenerator[Event]) -> Response:
    head = {
        "id": f"chatcmpl-{secrets.token_hex(12)}",
        "created": int(time.time()),
        "model": model,
    }
    try:
        begun = await anext(events)
        assert isinstance(begun, Begun)
        if not body.stream:
            return Response(encode_json(await whole(head, events)), headers=headers_of(begun), media_type=JSON)
        # What goes wrong at once has a status; a model that thinks for long is waited for within the stream.
        first = asyncio.ensure_future(anext(events))
        if (await asyncio.wait([first], timeout=_FIRST_SECONDS))[0] and (error := first.exception()):
            raise error
    except (NoRoom, NotFound, AnswerFailed) as error:
        raise problem_of(error) from error
    with_usage = bool((body.stream_options or {}).get("include_usage"))
    stream = Chunks(
        chunks(head, first, events, with_usage=with_usage), call.stopping, events.aclose, call.caller.holds
    )
    stream.headers.update(headers_of(begun))
    return stream


# -- the request -----------------------------------------------------------------------------------------------


def _refuse(body: CompletionBody) -> None:
    """Raise a :class:`Problem` for what no answer here would have."""
    if body.n not in (None, 1):
        raise _wrong("n", f"n is {body.n}, and one answer is made: leave it out, or ask several times.")
    if body.logprobs or body.top_logprobs:
        raise _wrong("logprobs", "There are no log probabilities here: leave logprobs and top_logprobs out.")
    if body.functions:
        raise _wrong("functions", "Functions are sent as tools: [{type: function, function: {…}}].")
    if body.modalities not in (None, ["text"]):
        raise _wrong("modalities", "Answers are text: leave modalities out.")


def _wanted(call: Call, wanted: CompletionParameters, body: CompletionBody) -> Wanted:
    user_id = _identifier(
        "user", wanted.user_id or (body.user if body.user != "" else None), call, "x-switchboard-user"
    )
    if not user_id:
        raise _wrong(
            "user",
            "It is not known whose memory this is: send user, or the header X-Switchboard-User, or a token of "
            "one person.",
        )
    named = (body.metadata or {}).get("conversation_id")
    said = []
    for number, message in enumerate(body.messages):
        where = f"messages[{number}]"
        try:
            told = spoken(message)
        except InvalidRecord as error:
            raise _wrong(where, f"{where}: {error}.") from error
        if told is not None:
            said.append(told)
    options = {
        name: value
        for name in CompletionOptions.__struct_fields__
        if (value := getattr(body, name)) is not None
    }
    return Wanted(
        wanted.tenant_id,
        user_id,
        _identifier("metadata.conversation_id", named, call, "x-switchboard-conversation"),
        tuple(body.messages),
        tuple(said),
        options,
        body.max_completion_tokens or body.max_tokens or 0,
        call.caller.user_id is not None,
    )


def _identifier(name: str, given: object, call: Call, header: str) -> str:
    """Return an id that the body gives, else a header, else ``""``."""
    if given is None:
        sent = call.request.headers.get(header, "").encode("latin-1")
        given, name = sent.decode("utf-8", "replace"), header
    if isinstance(given, int) and not isinstance(given, bool):
        given = str(given)
    if not isinstance(given, str) or len(given) > 256 or _NO_ID.search(given):
        shown = printable(str(given)[:80])
        raise _wrong(
            name, f"{name} is {shown}: an id is text of up to 256 characters, without control characters."
        )
    return given


def _wrong(param: str, detail: str) -> Problem:
    return Problem(INVALID_REQUEST, detail, param=param)
