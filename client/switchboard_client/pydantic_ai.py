"""Memory for Pydantic AI: ``pip install 'switchboard-client[pydantic-ai]'``.

::

    memory = AsyncSwitchboard(user_id="ada")
    agent = Agent(
        "openai:gpt-5-mini",
        tools=[search_tool(memory)],
        capabilities=[ProcessHistory(history_processor(memory, "c-1"))],
    )
    result = await agent.run("What should I cook?")
    await remember(memory, "c-1", result.new_messages())
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from pydantic_ai import Tool
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    UserPromptPart,
)

from switchboard_client.asynchronous import AsyncSwitchboard
from switchboard_client.errors import SwitchboardError
from switchboard_client.types import Message

_REMEMBERED = "What is remembered of the person:\n"

Processor = Callable[[list[ModelMessage]], Awaitable[list[ModelMessage]]]


def history_processor(memory: AsyncSwitchboard, conversation_id: str) -> Processor:
    """Return a history processor that puts what is known of the person in front.

    Without Switchboard the agent goes on without it.
    """

    async def process(messages: list[ModelMessage]) -> list[ModelMessage]:
        try:
            prompt = (await memory.context(conversation_id)).prompt
        except SwitchboardError:
            prompt = ""
        # What an earlier request was given is no part of this one.
        own = [each for each in map(_without_memory, messages) if each is not None]
        if not prompt:
            return own
        return [ModelRequest(parts=[SystemPromptPart(_REMEMBERED + prompt)]), *own]

    return process


def search_tool(memory: AsyncSwitchboard, limit: int = 5) -> Tool[Any]:
    """Return a tool with which a model searches what is known of the person, and what was said."""

    async def search_memory(query: str) -> list[str]:
        """Search what is known of the person, and what was said before.

        Args:
            query: A question, or a few words.
        """
        try:
            return [each.text for each in (await memory.search(query, limit=limit)).results]
        except SwitchboardError as error:
            return [f"Memory is not available: {error}"]

    return Tool(search_memory, takes_ctx=False)


async def remember(memory: AsyncSwitchboard, conversation_id: str, messages: Iterable[ModelMessage]) -> None:
    """Remember what the person and the model said in new messages, in their order."""
    said = [
        Message(conversation_id=conversation_id, content=text, role=role)
        for each in messages
        for role, text in _said(each)
        if text.strip()
    ]
    for at in range(0, len(said), 1000):
        await memory.add(said[at : at + 1000])


def _without_memory(message: ModelMessage) -> ModelMessage | None:
    if not isinstance(message, ModelRequest):
        return message
    parts = [
        each
        for each in message.parts
        if not (isinstance(each, SystemPromptPart) and each.content.startswith(_REMEMBERED))
    ]
    if len(parts) == len(message.parts):
        return message
    return replace(message, parts=parts) if parts else None


def _said(message: ModelMessage) -> list[tuple[str, str]]:
    if isinstance(message, ModelRequest):
        prompts = [each.content for each in message.parts if isinstance(each, UserPromptPart)]
        return [("user", _text(each)) for each in prompts]
    if isinstance(message, ModelResponse):
        return [("assistant", "".join(each.content for each in message.parts if isinstance(each, TextPart)))]
    return []


def _text(content: str | Sequence[Any]) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(each for each in content if isinstance(each, str))
