"""What Gemini's answers and errors mean, against a server that speaks its REST API and fails in every way."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from google import genai
from google.genai import errors

from deploy.local.model_faults import RETRY_AFTER, Fault
from deploy.local.model_server import ModelServer
from models.errors import ConfigurationError, DependencyUnavailable, Unanswered
from processors.prompts import examples, extraction, notes
from streams.cloudevents import caused_by
from streams.llm.answers import Declined, Said
from streams.llm.client import GeminiClient
from streams.llm.failures import Failures, Throttled
from streams.settings import Settings

PROMPT = extraction.prompt([examples.window()])


@pytest.fixture
async def server() -> AsyncIterator[ModelServer]:
    async with ModelServer() as running:
        yield running


def settings(server: ModelServer, **given: Any) -> Settings:
    return Settings(gemini_url=server.url, **{"GEMINI_API_KEY": "scripted", **given})


@pytest.fixture
async def client(server: ModelServer) -> AsyncIterator[GeminiClient]:
    made = GeminiClient(settings(server))
    yield made
    await made.close()


async def ask(client: GeminiClient) -> Said | Declined:
    return await client.generate("gemini-2.5-flash-lite", PROMPT)


async def test_an_answer_with_what_it_took(client: GeminiClient, server: ModelServer) -> None:
    said = await ask(client)
    assert isinstance(said, Said)
    (part,) = extraction.parts(said.text, [examples.window()])
    found = notes.read(part, examples.window())
    assert "I moved to Munich in January." in [each.statement for each in found.statements]
    assert said.input_tokens > 100 and said.output_tokens > 10


async def test_what_is_sent(client: GeminiClient, server: ModelServer) -> None:
    await ask(client)
    (call,) = server.calls
    assert (call.method, call.model) == ("generateContent", "gemini-2.5-flash-lite")
    config = call.body["generationConfig"]
    assert config["responseMimeType"] == "application/json"
    assert config["responseJsonSchema"] == extraction.SCHEMA
    assert config["temperature"] == 0
    assert config["maxOutputTokens"] == PROMPT.most_tokens
    assert 0 in config["thinkingConfig"].values()
    assert "mara" not in json.dumps(call.body), "who it is about leaves the machine"


async def test_a_call_belongs_to_the_trace_that_it_is_made_for(
    client: GeminiClient, server: ModelServer
) -> None:
    trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    with caused_by(trace):
        await asyncio.create_task(ask(client))
    await ask(client)
    assert [call.traceparent for call in server.calls] == [trace, ""]


@pytest.mark.parametrize(
    ("fault", "retry_after"),
    [
        (Fault.RATE_LIMITED, None),
        (Fault.RATE_LIMITED_AFTER, RETRY_AFTER),
        (Fault.RATE_LIMITED_INFO, RETRY_AFTER),
    ],
)
async def test_too_many_calls(
    client: GeminiClient, server: ModelServer, fault: Fault, retry_after: float | None
) -> None:
    server.fail(fault)
    with pytest.raises(Throttled) as caught:
        await ask(client)
    assert caught.value.retry_after == retry_after
    assert server.count() == 1, "a call that failed is repeated where nobody sees it"


@pytest.mark.parametrize(
    ("asked", "seconds"),
    [
        ("7", 7.0),
        ("-3", 0.0),
        ("inf", 3600.0),
        ("nan", None),
        ("soon", None),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 0.0),
        ("Wed, 99 Oct 2015 07:28:00 GMT", None),
    ],
)
def test_whatever_form_a_wait_is_asked_for_in(asked: str, seconds: float | None) -> None:
    """And whatever a proxy takes for a message."""
    response = httpx.Response(429, headers={"retry-after": asked})
    error = errors.APIError(429, {"error": {"message": {"why": "quota"}}}, response)
    with pytest.raises(Throttled, match="quota") as caught:
        Failures("http://localhost", 1.0).declined(error)
    assert caught.value.retry_after == seconds


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (Fault.INTERNAL, "500 INTERNAL"),
        (Fault.UNAVAILABLE, "overloaded"),
        (Fault.CUT, "cannot be reached"),
        (Fault.REFUSED_CONNECTION, "cannot be reached"),
        (Fault.HTML, "SWITCHBOARD_GEMINI_URL"),
        (Fault.HTML_ERROR, "502"),
        (Fault.WRONG_KEY, "GEMINI_API_KEY"),
        (Fault.EXPIRED_KEY, "expired"),
        (Fault.NO_RIGHTS, "give it the right, or set GEMINI_API_KEY"),
        (Fault.NO_MODEL, "SWITCHBOARD_GEMINI_MODEL"),
    ],
)
async def test_what_may_pass_is_waited_for(
    client: GeminiClient, server: ModelServer, fault: Fault, words: str
) -> None:
    server.fail(fault)
    with pytest.raises(DependencyUnavailable) as caught:
        await ask(client)
    assert words in str(caught.value)
    assert caught.value.dependency == "gemini"
    assert not isinstance(caught.value, Unanswered | Throttled)
    assert server.count() == 1
    assert isinstance(await ask(client), Said), "the client is of no use after an error"


async def test_no_answer_in_time(server: ModelServer) -> None:
    client = GeminiClient(settings(server, gemini_timeout_seconds=0.2))
    server.fail(Fault.SLOW)
    with pytest.raises(Unanswered):
        await ask(client)
    await client.close()


async def test_nobody_listens(server: ModelServer) -> None:
    client = GeminiClient(Settings(gemini_url="http://127.0.0.1:9", GEMINI_API_KEY="scripted"))
    with pytest.raises(DependencyUnavailable, match="cannot be reached"):
        await ask(client)
    with pytest.raises(DependencyUnavailable, match="cannot be reached"):
        await client.check("gemini-2.5-flash", "SWITCHBOARD_GEMINI_MODEL")
    await client.close()


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (Fault.BAD_REQUEST, "model_refused_request"),
        (Fault.BLOCKED_PROMPT, "model_refused"),
        (Fault.BLOCKED_ANSWER, "model_refused"),
    ],
)
async def test_what_will_not_pass_is_refused(
    client: GeminiClient, server: ModelServer, fault: Fault, reason: str
) -> None:
    server.fail(fault)
    declined = await ask(client)
    assert isinstance(declined, Declined)
    assert declined.reason == reason and declined.message


#: How many statements stay of the four that the model would make of the example.
LEFT = {
    Fault.CUT_JSON: range(4),
    Fault.INVALID_JSON: range(1),
    Fault.NO_JSON: range(1),
    Fault.NULL_LISTS: range(1),
    Fault.WRONG_ENUM: range(4),
    Fault.NO_CANDIDATES: range(1),
    Fault.NO_TEXT: range(1),
    Fault.HUGE: range(1),
}


@pytest.mark.parametrize("fault", LEFT)
async def test_a_malformed_answer_gives_valid_statements_or_none(
    client: GeminiClient, server: ModelServer, fault: Fault
) -> None:
    whole = await _statements(client)
    assert len(whole) > 2
    server.fail(fault)
    left = await _statements(client)
    assert left <= whole
    assert len(left) in LEFT[fault]


async def _statements(client: GeminiClient) -> set[Any]:
    said = await ask(client)
    assert isinstance(said, Said)
    (part,) = extraction.parts(said.text, [examples.window()])
    return set(notes.read(part, examples.window()).statements)


# -- at start ----------------------------------------------------------------------------------------------


async def test_a_model_that_is_there(client: GeminiClient) -> None:
    await client.check("gemini-2.5-flash-lite", "SWITCHBOARD_GEMINI_MODEL")


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (Fault.WRONG_KEY, "GEMINI_API_KEY"),
        (Fault.EXPIRED_KEY, "renew"),
        (Fault.NO_RIGHTS, "Gemini takes the key, but not for this .* give it the right"),
        (Fault.NO_MODEL, "SWITCHBOARD_X to one"),
        (Fault.HTML, "SWITCHBOARD_GEMINI_URL"),
    ],
)
async def test_what_is_set_wrongly_is_said_at_start(
    client: GeminiClient, server: ModelServer, fault: Fault, words: str
) -> None:
    server.fail_always(fault)
    with pytest.raises(ConfigurationError, match=words):
        await client.check("gemini-2.5-flash", "SWITCHBOARD_X")


async def test_a_model_without_that_name(client: GeminiClient) -> None:
    with pytest.raises(ConfigurationError, match="gemini-9-ultra"):
        await client.check("gemini-9-ultra", "SWITCHBOARD_GEMINI_MODEL")


async def test_a_key_that_the_server_does_not_know(server: ModelServer) -> None:
    client = GeminiClient(settings(server, GEMINI_API_KEY="another-key"))
    with pytest.raises(ConfigurationError, match="does not take the key") as caught:
        await client.check("gemini-2.5-flash", "SWITCHBOARD_GEMINI_MODEL")
    assert "another-key" not in str(caught.value)
    await client.close()


@pytest.mark.parametrize("fault", [Fault.UNAVAILABLE, Fault.RATE_LIMITED, Fault.HTML_ERROR])
async def test_what_is_down_at_start_is_not_taken_for_a_wrong_setting(
    client: GeminiClient, server: ModelServer, fault: Fault
) -> None:
    server.fail_always(fault)
    with pytest.raises(DependencyUnavailable):
        await client.check("gemini-2.5-flash", "SWITCHBOARD_GEMINI_MODEL")


# -- vectors -----------------------------------------------------------------------------------------------


async def test_vectors(client: GeminiClient, server: ModelServer) -> None:
    found = await client.embed("gemini-embedding-001", ["green tea", "tea, green", "a long walk"], 64)
    assert [len(each) for each in found] == [64] * 3
    near, far = (sum(a * b for a, b in zip(found[0], found[n], strict=True)) for n in (1, 2))
    assert near > far
    (call,) = server.calls
    assert call.method == "batchEmbedContents"


# -- the server itself -------------------------------------------------------------------------------------


async def test_a_streamed_answer_is_the_same(server: ModelServer) -> None:
    library = genai.Client(
        api_key="scripted", vertexai=False, http_options=genai.types.HttpOptions(base_url=server.url)
    )
    config = genai.types.GenerateContentConfig(system_instruction=PROMPT.system)
    whole = await library.aio.models.generate_content(model="scripted", contents=PROMPT.user, config=config)
    stream = await library.aio.models.generate_content_stream(
        model="scripted", contents=PROMPT.user, config=config
    )
    pieces = [piece async for piece in stream]
    assert len(pieces) > 1
    assert "".join(piece.text or "" for piece in pieces) == whole.text
    assert pieces[-1].usage_metadata is not None
    await library.aio.aclose()


async def test_faults_from_elsewhere(server: ModelServer, client: GeminiClient) -> None:
    import httpx

    async with httpx.AsyncClient(base_url=server.url) as curl:
        assert (await curl.post("/script/faults", json={"faults": ["internal"]})).status_code == 200
        with pytest.raises(DependencyUnavailable):
            await ask(client)
        wrong = await curl.post("/script/faults", json={"faults": ["unheard-of"]})
        assert wrong.status_code == 422 and "rate-limited" in wrong.text
        counted = (await curl.get("/script/calls")).json()
        assert counted == {"calls": {"generateContent": 1}, "faults": {"internal": 1}}
