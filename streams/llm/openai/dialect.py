"""How an endpoint that speaks OpenAI's API is asked: what it takes differs by model and server.

It begins with what is known of the model's family.  What the endpoint refuses by name is left out from then on.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, get_args

import structlog

from models.answers import Dialogue
from processors.prompts.prompt import Prompt
from streams.config.settings.endpoints import Endpoint, Structured
from streams.llm.openai.schemas import strict

log = structlog.get_logger("streams.llm")

#: Hosts that want the new name of the limit of an answer; servers of open models know the old one.
_NEW_LIMIT = re.compile(r"(^|\.)(openai\.com|openai\.azure\.com|cognitiveservices\.azure\.com|ai\.azure\.com)$")

#: Families that think before they answer, and are not to be sampled at temperature 0.
_THINKS = re.compile(
    r"(^|/)(o\d|gpt-5|gpt-oss)|deepseek-r1|qwq|qwen3|magistral|thinking|reasoning", re.IGNORECASE
)

#: Those of them whose thinking is bounded by ``reasoning_effort``.
_EFFORT = re.compile(r"(^|/)(o\d|gpt-5|gpt-oss)", re.IGNORECASE)

#: Tokens that thinking may take besides the answer: they count towards its limit.
_THINKING_TOKENS = 4000

_LIMITS = ("max_tokens", "max_completion_tokens")

_FORMS: tuple[Structured, ...] = get_args(Structured)

_SCHEMA_WORDS = re.compile(r"response_format|json_schema|json_object|schema|structured|grammar|guided")
_TOOL_WORDS = re.compile(r"\btools?\b|\bfunction")
_DIMENSION_WORDS = re.compile(r"dimension|matryoshka")

#: The short call that shows what an endpoint can do.
_PROBE = Prompt(
    version="probe-1",
    system='Say whether the sum is right. Answer with JSON: {"right": true} or {"right": false}.',
    user="2 + 2 = 4",
    schema={"type": "object", "properties": {"right": {"type": "boolean"}}, "required": ["right"]},
    most_tokens=40,
)
_PROBE_TOOL = {
    "name": "search_memory",
    "description": "Search memory. Not needed for sums.",
    "parameters": {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]},
}


class Dialect:
    """Request fields known to be accepted by an endpoint."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self.structured: Structured = endpoint.structured
        self.takes_tools = True
        self._limit = _LIMITS[bool(_NEW_LIMIT.search(endpoint.host))]
        self._thinks = _THINKS.search(endpoint.model) is not None
        self._refused: set[str] = set()

    # -- bodies --------------------------------------------------------------------------------------------

    def generating(self, prompt: Prompt) -> dict[str, Any]:
        """Return the body of a request for one answer by a schema."""
        system = prompt.system
        if self.structured in ("json", "prompt"):
            schema = json.dumps(prompt.schema, ensure_ascii=False)
            system = f"{system}\n\nAnswer with nothing but JSON by this JSON Schema:\n{schema}"
        body = self._body(
            [{"role": "system", "content": system}, {"role": "user", "content": prompt.user}],
            prompt.most_tokens,
        )
        if (form := self._form(prompt)) is not None:
            body["response_format"] = form
        return self._with_extra(body)

    def streaming(self, dialogue: Dialogue) -> dict[str, Any]:
        """Return the body of a request for a streamed answer."""
        own = bool(dialogue.messages)
        body = self._own(dialogue) if own else self._body(messages_of(dialogue), dialogue.most_tokens)
        body["stream"] = True
        if "stream_options" not in self._refused:
            body["stream_options"] = {"include_usage": True}
        if dialogue.tool is not None and self.takes_tools:
            body["tools"] = [{"type": "function", "function": dict(dialogue.tool)}]
        return self._with_extra(body)

    def embedding(self, texts: Sequence[str]) -> dict[str, Any]:
        """Return the body of a request for vectors."""
        body: dict[str, Any] = {"model": self._endpoint.model, "input": list(texts), "encoding_format": "float"}
        if "dimensions" not in self._refused:
            body["dimensions"] = self._endpoint.dimensions
        return body

    def probing(self) -> dict[str, Any]:
        """Return the body of the short call that shows whether schemas and tools are taken."""
        body = self.generating(_PROBE)
        if self.takes_tools:
            body["tools"] = [{"type": "function", "function": _PROBE_TOOL}]
        return body

    def _body(self, messages: list[dict[str, Any]], most_tokens: int) -> dict[str, Any]:
        body: dict[str, Any] = {"model": self._endpoint.model, "messages": messages}
        body[self._limit] = most_tokens + (_THINKING_TOKENS if self._thinks else 0)
        if not self._thinks and "temperature" not in self._refused:
            body["temperature"] = 0
        if _EFFORT.search(self._endpoint.model) and "reasoning_effort" not in self._refused:
            body["reasoning_effort"] = "low"
        return body

    def _own(self, dialogue: Dialogue) -> dict[str, Any]:
        """Return a body with a client's messages and options as they are, but for the name of the limit."""
        options = dict(dialogue.options)
        limits = [options.pop(name) for name in _LIMITS if name in options]
        body = {"model": self._endpoint.model, "messages": [*dialogue.messages], **options}
        return body | ({self._limit: limits[-1]} if limits else {})

    def _form(self, prompt: Prompt) -> dict[str, Any] | None:
        name = re.sub(r"[^A-Za-z0-9_-]", "-", prompt.version)[:64] or "answer"
        match self.structured:
            case "strict":
                wanted = {"name": name, "strict": True, "schema": strict(prompt.schema)}
                return {"type": "json_schema", "json_schema": wanted}
            case "schema":
                return {"type": "json_schema", "json_schema": {"name": name, "schema": dict(prompt.schema)}}
            case "json":
                return {"type": "json_object"}
            case "prompt":
                return None

    def _with_extra(self, body: dict[str, Any]) -> dict[str, Any]:
        """Return a body with what the settings add; ``null`` takes something out."""
        return {key: value for key, value in (body | dict(self._endpoint.extra)).items() if value is not None}

    # -- what is refused -----------------------------------------------------------------------------------

    def adapt(self, why: str, body: Mapping[str, Any]) -> bool:
        """Leave out what an endpoint refuses, by its words; return whether the body will be another one."""
        changed = self._left_out(why.lower(), body)
        if changed:
            log.warning(
                "the model's endpoint refuses a part of a request, which is left out from now on",
                model=self._endpoint.model,
                part=changed,
                error=why,
            )
        return bool(changed)

    def _left_out(self, why: str, body: Mapping[str, Any]) -> str:
        with_form = "response_format" in body and "response_format" not in self._endpoint.extra
        names_form, names_tools = _SCHEMA_WORDS.search(why), _TOOL_WORDS.search(why)
        if "tools" in body and names_tools:
            self.takes_tools = False
            return "tools"
        if with_form and names_form:
            self.structured = _FORMS[_FORMS.index(self.structured) + 1]
            return f"response_format: SWITCHBOARD_MODEL_STRUCTURED={self.structured}"
        if "dimensions" in body and _DIMENSION_WORDS.search(why):
            self._refused.add("dimensions")
            return "dimensions"
        for name in ("stream_options", "reasoning_effort", "temperature"):
            if name in body and name in why and name not in self._endpoint.extra and name not in self._refused:
                self._refused.add(name)
                return name
        if self._limit in body and self._limit in why and "limit" not in self._refused:
            self._refused.add("limit")  # once: or two that refuse each other's name go on for ever
            refused, self._limit = self._limit, _LIMITS[self._limit == _LIMITS[0]]
            return refused
        return ""


def messages_of(dialogue: Dialogue) -> list[dict[str, Any]]:
    """Return the messages of a dialogue; a call without an id is given one."""
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": dialogue.system},
        {"role": "user", "content": dialogue.user},
    ]
    for n, done in enumerate(dialogue.rounds):
        names = [call.id or f"call_{n}_{at}" for at, call in enumerate(done.calls)]
        calls = [
            {
                "id": name,
                "type": "function",
                "function": {"name": call.name, "arguments": json.dumps(call.arguments, ensure_ascii=False)},
            }
            for name, call in zip(names, done.calls, strict=True)
        ]
        messages.append({"role": "assistant", "content": "", "tool_calls": calls})
        messages += [
            {"role": "tool", "tool_call_id": name, "content": result}
            for name, result in zip(names, done.results, strict=True)
        ]
    return messages
