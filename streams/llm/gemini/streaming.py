"""The stream of an answer: ``google-genai`` asks, and the lines of the response are read here.

The library makes a validated model of each event, of some words each.  So the transport takes the response
of a stream away from it (:func:`taken`), if it is no error, and it sees an empty one.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import httpx
import msgspec
from google.genai import errors

from models.answers import ToolCall
from streams.clients.cloudevents import traceparent
from streams.llm.bounded import FRAMES, bounded, lines
from streams.llm.gemini.answers import BLOCKED, UNREAD
from streams.llm.port import Declined, Finished, StreamEvent, TextDelta, Usage

_TAKEN: ContextVar[list[httpx.Response] | None] = ContextVar("taken", default=None)

#: An event: an object, or, of an endpoint that does not stream, a list with one.
_decode = msgspec.json.Decoder(dict[str, Any] | list[dict[str, Any]]).decode

#: Ends of an answer that was cut.
_CUT = ("MAX_TOKENS", "CONTINUATION")

#: Signatures come in either alphabet of base64, and are kept in the usual one.
_USUAL = str.maketrans("-_", "+/")


class _Bounded(httpx.AsyncByteStream):
    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __aiter__(self) -> AsyncGenerator[bytes]:
        return bounded(self._stream)

    async def aclose(self) -> None:
        await self._stream.aclose()


class Transport(httpx.AsyncHTTPTransport):
    """Bounds responses, passes traces on, and gives a response to whoever takes it."""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request."""
        if trace := traceparent():
            request.headers["traceparent"] = trace
        response = await super().handle_async_request(request)
        response.stream = _Bounded(response.stream)
        wanted = _TAKEN.get()
        if wanted is None or not response.is_success:
            return response
        response.request = request
        wanted.append(response)
        return httpx.Response(response.status_code)


@contextmanager
def taken() -> Iterator[list[httpx.Response]]:
    """Take the responses to what is asked meanwhile; the caller closes them."""
    responses: list[httpx.Response] = []
    token = _TAKEN.set(responses)
    try:
        yield responses
    finally:
        _TAKEN.reset(token)


async def read(response: httpx.Response) -> AsyncGenerator[Mapping[str, Any]]:
    """Yield the JSON of each event of a response; comments, which keep connections open, are passed over.

    Raises:
        APIError: the endpoint sent an error instead.
        ValueError: the response is not a stream of JSON objects.
        TooLongError: the response has too many bytes.
    """
    data: list[bytes] = []
    others: list[bytes] = []
    async for line in lines(response.aiter_bytes()):
        if line.startswith(b"data:"):
            data.append(line[len(b"data:") :])
        elif not line.strip():
            if data:
                yield _content(b"\n".join(data))
            data = []
        elif not line.startswith(FRAMES):
            others.append(line)
    for left in (data, others):
        if left:
            yield _content(b"\n".join(left))


def _content(data: bytes) -> Mapping[str, Any]:
    try:
        content: dict[str, Any] | list[dict[str, Any]] = _decode(data)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise ValueError("no object of JSON") from error
    if isinstance(content, list):
        if not content:
            raise ValueError("an empty list")
        content = content[0]
    if "error" in content:
        told = _dict(content["error"])
        raise errors.APIError(_count(told.get("code")) or 500, {"error": told})
    return content


def events_of(content: Mapping[str, Any]) -> Iterator[StreamEvent]:
    """Yield what a piece of a streamed answer says."""
    candidate = _dict(next(iter(_list(content.get("candidates"))), None))
    for part in map(_dict, _list(_dict(candidate.get("content")).get("parts"))):
        if called := _dict(part.get("functionCall")):
            yield _call_of(called, part)
        elif (text := _text(part.get("text"))) and not part.get("thought"):
            yield TextDelta(text)
    usage = _usage_of(content)
    if "usageMetadata" in content:
        yield usage
    finished = _text(candidate.get("finishReason"))
    if why := _text(_dict(content.get("promptFeedback")).get("blockReason")):
        yield Declined("model_refused", f"{UNREAD}: {why}", usage)
    elif finished in BLOCKED:
        yield Declined("model_refused", f"Gemini refuses to answer: {finished}", usage)
    if finished:
        yield Finished(at_limit=finished in _CUT)


def _call_of(called: Mapping[str, Any], part: Mapping[str, Any]) -> ToolCall:
    return ToolCall(
        id=_text(called.get("id")),
        name=_text(called.get("name")),
        arguments=_dict(called.get("args")),
        signature=_text(part.get("thoughtSignature")).translate(_USUAL),
    )


def _usage_of(content: Mapping[str, Any]) -> Usage:
    usage = _dict(content.get("usageMetadata"))
    thought = _count(usage.get("thoughtsTokenCount"))
    return Usage(
        _count(usage.get("promptTokenCount")),
        _count(usage.get("candidatesTokenCount")) + thought,
        _count(usage.get("cachedContentTokenCount")),
    )


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _count(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
