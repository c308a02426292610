"""Content in parts, as clients of language models have it: which parts there are, and what each one is.

OpenAI, Anthropic and the AI SDK name a part by its ``type``, Gemini and Bedrock by the field that it has.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any


class PartKind(StrEnum):
    """The kind of a content part.

    ``text``: words.  ``image``, ``audio``, ``video``, ``file``: named in the text, never fetched.  ``call``,
    ``result``: of a tool.  ``hidden``: nothing that was said (thoughts of a model, marks of a cache).
    """

    TEXT = "text"
    IMAGE = "image"
    AUDIO = "audio"
    VIDEO = "video"
    FILE = "file"
    CALL = "call"
    RESULT = "result"
    HIDDEN = "hidden"


_BY_KIND_TYPES = {
    PartKind.TEXT: "text input_text output_text refusal",
    PartKind.IMAGE: "image image_url image_file input_image output_image",
    PartKind.AUDIO: "audio audio_url input_audio output_audio",
    PartKind.VIDEO: "video video_url input_video",
    PartKind.FILE: "file file_url input_file document container_upload",
    PartKind.CALL: "tool_use server_tool_use mcp_tool_use tool_call tool-call function_call dynamic-tool",
    PartKind.RESULT: "tool_result mcp_tool_result web_search_tool_result web_fetch_tool_result "
    "code_execution_tool_result tool-result function_call_output",
    PartKind.HIDDEN: "thinking redacted_thinking reasoning reasoning_text step-start source-url "
    "source-document",
}
_BY_KIND_FIELDS = {
    PartKind.TEXT: "text",
    PartKind.IMAGE: "image",
    PartKind.AUDIO: "audio",
    PartKind.VIDEO: "video",
    PartKind.FILE: "inline_data inlineData file_data fileData document",
    PartKind.CALL: "function_call functionCall executable_code executableCode toolUse",
    PartKind.RESULT: "function_response functionResponse code_execution_result codeExecutionResult toolResult",
    PartKind.HIDDEN: "reasoningContent cachePoint thought",
}

#: What a part is, by its ``type``; and, of one without, by the first of these fields that it has.
PART_TYPES = {name: kind for kind, names in _BY_KIND_TYPES.items() for name in names.split()}
PART_FIELDS = {name: kind for kind, names in _BY_KIND_FIELDS.items() for name in names.split()}

#: The AI SDK names a call by its tool: ``tool-weather``.
TOOL_TYPE_PREFIX = "tool-"

#: JSON Schema of a part, as far as that says what is taken.
PART_SCHEMA: dict[str, Any] = {
    "description": f"Without `type`, one of: {', '.join(PART_FIELDS)}.",
    "properties": {"type": {"anyOf": [{"enum": [*PART_TYPES]}, {"pattern": f"^{TOOL_TYPE_PREFIX}."}]}},
}
