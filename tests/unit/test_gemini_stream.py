"""Events of Gemini's streams in shapes that the scripted server does not send."""

from __future__ import annotations

from typing import Any

import httpx
import msgspec
import pytest
from google.genai import errors

from models.answers import ToolCall
from streams.llm.gemini.streaming import events_of, read
from streams.llm.port import Declined, Finished, StreamEvent, TextDelta, Usage


async def heard(body: bytes) -> list[StreamEvent]:
    return [event async for content in read(httpx.Response(200, content=body)) for event in events_of(content)]


def said(**candidate: Any) -> bytes:
    return b"data: " + msgspec.json.encode({"candidates": [candidate]}) + b"\n\n"


@pytest.mark.parametrize(
    "body",
    [
        b'data: {"error": {"code": 429, "message": "Slow down.", "status": "RESOURCE_EXHAUSTED"}}\r\n\r\n',
        b'[{\n "error": {\n  "code": 429,\n  "message": "Slow down."\n }\n}]\n',
    ],
)
async def test_an_error_within_a_stream_is_raised_with_its_code(body: bytes) -> None:
    with pytest.raises(errors.APIError) as caught:
        await heard(said(content={"parts": [{"text": "Half"}]}) + body)
    assert (caught.value.code, caught.value.message) == (429, "Slow down.")


@pytest.mark.parametrize("body", [b"<html>\n<p>Sign in", b"data: {\n\n", b"data: 7\n\n", b"data: \xff\n\n"])
async def test_a_response_without_json_objects_is_refused(body: bytes) -> None:
    with pytest.raises(ValueError, match="JSON"):
        await heard(body)


@pytest.mark.parametrize("value", [None, 7, "x", [], {}, [None], [7], {"parts": None}, {"parts": [7]}])
async def test_fields_of_another_kind_say_nothing(value: Any) -> None:
    shapes = [{"candidates": value}, {"candidates": [{"content": value, "finishReason": value}]}]
    for shape in shapes:
        body = b"data: " + msgspec.json.encode(shape) + b"\n\n"
        assert [each for each in await heard(body) if not isinstance(each, Finished)] == []


async def test_thoughts_are_left_out_and_paid() -> None:
    parts = [{"text": "Hm.", "thought": True}, {"text": "Yes."}]
    usage = {"promptTokenCount": 5, "candidatesTokenCount": 2, "thoughtsTokenCount": 3}
    body = msgspec.json.encode({"candidates": [{"content": {"parts": parts}}], "usageMetadata": usage})
    assert await heard(b"data: " + body) == [TextDelta("Yes."), Usage(5, 5, 0)]


async def test_a_call_keeps_its_signature() -> None:
    called = {"functionCall": {"name": "search", "args": {"q": "x"}}, "thoughtSignature": "-_8="}
    (call,) = await heard(said(content={"parts": [called]}))
    assert call == ToolCall(id="", name="search", arguments={"q": "x"}, signature="+/8=")


async def test_a_refusal_names_its_reason() -> None:
    declined, _ = await heard(said(finishReason="SAFETY"))
    assert isinstance(declined, Declined) and declined.message.endswith("SAFETY")
