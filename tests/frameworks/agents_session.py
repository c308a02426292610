"""The session for the OpenAI Agents SDK, in runs with a model that answers by rote."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

import agents
from agents import Agent, Runner, Session
from agents.items import ModelResponse
from agents.models.interface import Model
from agents.tool import function_tool
from agents.usage import Usage
from documented import CONVERSATION, PERSON, URL, eventually, run
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText
from switchboard_client import Switchboard
from switchboard_client.openai_agents import SwitchboardSession

agents.set_tracing_disabled(True)


class Rote(Model):
    """Calls the tool if there is one and it has not yet, then says how many items it was given."""

    def __init__(self) -> None:
        self.inputs: list[list[Any]] = []

    async def get_response(
        self, system_instructions: Any, input: Any, *given: Any, **more: Any
    ) -> ModelResponse:
        self.inputs.append(list(input))
        tools = given[1] if len(given) > 1 else more["tools"]
        output: Any
        if tools and not any(each.get("type") == "function_call_output" for each in input):
            output = ResponseFunctionToolCall(
                arguments="{}", call_id="call-1", name=tools[0].name, type="function_call"
            )
        else:
            text = ResponseOutputText(text="Try risotto.", type="output_text", annotations=[], logprobs=[])
            output = ResponseOutputMessage(
                id="__fake_id__", content=[text], role="assistant", status="completed", type="message"
            )
        return ModelResponse(output=[output], usage=Usage(), response_id=None)

    def stream_response(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError


rote = Rote()
agents.Agent = partial(Agent, model=rote)  # type: ignore[misc]
assert "Try risotto." in run("openai_agents")
agents.Agent = Agent  # type: ignore[misc]
assert [each["role"] for each in rote.inputs[0]] == ["user"], "nothing was known yet"

with Switchboard(URL, user_id=PERSON) as memory:
    eventually(lambda: len(memory.messages(CONVERSATION)) == 2, "what was said was read")
    memory.close_conversation(CONVERSATION)
    eventually(lambda: list(memory.facts()), "the allergy is known")
    eventually(lambda: "peanut" in memory.context(CONVERSATION).prompt, "it is in the context")


@function_tool
def pantry() -> str:
    """List what is there."""
    return "rice"


async def main() -> None:
    # Another process, as far as the session knows.
    session = SwitchboardSession(CONVERSATION, user_id=PERSON, url=URL)
    assert isinstance(session, Session)
    cook = Agent(name="Cook", model=Rote(), tools=[pantry])
    assert (await Runner.run(cook, "And today?", session=session)).final_output == "Try risotto."
    first, *rest = cook.model.inputs[0]  # type: ignore[union-attr]
    assert first["role"] == "system" and "peanut" in first["content"]
    assert [each["role"] for each in rest] == ["user", "assistant", "user"]

    items = await session.get_items(limit=100)
    assert [each.get("type", each.get("role")) for each in items[2:]] == [
        "user", "function_call", "function_call_output", "message",
    ]  # fmt: skip
    assert await session.get_items(limit=1) == items[-1:] and await session.get_items(limit=0) == []
    again = await Runner.run(cook, "Thanks", session=session)
    assert again.final_output == "Try risotto."
    assert not any(each.get("role") == "system" for each in await session.get_items(limit=100)), (
        "what is known was not said"
    )

    assert (await session.pop_item()) is not None
    await session.clear_session()
    assert await session.get_items(limit=10) == [] and await session.pop_item() is None
    await session.close()


asyncio.run(main())
with Switchboard(URL, user_id=PERSON) as memory:
    eventually(lambda: not list(memory.facts()), "what was learned is forgotten")
