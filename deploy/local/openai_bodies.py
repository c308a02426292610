"""OpenAI's chat completions in the words of Gemini's API, which the scripted model reads, and back."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from deploy.local import scripted_model as scripted
from deploy.local.model_faults import Fault, spoiled

#: Characters of a piece of a streamed answer, and most pieces of one; and characters of a piece of a call.
_PIECE, _MOST_PIECES, _CALL_PIECE = 24, 200, 7


def gemini_body(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return a request as ``generateContent`` takes it."""
    made: dict[str, Any] = {"contents": []}
    names: dict[str, str] = {}
    for message in body.get("messages", ()):
        text = {"text": _text(message.get("content"))}
        match message.get("role"):
            case "system" | "developer":
                made["systemInstruction"] = {"parts": [text]}
            case "tool":
                told = {"name": names.get(message["tool_call_id"], ""), "response": {"result": text["text"]}}
                made["contents"].append({"role": "user", "parts": [{"functionResponse": told}]})
            case "assistant":
                calls = message.get("tool_calls") or ()
                names |= {each["id"]: each["function"]["name"] for each in calls}
                parts = [
                    {
                        "functionCall": {
                            "name": each["function"]["name"],
                            "args": json.loads(each["function"]["arguments"]),
                        }
                    }
                    for each in calls
                ]
                made["contents"].append({"role": "model", "parts": [text, *parts]})
            case _:
                made["contents"].append({"role": "user", "parts": [text]})
    if tools := body.get("tools"):
        made["tools"] = [{"functionDeclarations": [each["function"] for each in tools]}]
    return made


def _text(content: Any) -> str:
    """Return a content, or the texts of its parts; the scripted model sees no images."""
    if isinstance(content, list):
        return "\n".join(part.get("text", "") for part in content)
    return content or ""


def completion(body: Mapping[str, Any], text: str, number: int, fault: Fault | None) -> dict[str, Any]:
    """Return the answer to a request, as a fault leaves it."""
    asked = scripted.tokens(gemini_body(body))
    message: dict[str, Any] = {"role": "assistant", "content": text, "refusal": None}
    reason, called = "stop", scripted.call_in(text)
    if called is not None and fault is None:
        function = {"name": called["name"], "arguments": json.dumps(called["args"])}
        message |= {
            "content": None,
            "tool_calls": [{"id": f"call_{number}", "type": "function", "function": function}],
        }
        reason = "tool_calls"
    elif fault is Fault.BLOCKED_PROMPT:
        message |= {"content": None, "refusal": "I cannot help with that."}
    elif fault is Fault.BLOCKED_ANSWER:
        message["content"], reason = "", "content_filter"
    elif fault is Fault.NO_TEXT:
        message["content"] = None
    elif fault is not None:
        message["content"] = spoiled(fault, text)
        reason = "length" if fault is Fault.CUT_JSON else "stop"
    used = scripted.tokens(message["content"] or text)
    return {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": body.get("model", ""),
        "choices": []
        if fault is Fault.NO_CANDIDATES
        else [{"index": 0, "message": message, "finish_reason": reason, "logprobs": None}],
        "usage": {
            "prompt_tokens": asked,
            "completion_tokens": used,
            "total_tokens": asked + used,
            "prompt_tokens_details": {"cached_tokens": asked // 2},
        },
    }


def chunks(answer: Mapping[str, Any], *, with_usage: bool) -> Iterator[str]:
    """Yield an answer as events: a call's arguments come in pieces, and what was counted comes last."""
    head = {key: answer[key] for key in ("id", "created", "model")} | {"object": "chat.completion.chunk"}

    def event(choices: list[dict[str, Any]], **more: Any) -> str:
        return f"data: {json.dumps(head | {'choices': choices} | more, ensure_ascii=False)}\n\n"

    def delta(**said: Any) -> str:
        return event([{"index": 0, "delta": said, "finish_reason": None}])

    yield ": a comment that keeps the connection open\n\n"
    for choice in answer["choices"]:
        message = choice["message"]
        yield delta(role="assistant", content="")
        if refusal := message["refusal"]:
            yield delta(refusal=refusal)
        content = message["content"] or ""
        step = max(_PIECE, len(content) // _MOST_PIECES)
        for at in range(0, len(content), step):
            yield delta(content=content[at : at + step])
        for index, call in enumerate(message.get("tool_calls", ())):
            function = call["function"]
            first = {"id": call["id"], "type": "function", "function": function | {"arguments": ""}}
            yield delta(tool_calls=[{"index": index, **first}])
            arguments = function["arguments"]
            for at in range(0, len(arguments), _CALL_PIECE):
                piece = {"index": index, "function": {"arguments": arguments[at : at + _CALL_PIECE]}}
                yield delta(tool_calls=[piece])
        yield event([{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}])
    if with_usage:
        yield event([], usage=answer["usage"])
    yield "data: [DONE]\n\n"
