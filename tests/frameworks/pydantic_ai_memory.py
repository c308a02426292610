"""The history processor and the tool for Pydantic AI, in runs with models that answer by rote."""

from __future__ import annotations

import asyncio
from typing import Any

import pydantic_ai
from documented import CONVERSATION, PERSON, URL, eventually, run
from pydantic_ai import Agent
from pydantic_ai.capabilities import ProcessHistory
from pydantic_ai.messages import ModelMessage, ModelResponse, SystemPromptPart, TextPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.test import TestModel
from switchboard_client import AsyncSwitchboard, Message, Switchboard
from switchboard_client.pydantic_ai import history_processor, search_tool

with Switchboard(URL, user_id=PERSON) as memory:
    memory.add([Message(conversation_id=CONVERSATION, content="I am allergic to peanuts.")])
    eventually(lambda: memory.search("What am I allergic to?").results, "it was read")
    memory.close_conversation(CONVERSATION)
    eventually(lambda: "peanut" in memory.context(CONVERSATION).prompt, "it is in the context")


def offline(_: str, **options: Any) -> Agent[Any, Any]:
    """Return an agent as documented, whose model calls each tool once."""
    return Agent(TestModel(custom_output_text="Try risotto."), **options)


pydantic_ai.Agent = offline  # type: ignore[assignment, misc]
assert "Try risotto." in run("pydantic_ai")
pydantic_ai.Agent = Agent  # type: ignore[misc]
with Switchboard(URL, user_id=PERSON) as memory:
    said = eventually(lambda: len(found := memory.messages(CONVERSATION)) == 3 and found, "it was remembered")
    assert [(each.role, each.content) for each in said[1:]] == [
        ("user", "What should I cook?"), ("assistant", "Try risotto."),
    ]  # fmt: skip


async def main() -> None:
    seen: list[list[ModelMessage]] = []

    def answer(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
        seen.append(messages)
        return ModelResponse(parts=[TextPart("Fine.")])

    async with AsyncSwitchboard(URL, user_id=PERSON) as memory:
        known = ProcessHistory(history_processor(memory, CONVERSATION))
        agent = Agent(FunctionModel(answer), system_prompt="You cook.", capabilities=[known])
        first = await agent.run("Hello")
        await agent.run("Again", message_history=first.all_messages())
        for messages in seen:
            prompts = [
                part.content for each in messages for part in each.parts if isinstance(part, SystemPromptPart)
            ]
            assert sum("peanut" in each for each in prompts) == 1, "it is there once, however long the history"
            assert "You cook." in prompts

        tooled = Agent(TestModel(), tools=[search_tool(memory)])
        told = (await tooled.run("What am I allergic to?")).all_messages()
        returned = [part for each in told for part in each.parts if isinstance(part, ToolReturnPart)]
        assert [each.tool_name for each in returned] == ["search_memory"]
        assert [each.text for each in (await memory.search("allergic", limit=5)).results]

    async with AsyncSwitchboard("http://127.0.0.1:1", user_id=PERSON) as nobody:
        without = ProcessHistory(history_processor(nobody, CONVERSATION))
        agent = Agent(FunctionModel(answer), capabilities=[without])
        assert (await agent.run("Hello")).output == "Fine.", "without Switchboard it goes on"


asyncio.run(main())
