"""Answers of an endpoint with OpenAI's API, whole or piece by piece.

Read leniently: servers leave out what they do not know, and send ``null`` for it.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping
from typing import Any

import msgspec

from models.answers import ToolCall
from streams.llm.bounded import FRAMES, lines
from streams.llm.port import Answer, Declined, Finished, StreamEvent, TextDelta, Usage

_OPEN, _CLOSE = "<think>", "</think>"

decode = msgspec.json.Decoder().decode


def answer_of(content: Mapping[str, Any]) -> Answer | Declined:
    """Return the text of a whole answer, or the reason why there is none."""
    usage = usage_of(content)
    choice = _choice(content)
    message = choice.get("message")
    message = message if isinstance(message, dict) else {}
    text = without_thoughts(_text(message.get("content")))
    if refusal := _text(message.get("refusal")):
        return Declined("model_refused", f"the model refuses to answer: {refusal[:300]}", usage)
    if choice.get("finish_reason") == "content_filter" and not text:
        return Declined("model_refused", _FILTERED, usage)
    return Answer(text, usage)


def usage_of(content: Mapping[str, Any]) -> Usage:
    """Return the tokens that an answer says are paid."""
    usage = content.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    details = usage.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else 0
    return Usage(*map(_count, (usage.get("prompt_tokens"), usage.get("completion_tokens"), cached)))


def vectors_of(content: Mapping[str, Any]) -> list[list[float]]:
    """Return the vectors of an answer in the order of the texts; none where it has none."""
    data = content.get("data")
    found = [each for each in data if isinstance(each, dict)] if isinstance(data, list) else []
    ordered = sorted(found, key=lambda each: _count(each.get("index")))
    vectors = [each.get("embedding") for each in ordered]
    return [
        each for each in vectors if isinstance(each, list) and all(isinstance(n, int | float) for n in each)
    ]


def names_of(content: Mapping[str, Any]) -> list[str]:
    """Return the names of the models that an endpoint lists."""
    data = content.get("data")
    listed = data if isinstance(data, list) else []
    return [str(each["id"]) for each in listed if isinstance(each, dict) and each.get("id")]


def without_thoughts(text: str) -> str:
    """Return an answer without what a model thought aloud before it."""
    if not text.lstrip().startswith(_OPEN):
        return text
    return text.partition(_CLOSE)[2].lstrip()


async def pieces_of(
    chunks: AsyncIterator[bytes], decoded: Callable[[bytes], dict[str, Any]]
) -> AsyncGenerator[bytes]:
    """Yield the data of server-sent events; comments, which keep connections open, are no sign of life.

    Of an endpoint that does not stream, its whole answer, read with ``decoded``, as a single piece.
    """
    whole: list[bytes] = []
    streamed = False
    async for line in lines(chunks):
        if line.startswith(b"data:"):
            streamed = True
            yield line.removeprefix(b"data:")
        elif not streamed and line.strip() and not line.startswith(FRAMES):
            whole.append(line)
    if whole and not streamed:
        content = decoded(b"\n".join(whole))
        choices = content.get("choices")
        if isinstance(choices, list) and choices and isinstance(choices[0], dict):
            choices[0]["delta"] = choices[0].get("message")
        yield msgspec.json.encode(content)


class StreamReader:
    """Reads the pieces of one answer."""

    def __init__(self) -> None:
        self._calls: list[_Call] = []
        self._current: dict[int, _Call] = {}
        #: Text that may be, or is, a thought; ``None``: the answer itself has begun.
        self._held: str | None = ""
        self._is_finished = False

    def events(self, content: Mapping[str, Any]) -> Iterator[StreamEvent]:
        """Yield what a piece says."""
        if isinstance(content.get("usage"), dict):
            yield usage_of(content)
        choice = _choice(content)
        delta = choice.get("delta")
        delta = delta if isinstance(delta, dict) else {}
        if text := self._spoken(_text(delta.get("content"))):
            yield TextDelta(text)
        if refusal := _text(delta.get("refusal")):
            yield Declined("model_refused", f"the model refuses to answer: {refusal[:300]}")
        calls = delta.get("tool_calls")
        for each in calls if isinstance(calls, list) else ():
            if isinstance(each, dict):
                self._take_call(each)
        if isinstance(why := choice.get("finish_reason"), str) and why:
            self._is_finished = True
            yield Declined("model_refused", _FILTERED) if why == "content_filter" else Finished(why == "length")

    def ended(self, *, done: bool) -> Iterator[StreamEvent]:
        """Yield what the end of a stream adds; ``done``: the endpoint said that it is one."""
        if self._held and (text := without_thoughts(self._held)):
            yield TextDelta(text)
        self._held = None
        yield from (call.whole() for call in self._calls)
        if done and not self._is_finished:
            yield Finished(at_limit=False)

    def _spoken(self, text: str) -> str:
        """Return the piece without the model's thoughts."""
        if self._held is None or not text:
            return text
        self._held += text
        begun = self._held.lstrip()
        if begun.startswith(_OPEN):
            if _CLOSE not in begun:
                return ""
        elif _OPEN.startswith(begun):
            return ""
        text, self._held = without_thoughts(self._held), None
        return text

    def _take_call(self, piece: Mapping[str, Any]) -> None:
        index, name = _count(piece.get("index")), _text(piece.get("id"))
        call = self._current.get(index)
        # Some servers give all calls of an answer the same index.
        if call is None or (name and call.id and name != call.id):
            call = self._current[index] = _Call()
            self._calls.append(call)
        call.id = call.id or name
        function = piece.get("function")
        if isinstance(function, dict):
            call.name += _text(function.get("name"))
            arguments = function.get("arguments")
            call.arguments += (
                msgspec.json.encode(arguments).decode() if isinstance(arguments, dict) else _text(arguments)
            )


class _Call:
    """A call whose pieces are still coming."""

    id = ""
    name = ""
    arguments = ""

    def whole(self) -> ToolCall:
        try:
            arguments = decode(self.arguments or "{}")
        except (msgspec.DecodeError, UnicodeError):
            arguments = {}
        return ToolCall(id=self.id, name=self.name, arguments=arguments if isinstance(arguments, dict) else {})


_FILTERED = "the endpoint's content filter stopped the answer"


def _choice(content: Mapping[str, Any]) -> Mapping[str, Any]:
    choices = content.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else {}
    return first if isinstance(first, dict) else {}


def _text(value: object) -> str:
    """Return a text, or the texts of parts."""
    if isinstance(value, list):
        return "".join(_text(each.get("text")) for each in value if isinstance(each, dict))
    return value if isinstance(value, str) else ""


def _count(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else 0
