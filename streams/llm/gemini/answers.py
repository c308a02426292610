"""Answers of the Gemini API: a text with its cost, or a refusal."""

from __future__ import annotations

import base64
from typing import Any

from google.genai import types

from models.answers import Dialogue, ToolCall
from streams.llm.port import Answer, Declined, Usage

#: Why a model says nothing, for good.
BLOCKED = frozenset(
    {
        "SAFETY",
        "RECITATION",
        "LANGUAGE",
        "BLOCKLIST",
        "PROHIBITED_CONTENT",
        "SPII",
        "MODEL_ARMOR",
    }
)

#: How a refusal to read the question begins.
UNREAD = "Gemini refuses to read it"


def usage_of(response: types.GenerateContentResponse) -> Usage:
    """Return the tokens that a response says are paid; what a model thinks is paid as output."""
    usage = response.usage_metadata or types.GenerateContentResponseUsageMetadata()
    return Usage(
        usage.prompt_token_count or 0,
        (usage.candidates_token_count or 0) + (usage.thoughts_token_count or 0),
        usage.cached_content_token_count or 0,
    )


def answer_of(response: types.GenerateContentResponse) -> Answer | Declined:
    """Return the text of a response, or the reason why there is none."""
    text = "".join(part.text or "" for part in _parts(response) if not part.thought)
    why = _refusal_of(response)
    if why and (not text or why.startswith(UNREAD)):
        return Declined("model_refused", why, usage_of(response))
    return Answer(text, usage_of(response))


def contents_of(dialogue: Dialogue) -> list[types.Content]:
    """Return the contents of a dialogue for the model, without the task."""
    contents = [types.Content(role="user", parts=[types.Part(text=dialogue.user)])]
    for done in dialogue.rounds:
        contents.append(types.Content(role="model", parts=[_part_of(call) for call in done.calls]))
        told = [
            types.Part.from_function_response(name=call.name, response={"result": result})
            for call, result in zip(done.calls, done.results, strict=True)
        ]
        contents.append(types.Content(role="user", parts=told))
    return contents


def tools_of(dialogue: Dialogue) -> list[Any] | None:
    """Return the tools that a model may call in a dialogue."""
    if dialogue.tool is None:
        return None
    declared = types.FunctionDeclaration(
        name=dialogue.tool["name"],
        description=dialogue.tool["description"],
        parameters_json_schema=dialogue.tool["parameters"],
    )
    return [types.Tool(function_declarations=[declared])]


def _parts(response: types.GenerateContentResponse) -> list[types.Part]:
    candidate = response.candidates[0] if response.candidates else None
    return (candidate.content.parts if candidate is not None and candidate.content is not None else None) or []


def _refusal_of(response: types.GenerateContentResponse) -> str:
    """Return why Gemini will not read or answer something, ``""`` if it does not say so."""
    feedback = response.prompt_feedback
    if feedback is not None and feedback.block_reason is not None:
        return f"{UNREAD}: {feedback.block_reason.value}"
    finished = response.candidates[0].finish_reason if response.candidates else None
    if finished is not None and finished.value in BLOCKED:
        return f"Gemini refuses to answer: {finished.value}"
    return ""


def _part_of(call: ToolCall) -> types.Part:
    signature = base64.b64decode(call.signature) or None
    called = types.FunctionCall(name=call.name, args=dict(call.arguments))
    return types.Part(function_call=called, thought_signature=signature)
