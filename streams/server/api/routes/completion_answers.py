"""Answers of chat completions in the form of OpenAI's API: whole, in chunks, or what went wrong."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any

import structlog

from models.answers import Trouble
from models.errors import NotFound
from streams.chat.completions import AnswerFailed, Begun, Done, Event
from streams.chat.turn_limiter import NoRoom
from streams.config.printing import encode_json
from streams.queries.live.sse import EventStream
from streams.server.api.problems import (
    INVALID_REQUEST,
    TOO_MANY_REQUESTS,
    TOO_MANY_TURNS,
    UNKNOWN_CONVERSATION,
    Problem,
    openai_error,
    unavailable,
)

log = structlog.get_logger("streams.server.api")

#: When to come again where there is no room, or the model has been asked too often (seconds).
_ROOM_SECONDS = _THROTTLED_SECONDS = "2"
_BUDGET_SECONDS = "60"


class Chunks(EventStream):
    """Chunks as clients of OpenAI read them: they know no events but data, and stumble over others."""

    opening = b": it begins\n\n"
    bye = b'data: {"error":{"message":"The server stops: ask again.","type":"server_error"}}\n\n'


async def chunks(
    head: Mapping[str, Any], first: asyncio.Future[Event], events: AsyncGenerator[Event], *, with_usage: bool
) -> AsyncGenerator[bytes]:
    """Yield an answer as server-sent events."""
    head = {**head, "object": "chat.completion.chunk"}
    more: dict[str, Any] = {"usage": None} if with_usage else {}

    def chunk(delta: Mapping[str, Any], reason: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
        return _data({**head, "choices": [choice], **more})

    yield chunk({"role": "assistant", "content": ""})
    try:
        event: Event | None = await first
        while event is not None:
            if isinstance(event, str):
                yield chunk({"content": event})
            elif isinstance(event, Done):
                for index, called in enumerate(event.calls):
                    yield chunk({"tool_calls": [{"index": index, **called}]})
                yield chunk({}, event.reason)
                if with_usage:
                    yield _data({**head, "choices": [], "usage": _usage(event)})
            event = await anext(events, None)
    except AnswerFailed as error:
        yield _data({"error": openai_error(problem_of(error))})
        return
    except Exception:  # the head is sent: an event is the only way left to tell the client
        log.exception("a chat completion failed")
        yield _data(
            {
                "error": {
                    "message": "This is a mistake in Switchboard; its log has the details.",
                    "type": "server_error",
                }
            }
        )
        return
    finally:
        first.cancel()
    yield b"data: [DONE]\n\n"


async def whole(head: Mapping[str, Any], events: AsyncGenerator[Event]) -> dict[str, Any]:
    """Return an answer at its end."""
    text, done = "", Done("stop", (), 0, 0)
    async with aclosing(events):
        async for event in events:
            if isinstance(event, str):
                text += event
            elif isinstance(event, Done):
                done = event
    message: dict[str, Any] = {"role": "assistant", "content": text, "refusal": None}
    if done.calls:
        message |= {"content": text or None, "tool_calls": [*done.calls]}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": done.reason}
    return {**head, "object": "chat.completion", "choices": [choice], "usage": _usage(done)}


def _data(value: object) -> bytes:
    return b"data: " + encode_json(value) + b"\n\n"


def _usage(done: Done) -> dict[str, int]:
    total = done.input_tokens + done.output_tokens
    return {
        "prompt_tokens": done.input_tokens,
        "completion_tokens": done.output_tokens,
        "total_tokens": total,
    }


def headers_of(begun: Begun) -> dict[str, str]:
    """Return the headers of an answer: its conversation, and what memory lacks."""
    lacks = [*(() if begun.is_read else ("not-read",)), *(() if begun.is_written else ("not-written",))]
    name = begun.conversation_id
    shown = {"x-switchboard-conversation": name} if name.isascii() and name.isprintable() else {}
    return {"cache-control": "no-store", "x-switchboard-memory": ", ".join(lacks) or "ok", **shown}


def problem_of(error: NoRoom | NotFound | AnswerFailed) -> Problem:
    """Return the problem that is answered instead."""
    if isinstance(error, NoRoom):
        return Problem(TOO_MANY_TURNS, f"{error}. Ask again in a moment.", {"retry-after": _ROOM_SECONDS})
    if isinstance(error, NotFound):
        return Problem(UNKNOWN_CONVERSATION, f"{error}.", param="metadata.conversation_id")
    if error.trouble is Trouble.REFUSED:
        return Problem(INVALID_REQUEST, f"The model refuses the request: {error}", param="messages")
    if error.trouble in (Trouble.THROTTLED, Trouble.OVER_BUDGET):
        seconds = _THROTTLED_SECONDS if error.trouble is Trouble.THROTTLED else _BUDGET_SECONDS
        return Problem(TOO_MANY_REQUESTS, str(error), {"retry-after": seconds})
    return unavailable("model", str(error))
