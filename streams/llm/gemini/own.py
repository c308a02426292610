"""A client's own messages and options, in OpenAI's form, as the Gemini API takes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from google.genai import types

from models.answers import Dialogue
from models.messages import ROLES, Role

#: What Gemini 3, which wants its calls back signed, takes for a signature: clients of OpenAI's API have none.
_UNSIGNED = b"skip_thought_signature_validator"

#: Options by what Gemini calls them; the others have no counterpart, or are read below.
_NAMES = {
    "temperature": "temperature",
    "top_p": "top_p",
    "seed": "seed",
    "presence_penalty": "presence_penalty",
    "frequency_penalty": "frequency_penalty",
    "max_tokens": "max_output_tokens",
    "max_completion_tokens": "max_output_tokens",
}

_MODES = {"auto": "AUTO", "required": "ANY", "none": "NONE"}


def own_request(dialogue: Dialogue, model: str) -> tuple[list[types.Content], dict[str, Any]]:
    """Return contents and configuration.

    Raises:
        ValueError: the messages hold something that is not passed on to Gemini; the message says what.
    """
    system: list[str] = []
    contents: list[types.Content] = []
    names: dict[str, str] = {}
    signature = _UNSIGNED if model.startswith("gemini-3") else None
    for message in dialogue.messages:
        role, text = ROLES[message["role"].lower()], _text(message.get("content"))
        if role is Role.SYSTEM:
            system.append(text)
            continue
        parts = [types.Part(text=text)] if text else []
        if role is Role.TOOL:
            name = names.get(str(message.get("tool_call_id")), str(message.get("name") or "tool"))
            parts = [types.Part.from_function_response(name=name, response={"result": text})]
        for call in message.get("tool_calls") or ():
            names[str(call.get("id"))] = call["function"]["name"]
            called = types.FunctionCall(
                name=call["function"]["name"], args=msgspec.json.decode(call["function"]["arguments"] or "{}")
            )
            parts.append(types.Part(function_call=called, thought_signature=signature))
        speaker = "model" if role is Role.ASSISTANT else "user"
        if contents and contents[-1].role == speaker:
            contents[-1].parts = [*(contents[-1].parts or ()), *parts]
        elif parts:
            contents.append(types.Content(role=speaker, parts=parts))
    return contents, {"system_instruction": "\n\n".join(system) or None, **_configuration(dialogue.options)}


def _configuration(options: Mapping[str, Any]) -> dict[str, Any]:
    made = {to: options[name] for name, to in _NAMES.items() if name in options}
    if stop := options.get("stop"):
        made["stop_sequences"] = [stop] if isinstance(stop, str) else stop
    form = options.get("response_format") or {}
    if form.get("type") in ("json_object", "json_schema"):
        made["response_mime_type"] = "application/json"
        made["response_json_schema"] = (form.get("json_schema") or {}).get("schema")
    if tools := options.get("tools"):
        functions = [
            types.FunctionDeclaration(
                name=each["function"]["name"],
                description=each["function"].get("description"),
                parameters_json_schema=each["function"].get("parameters"),
            )
            for each in tools
        ]
        made["tools"] = [types.Tool(function_declarations=functions)]
        made["tool_config"] = _choice(options.get("tool_choice"))
    return made


def _choice(choice: Any) -> types.ToolConfig | None:
    if choice is None:
        return None
    named = [choice["function"]["name"]] if isinstance(choice, dict) else None
    mode = types.FunctionCallingConfigMode("ANY" if named else _MODES[choice])
    return types.ToolConfig(
        function_calling_config=types.FunctionCallingConfig(mode=mode, allowed_function_names=named)
    )


def _text(content: Any) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    for part in content:
        if isinstance(part, dict) and part.get("type", "text") != "text":
            raise ValueError(f"a part of the type {part['type']!r} is not passed on to Gemini: send text")
    return "".join(part if isinstance(part, str) else str(part.get("text") or "") for part in content)
