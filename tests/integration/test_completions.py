"""Chat completions with memory, as the SDK of OpenAI asks a real ``serve`` for them."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import openai
import pytest
from serve_rig import ServeRig
from waiting import eventually

from deploy.local.model_faults import Fault
from deploy.local.model_server import ModelServer
from deploy.local.ports import free_ports
from deploy.local.scripted_model import calling
from streams.config import child_process
from tests.topic_records import records_of

pytestmark = pytest.mark.kafka

WEATHER = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "Tell the weather.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}


class Person:
    """Somebody whose client is OpenAI's."""

    def __init__(self, rig: ServeRig, url: str, key: str = "sk-none") -> None:
        self.rig = rig
        self.name = f"mara-{uuid.uuid4().hex[:6]}"
        self.conversation = f"c-{uuid.uuid4().hex[:8]}"
        self.url = url
        self.client = openai.OpenAI(base_url=f"{url}/v1", api_key=key, max_retries=0, timeout=60)

    def ask(self, *messages: Any, **more: Any) -> Any:
        """Return the completion of messages; a text stands for a message of the person."""
        given = {"user": self.name, "metadata": {"conversation_id": self.conversation}} | more
        return self.client.chat.completions.create(
            model="any", messages=[said(each) for each in messages], **given
        )

    def written(self, conversation: str = "") -> list[Any]:
        """Return the messages that the topic has of the conversation, each as often as it is there."""
        spec = self.rig.catalog.get("chat.messages.v1")
        servers, key = self.rig.settings.bootstrap_servers, (conversation or self.conversation).encode()
        records = asyncio.run(records_of(servers, {spec.name: spec.partitions}))[spec.name]
        values = [json.loads(each.value) for each in records if each.key == key]
        return [each for each in values if "role" in each]

    def texts(self, conversation: str = "") -> list[tuple[str, str]]:
        return [(each["role"], each["content"]) for each in self.written(conversation)]


def said(message: Any) -> Any:
    return {"role": "user", "content": message} if isinstance(message, str) else message


def answered(text: str) -> dict[str, str]:
    return {"role": "assistant", "content": text}


class Model:
    """A scripted model in this process that speaks OpenAI's API, and a serve that asks it."""

    def __init__(self, rig: ServeRig, **settings: object) -> None:
        self.server = ModelServer()
        self._stop = threading.Event()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()))
        self._thread.start()
        assert self._ready.wait(30)
        api, metrics = free_ports(2)
        self.api = f"http://127.0.0.1:{api}"
        self._metrics = f"http://127.0.0.1:{metrics}/metrics"
        asked = {
            "responder": "model",
            "model_api": "openai",
            "model_url": f"{self.server.url}/v1",
            "model_name": "scripted",
            "api_port": api,
            "metrics_port": metrics,
        }
        self._log = rig.log("serve-completions")
        with self._log.open("ab") as output:
            self._serve = child_process.spawn(
                [*_SERVE], output=output, env=rig.environment(**asked, **settings), cwd=rig.folder
            )
        eventually(self._answers, "serve answers")

    async def _run(self) -> None:
        async with self.server:
            self._ready.set()
            while not self._stop.is_set():
                await asyncio.sleep(0.05)

    def _answers(self) -> bool:
        assert self._serve.poll() is None, self._log.read_text()[-3000:]
        try:
            return httpx.get(f"{self.api}/v1/models", trust_env=False).is_success
        except httpx.TransportError:
            return False

    def says(self, text: str) -> None:
        """Have the next answers be this."""
        self.server.scripts.insert(0, lambda body: text)

    @property
    def asked(self) -> Any:
        """The last request to the model."""
        return self.server.calls[-1].body

    def close(self) -> None:
        child_process.end(self._serve, 10.0)
        self._stop.set()
        self._thread.join()


_SERVE = (sys.executable, "-m", "streams.cli", "serve")


@pytest.fixture(scope="module")
def model(deployment: ServeRig) -> Iterator[Model]:
    deployment.need("ingest", "memory", "recall")
    made = Model(deployment)
    yield made
    made.close()


@pytest.fixture
def person(deployment: ServeRig, model: Model) -> Person:
    return Person(deployment, model.api)


def memory_of(answer: Any) -> str:
    return str(answer.headers["x-switchboard-memory"])


# -- with a model ----------------------------------------------------------------------------------------------


def test_a_resent_history_is_written_once(person: Person, model: Model) -> None:
    model.says("Bello, what a name!")
    first = person.ask("I have a dog called Bello.")
    assert first.choices[0].message.content == "Bello, what a name!"
    assert (first.model, first.choices[0].finish_reason) == ("scripted", "stop")
    assert first.usage.prompt_tokens > 0 and first.usage.completion_tokens > 0
    history: list[Any] = ["I have a dog called Bello.", answered("Bello, what a name!\n")]
    model.says("Good.")
    person.ask(*history, "He eats fish.")
    person.ask(*history, "He eats fish.")  # as a client does that has not heard the answer
    person.ask({"role": "system", "content": f"It is {time.time()}."}, *history, "He eats fish.")
    history += ["He eats fish.", answered("Good."), "ok", answered("Good."), "ok"]
    person.ask(*history)
    assert person.texts() == [
        ("user", "I have a dog called Bello."),
        ("assistant", "Bello, what a name!"),
        ("user", "He eats fish."),
        ("assistant", "Good."),
        ("user", "ok"),
        ("assistant", "Good."),
        ("user", "ok"),
        ("assistant", "Good."),
    ]


def test_a_stream_has_chunks_text_and_usage(person: Person, model: Model) -> None:
    model.says("Lisbon is a city at the sea, and you live there. " * 4)
    stream = person.ask("Where do I live?", stream=True, stream_options={"include_usage": True})
    chunks = [*stream]
    text = "".join(each.choices[0].delta.content or "" for each in chunks if each.choices)
    assert text == "Lisbon is a city at the sea, and you live there. " * 4
    assert chunks[-1].usage.completion_tokens > 0 and not chunks[-1].choices
    assert [each.choices[0].finish_reason for each in chunks if each.choices][-1] == "stop"
    assert len({each.id for each in chunks}) == 1 and len(chunks) > 5
    assert person.texts()[-1] == ("assistant", text)


def test_tools_system_prompt_and_options_reach_the_model_untouched(person: Person, model: Model) -> None:
    system = {"role": "system", "content": "You are a pirate.  "}
    model.says(calling("weather", {"city": "Lisbon"}))
    stream = person.ask(
        system,
        "How is the weather?",
        tools=[WEATHER],
        tool_choice="auto",
        temperature=0.7,
        max_tokens=77,
        stop=["END"],
        stream=True,
    )
    chunks = [each.choices[0] for each in stream]
    [call] = [each for chunk in chunks for each in chunk.delta.tool_calls or ()]
    assert (call.function.name, json.loads(call.function.arguments)) == ("weather", {"city": "Lisbon"})
    assert chunks[-1].finish_reason == "tool_calls"
    body = model.asked
    assert body["messages"][-2:] == [system, said("How is the weather?")]
    assert body["tools"] == [WEATHER]
    named = {name: body[name] for name in ("tool_choice", "temperature", "stop", "max_tokens")}
    assert named == {"tool_choice": "auto", "temperature": 0.7, "stop": ["END"], "max_tokens": 77}
    told = {
        "id": call.id,
        "type": "function",
        "function": {"name": "weather", "arguments": call.function.arguments},
    }
    model.says("Rain, arr.")
    calls = {"role": "assistant", "content": None, "tool_calls": [told]}
    result = {"role": "tool", "tool_call_id": call.id, "content": "rain, 14 degrees"}
    again = person.ask(system, "How is the weather?", calls, result, tools=[WEATHER])
    assert again.choices[0].message.content == "Rain, arr."
    assert model.asked["messages"][-3:] == [said("How is the weather?"), calls, result]
    assert [role for role, _ in person.texts()] == ["user", "assistant", "tool", "assistant"]


def test_memory_precedes_the_clients_messages(person: Person, model: Model) -> None:
    model.says("Noted.")
    person.ask("I am allergic to peanuts.")
    closed = httpx.post(f"{person.url}/v1/conversations/{person.conversation}/close", trust_env=False)
    assert closed.status_code == 202

    def front() -> Any:
        answer = person.client.chat.completions.with_raw_response.create(
            model="any",
            user=person.name,
            metadata={"conversation_id": f"c-{uuid.uuid4().hex[:8]}"},
            messages=[said("What can I cook with peanuts?")],
        )
        assert memory_of(answer) == "ok"
        first = model.asked["messages"][0]
        return first if first["role"] == "system" and "standing" in first["content"] else None

    found = eventually(front, "the allergy is in front")
    assert "llergic to peanuts" in found["content"]
    assert model.asked["messages"][1:] == [said("What can I cook with peanuts?")]


def test_a_long_history_with_an_image_is_written_once(person: Person, model: Model) -> None:
    model.says("A heron.")
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 100_000}}
    history = [answered(f"Answer {n}.") if n % 2 else said(f"Question {n}.") for n in range(1_000)]
    asked = {"role": "user", "content": [{"type": "text", "text": "What bird is this?"}, picture]}
    for _ in range(2):
        assert person.ask(*history, asked).choices[0].message.content == "A heron."
        assert model.asked["messages"][-1] == asked
    texts = person.texts()
    assert texts[:1_000] == [(each["role"], each["content"]) for each in history]
    assert len(texts) == 1_002 and texts[-1] == ("assistant", "A heron.")
    assert texts[-2][1].startswith("What bird is this?") and "AAAA" not in texts[-2][1]


def test_two_clients_in_one_conversation_write_each_message_once(person: Person, model: Model) -> None:
    model.says("Yes.")
    history = [said("Shall we go?"), answered("Yes.")]
    person.ask(*history, "When?")
    with ThreadPoolExecutor(8) as clients:
        asked = [*clients.map(lambda n: person.ask(*history, f"Number {n % 4}?"), range(8))]
    assert {each.choices[0].message.content for each in asked} == {"Yes."}
    texts = [text for role, text in person.texts() if role == "user"]
    assert sorted(texts) == sorted(["Shall we go?", "When?", *(f"Number {n}?" for n in range(4))])


WRONG: list[tuple[list[Any], dict[str, Any], str | None]] = [
    ([{"role": "wizard", "content": "Hi"}], {}, "messages[0]"),
    (["Hi"], {"n": 5}, "n"),
    (["Hi"], {"metadata": {"conversation_id": "a\nb"}}, "metadata.conversation_id"),
    ([], {}, None),
]


def test_bad_input_has_an_error_in_openais_form(person: Person) -> None:
    for messages, more, param in WRONG:
        with pytest.raises(openai.BadRequestError) as refused:
            person.ask(*messages, **more)
        assert isinstance(refused.value.body, dict)
        assert refused.value.body["type"] == "invalid_request_error"
        assert (refused.value.param, refused.value.code) == (param, "invalid-request")
    assert person.written() == []


def test_a_failing_model_is_reported_to_the_client(person: Person, model: Model) -> None:
    model.says("Yes.")
    for fault, error in (
        (Fault.RATE_LIMITED, openai.RateLimitError),
        (Fault.INTERNAL, openai.InternalServerError),
        (Fault.BAD_REQUEST, openai.BadRequestError),
        (Fault.REFUSED_CONNECTION, openai.InternalServerError),
    ):
        model.server.fail(fault)
        with pytest.raises(error):
            person.ask("Do you hear me?", stream=True)
    model.says("It is a long way to Tipperary, it is a long way to go. " * 3)
    model.server.fail(Fault.CUT)
    heard = ""
    with pytest.raises(openai.APIError):
        for chunk in person.ask("Do you hear me?", stream=True):
            heard += chunk.choices[0].delta.content or ""
    assert heard.startswith("It is a long way")
    assert person.texts() == [("user", "Do you hear me?")]


def test_the_tokens_person_wins_over_user(deployment: ServeRig, person: Person, model: Model) -> None:
    model.says("Hello.")
    with deployment.token(person.name) as token, deployment.token("") as anybody:
        keyed = Person(deployment, deployment.url, token)
        eventually(lambda: [each.id for each in keyed.client.models.list()] == ["switchboard"], "it is known")
        keyed.conversation = person.conversation
        keyed_answer = keyed.ask("I live in Porto.", user="somebody-else")
        other = Person(deployment, deployment.url, anybody)
        with pytest.raises(openai.BadRequestError):
            other.ask("Hi", user=openai.omit)
        with deployment.token("somebody-else") as others:
            thief = Person(deployment, deployment.url, others)
            thief.conversation = person.conversation
            with pytest.raises(openai.NotFoundError):
                thief.ask("What was said here?")
        with pytest.raises(openai.AuthenticationError) as refused:
            Person(deployment, deployment.url, "sk-none").ask("Hi")
        assert isinstance(refused.value.body, dict) and refused.value.body["type"] == "authentication_error"
    assert person.texts() == [
        ("user", "I live in Porto."),
        ("assistant", keyed_answer.choices[0].message.content),
    ]
    assert {each["user_id"] for each in person.written()} == {person.name}


# -- without a model -------------------------------------------------------------------------------------------


def test_memory_that_is_down_is_said_and_the_answer_comes(person: Person, model: Model) -> None:
    model.says("All the same.")
    person.rig.stop("recall")
    try:
        answer = person.client.chat.completions.with_raw_response.create(
            model="any", user=person.name, messages=[said("Are you there?")]
        )
    finally:
        person.rig.start("recall")
    assert "not-read" in memory_of(answer)
    assert answer.parse().choices[0].message.content == "All the same."
    assert len(person.written(answer.headers["x-switchboard-conversation"])) == 2
