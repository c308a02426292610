"""The contract of every provider, against a server that speaks its API and fails in every way."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

import pytest

from deploy.local import scripted_model
from deploy.local.model_faults import RETRY_AFTER, Fault
from deploy.local.model_server import ModelServer
from models.answers import Dialogue, ToolCall, ToolRound
from models.errors import ConfigurationError, DependencyUnavailable, Unanswered
from processors.prompts import extraction, notes
from streams.config.settings import Settings
from streams.llm.factory import provider
from streams.llm.port import (
    Answer,
    Declined,
    Finished,
    Misconfigured,
    Provider,
    StreamEvent,
    TextDelta,
    Throttled,
    Usage,
)
from tests import prompt_examples as examples

PROMPT = extraction.prompt([examples.window()])
TOOL = {
    "name": "search_memory",
    "description": "Searches.",
    "parameters": {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]},
}
DIALOGUE = Dialogue(version="v", system="Answer.", user="Who is Anna?", most_tokens=200, tool=TOOL)
LONG = "A rather long answer, so that it takes a few pieces to say it. " * 3


@pytest.fixture(params=["gemini", "openai"])
def api(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture
async def server() -> AsyncIterator[ModelServer]:
    async with ModelServer() as running:
        yield running


def settings(server: ModelServer, api: str, **given: Any) -> Settings:
    url = server.url if api == "gemini" else f"{server.url}/v1"
    return Settings(
        **{
            "model_api": api,
            "model_url": url,
            "model_name": "gemini-2.5-flash-lite",
            "embedding_name": "gemini-embedding-001",
            "embedding_dimensions": 64,
            "model_api_key": "scripted",
            **given,
        }
    )


@pytest.fixture
async def client(server: ModelServer, api: str) -> AsyncIterator[Provider]:
    made = provider(settings(server, api).model_endpoint)
    yield made
    await made.close()


async def of(server: ModelServer, api: str, **given: Any) -> Provider:
    """Return a provider with other settings, closed with the test's loop."""
    return provider(settings(server, api, **given).model_endpoint)


async def heard(client: Provider, dialogue: Dialogue = DIALOGUE) -> list[StreamEvent]:
    async with aclosing(client.stream(dialogue)) as events:
        return [event async for event in events]


def text_of(events: list[StreamEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


async def test_an_answer_comes_with_its_tokens(client: Provider) -> None:
    said = await client.generate(PROMPT)
    assert isinstance(said, Answer)
    (part,) = extraction.parts(said.text, [examples.window()])
    found = notes.read(part, examples.window())
    assert "I moved to Munich in January." in [each.statement for each in found.statements]
    assert said.usage.input_tokens > 100 and said.usage.output_tokens > 10
    assert 0 < said.usage.cached_tokens < said.usage.input_tokens


@pytest.mark.parametrize(
    ("fault", "wait"),
    [
        (Fault.RATE_LIMITED, None),
        (Fault.RATE_LIMITED_AFTER, RETRY_AFTER),
        (Fault.RATE_LIMITED_INFO, RETRY_AFTER),
    ],
)
async def test_too_many_calls_name_their_wait(
    client: Provider, server: ModelServer, fault: Fault, wait: float | None
) -> None:
    server.fail(fault)
    with pytest.raises(Throttled) as caught:
        await client.generate(PROMPT)
    assert caught.value.retry_after == wait
    assert server.count() == 1, "a failed call is repeated by the library"


@pytest.mark.parametrize(
    ("fault", "kind", "words"),
    [
        (Fault.INTERNAL, DependencyUnavailable, "500 INTERNAL"),
        (Fault.CUT, DependencyUnavailable, "cannot be reached"),
        (Fault.HTML_ERROR, DependencyUnavailable, "502"),
        (Fault.WRONG_KEY, Misconfigured, "SWITCHBOARD_MODEL_API_KEY"),
        (Fault.NO_RIGHTS, Misconfigured, "give it the right"),
        (Fault.NO_MODEL, Misconfigured, "SWITCHBOARD_MODEL_NAME"),
    ],
)
async def test_a_transient_or_configured_error_is_raised(
    client: Provider, server: ModelServer, fault: Fault, kind: type[Exception], words: str
) -> None:
    server.fail(fault)
    with pytest.raises(DependencyUnavailable) as caught:
        await client.generate(PROMPT)
    assert words in str(caught.value)
    assert (type(caught.value), caught.value.dependency) == (kind, "model")
    assert server.count() == 1
    assert isinstance(await client.generate(PROMPT), Answer), "the client is of no use after an error"


@pytest.mark.parametrize("fault", [Fault.BAD_REQUEST, Fault.BLOCKED_PROMPT, Fault.BLOCKED_ANSWER])
async def test_a_permanent_refusal_is_returned(client: Provider, server: ModelServer, fault: Fault) -> None:
    server.fail(fault)
    declined = await client.generate(PROMPT)
    assert isinstance(declined, Declined)
    assert declined.reason.startswith("model_") and declined.message


#: How many statements stay of the four that the model would make of the example.
LEFT = {
    Fault.CUT_JSON: range(4),
    Fault.INVALID_JSON: range(1),
    Fault.NULL_LISTS: range(1),
    Fault.WRONG_ENUM: range(4),
    Fault.HUGE: range(1),
}


@pytest.mark.parametrize("fault", LEFT)
async def test_malformed_answers_give_valid_parts(client: Provider, server: ModelServer, fault: Fault) -> None:
    whole = await _statements(client)
    assert len(whole) > 2
    server.fail(fault)
    left = await _statements(client)
    assert left <= whole
    assert len(left) in LEFT[fault]


async def _statements(client: Provider) -> set[Any]:
    said = await client.generate(PROMPT)
    assert isinstance(said, Answer)
    (part,) = extraction.parts(said.text, [examples.window()])
    return set(notes.read(part, examples.window()).statements)


async def test_a_refused_key_is_not_repeated_in_the_error(server: ModelServer, api: str) -> None:
    client = await of(server, api, model_api_key="another-key")
    with pytest.raises(ConfigurationError, match="does not take the key") as caught:
        await client.check()
    assert "another-key" not in str(caught.value)
    await client.close()


async def test_a_streamed_answer_comes_in_pieces(client: Provider, server: ModelServer) -> None:
    server.scripts.append(lambda body: LONG)
    events = await heard(client)
    assert text_of(events) == LONG
    assert len(events) > 5
    assert Finished(at_limit=False) in events
    usages = [event for event in events if isinstance(event, Usage)]
    assert usages[-1].output_tokens > 10


@pytest.mark.parametrize("ending", ["\u2028", "\u2029", "\x85", "\x0c", "\u3042"])
async def test_a_line_separator_ends_no_event(client: Provider, server: ModelServer, ending: str) -> None:
    server.scripts.append(lambda body: f"One line{ending}and another. " * 9)
    events = await heard(client)
    assert text_of(events) == f"One line{ending}and another. " * 9
    assert Finished(at_limit=False) in events


async def test_a_tool_call_comes_and_its_result_goes(client: Provider, server: ModelServer, api: str) -> None:
    server.scripts.append(lambda body: scripted_model.calling("search_memory", {"query": "Anna", "limit": 3}))
    (call,) = (event for event in await heard(client) if isinstance(event, ToolCall))
    assert (call.name, dict(call.arguments)) == ("search_memory", {"query": "Anna", "limit": 3})
    done = ToolRound(calls=(call,), results=("Anna is a nurse.",))
    server.scripts[:] = [lambda body: json.dumps(body["contents"][-1])]
    again = Dialogue(version="v", system="s", user="u", most_tokens=9, rounds=(done,))
    told = text_of(await heard(client, again))
    assert json.loads(told)["parts"][0]["functionResponse"] == {
        "name": "search_memory",
        "response": {"result": "Anna is a nurse."},
    }
    if api == "openai":
        assert server.calls[-1].body["messages"][-1]["tool_call_id"] == call.id == "call_1"


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (Fault.RATE_LIMITED, Throttled),
        (Fault.UNAVAILABLE, DependencyUnavailable),
        (Fault.WRONG_KEY, Misconfigured),
        (Fault.CUT, DependencyUnavailable),
    ],
)
async def test_a_stream_that_fails_raises(
    client: Provider, server: ModelServer, fault: Fault, kind: type[Exception]
) -> None:
    server.scripts.append(lambda body: LONG)
    server.fail(fault)
    with pytest.raises(DependencyUnavailable) as caught:
        await heard(client)
    assert type(caught.value) is kind
    assert server.count() == 1


async def test_a_stream_that_falls_silent_times_out(server: ModelServer, api: str) -> None:
    """Comments that keep the connection open are no sign of life."""
    client = await of(server, api, model_timeout_seconds=0.6)
    server.scripts.append(lambda body: LONG)
    server.fail(Fault.STALLED)
    with pytest.raises(Unanswered):
        await heard(client)
    await client.close()


WEATHER = {"type": "function", "function": {**TOOL, "name": "weather"}}
CALLED = {"id": "call_7", "type": "function", "function": {"name": "weather", "arguments": '{"query": "Rome"}'}}


def own(*messages: Any, **options: Any) -> Dialogue:
    given = ({"role": "system", "content": "Be brief."}, {"role": "user", "content": "Rome?"}, *messages)
    return Dialogue(version="v", system="", user="", most_tokens=9, messages=given, options=options)


async def test_own_messages_and_options_reach_a_model(client: Provider, server: ModelServer, api: str) -> None:
    server.scripts.append(lambda body: "Rain.")
    told = {"role": "tool", "tool_call_id": "call_7", "content": "rain"}
    asked = own(
        {"role": "assistant", "content": None, "tool_calls": [CALLED]},
        told,
        tools=[WEATHER],
        tool_choice="auto",
        temperature=0.3,
        max_tokens=50,
        stop="END",
    )
    assert text_of(await heard(client, asked)) == "Rain."
    body = server.calls[-1].body
    if api == "openai":
        assert body["messages"] == [*asked.messages] and body["tools"] == [WEATHER]
        assert (body["temperature"], body["max_tokens"], body["stop"]) == (0.3, 50, "END")
        return
    assert body["systemInstruction"]["parts"] == [{"text": "Be brief."}]
    assert [each["role"] for each in body["contents"]] == ["user", "model", "user"]
    assert body["contents"][1]["parts"][0]["functionCall"] == {"name": "weather", "args": {"query": "Rome"}}
    assert body["contents"][2]["parts"][0]["functionResponse"]["name"] == "weather"
    made = body["generationConfig"]
    assert (made["temperature"], made["maxOutputTokens"], made["stopSequences"]) == (0.3, 50, ["END"])
    assert body["tools"][0]["functionDeclarations"][0]["name"] == "weather"
