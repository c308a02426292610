"""Turns of a chat against real services: what is confirmed, answered, stopped, tried again, and who may ask."""

from __future__ import annotations

import asyncio
import json
import os
import random
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import httpx
import pytest
from serve_rig import PATIENCE, ServeRig
from stubborn_chats import Person, Told, check
from waiting import eventually

from deploy.local.ports import free_ports
from streams.config import child_process

pytestmark = pytest.mark.kafka

SERVICES = ("ingest", "recall", "memory", "respond")


@pytest.fixture
def chat(deployment: ServeRig) -> Chat:
    deployment.need(*SERVICES)
    return Chat(deployment, deployment.url)


class Chat:
    """A person who says things in a conversation of their own."""

    def __init__(self, rig: ServeRig, url: str, user: str = "") -> None:
        self.rig = rig
        self.user = user or f"mara-{uuid.uuid4().hex[:6]}"
        self.conversation = f"c-{uuid.uuid4().hex[:8]}"
        self.http = httpx.Client(base_url=url, timeout=60, trust_env=False)

    @property
    def path(self) -> str:
        return f"/v1/conversations/{self.conversation}/turns"

    def post(self, content: str = "", **more: Any) -> httpx.Response:
        body = {"user_id": self.user, **({"content": content} if content else {}), **more}
        return self.http.post(self.path, json=body)

    def say(self, content: str = "", **more: Any) -> list[tuple[str, Any]]:
        answer = self.post(content, **more)
        assert answer.status_code == 200, answer.text
        return events_of(answer.text)

    @contextmanager
    def saying(self, content: str) -> Iterator[Iterator[tuple[str, Any]]]:
        """Yield the events of a turn as they come."""
        with self.http.stream("POST", self.path, json={"user_id": self.user, "content": content}) as answer:
            assert answer.status_code == 200, answer.read()
            yield _stream(answer)

    def events(self, turn_id: str, **more: Any) -> httpx.Response:
        wanted = {"user_id": self.user, "conversation_id": self.conversation, **more}
        return self.http.get(f"/v1/turns/{turn_id}/events", params=wanted)

    def is_kept(self, messages: int) -> bool:
        """Tell whether the log has so many messages of the conversation, and ingest has read them.

        A summary that they make due is there, too.
        """
        path = f"/v1/conversations/{self.conversation}"
        told = self.http.get(path, params={"user_id": self.user, "limit": 1})
        if not told.is_success or told.json()["total"] < messages:
            return False
        ranges = told.json()["ranges"]
        read = max((each["to_index"] + 1 for each in ranges), default=0)
        return read >= messages and all(each["state"] != "requested" for each in ranges)

    def said(self) -> list[tuple[str, str, str]]:
        """Return what the topic has of the conversation: ids, roles and texts, each as often as it is there."""
        done = self.rig.command("tail", "chat.messages.v1", "-b", "--json", "--no-follow")
        found = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        values = [each.get("value", each) for each in found]
        messages = [each for each in values if isinstance(each, dict)]  # other tests send what is none
        mine = [
            each for each in messages if each.get("conversation_id") == self.conversation and "role" in each
        ]
        return [(each["message_id"], each["role"], each["content"]) for each in mine]


def _stream(answer: httpx.Response) -> Iterator[tuple[str, Any]]:
    name = ""
    for line in answer.iter_lines():
        if line.startswith("event: "):
            name = line.removeprefix("event: ")
        elif line.startswith("data: "):
            yield name, json.loads(line.removeprefix("data: "))


def events_of(text: str) -> list[tuple[str, Any]]:
    found = []
    for block in text.split("\n\n"):
        lines = dict(line.split(": ", 1) for line in block.splitlines() if ": " in line)
        if "event" in lines:
            found.append((lines["event"], json.loads(lines["data"])))
    return found


def one(events: list[tuple[str, Any]], name: str) -> Any:
    found = [data for each, data in events if each == name]
    assert found, f"no {name} in {[each for each, _ in events]}"
    return found[-1]


def shown(events: list[tuple[str, Any]]) -> str:
    return "".join(data["text"] for name, data in events if name == "text")


class Model:
    """The scripted model's server, in a process of its own, and a serve that asks it."""

    def __init__(self, rig: ServeRig, pause: float = 0.0, **settings: object) -> None:
        """``pause``: between two pieces of an answer (seconds); ``settings``: of the serve."""
        port, api, metrics = free_ports(3)
        self.url, self.api = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{api}"
        command = ["-m", "deploy.local.model_server", "--port", str(port), "--pause", str(pause)]
        self._model = self._spawn(rig, "model", command, dict(os.environ))
        eventually(lambda: self._answers(f"{self.url}/script/calls"), "the scripted model answers")
        # Whoever says nothing is waited for longer than any test takes.
        asked = {"responder": "gemini", "model_url": self.url, "model_timeout_seconds": 300}
        environment = rig.environment(**asked, **settings, api_port=api, metrics_port=metrics)
        environment |= {"GEMINI_API_KEY": "scripted"}
        self._start = lambda: self._spawn(rig, "serve-model", ["-m", "streams.cli", "serve"], environment)
        self.start_serve()

    @staticmethod
    def _spawn(
        rig: ServeRig, name: str, command: list[str], environment: dict[str, str]
    ) -> subprocess.Popen[bytes]:
        with rig.log(name).open("ab") as output:
            return child_process.spawn(
                [sys.executable, *command], output=output, env=environment, cwd=rig.folder
            )

    @staticmethod
    def _answers(url: str) -> bool:
        try:
            return httpx.get(url, trust_env=False, timeout=10).is_success
        except httpx.TransportError:
            return False

    def fail(self, *faults: str) -> None:
        assert httpx.post(f"{self.url}/script/faults", json={"faults": faults}, trust_env=False).is_success

    def failed(self, fault: str) -> int:
        """Return how many calls have failed in this way: those that were to, and have arrived."""
        told = httpx.get(f"{self.url}/script/calls", trust_env=False, timeout=60).json()
        return int(told["faults"].get(fault, 0))

    def start_serve(self) -> None:
        self._serve = self._start()
        eventually(lambda: self._answers(f"{self.api}/v1/openapi.json"), "serve answers")

    def kill_serve(self) -> None:
        self._serve.kill()
        self._serve.wait(30)

    def close(self) -> None:
        child_process.end(self._serve, 5.0)
        child_process.end(self._model, 5.0)


@pytest.fixture(scope="module")
def model(deployment: ServeRig) -> Iterator[Model]:
    """Leave it running."""
    deployment.need(*SERVICES)
    made = Model(deployment)
    yield made
    made.close()


# -- without a model ---------------------------------------------------------------------------------------


def test_what_was_said_is_remembered_and_quoted_with_its_source(chat: Chat) -> None:
    first = chat.say("I have a dog called Bello, and we moved to Munich in January.")
    assert [name for name, _ in first][:2] == ["turn", "understanding"]
    assert one(first, "message")["metadata"]["answer"]["kind"] == "noted"
    turn, end = one(first, "turn"), one(first, "end")
    assert (end["status"], end["try_again"]) == ("answered", False)

    def answered() -> Any:
        asking = Chat(chat.rig, str(chat.http.base_url), chat.user)
        events = asking.say("What is my dog called?")
        print(events)  # shown if it never comes
        return events if "Bello" in shown(events) else None

    events = eventually(answered, "the answer quotes what was said in another conversation")
    message = one(events, "message")
    assert message["content"] == shown(events)
    quoted = [item for item in message["metadata"]["answer"]["prompt"]["items"] if item.get("quoted")]
    assert turn["message_id"] in {name for item in quoted for name in item["message_ids"]}
    prompt = one(events, "prompt")
    assert prompt["tokens"] <= prompt["budget"] == 1500
    assert {use["tier"] for use in prompt["tiers"]} >= {"recent", "facts", "episodes", "system"}
    assert one(first, "tokens")["threshold"] == 1200
    assert [(each[0], each[1]) for each in chat.said()] == [
        (turn["message_id"], "user"),
        (turn["answer_id"], "assistant"),
    ]


def test_past_the_threshold_a_summary_replaces_messages(chat: Chat) -> None:
    places = ["Lisbon", "Porto", "Braga", "Faro", "Evora", "Sintra", "Tomar", "Aveiro", "Lagos", "Viseu"]
    totals: list[int] = []
    turns: list[str] = []
    summaries: list[tuple[int, int]] = []

    def fell() -> bool:
        place = places[len(turns) % len(places)]
        told = " ".join(
            f"On day {day} in {place} we saw church number {day} and ate soup." for day in range(15)
        )
        events = chat.say(f"I booked a trip to {place} for {400 + len(turns)} euros. {told}")
        totals.extend(data["total"] for name, data in events if name == "tokens")
        told_of = [data for name, data in events if name == "summary"]
        summaries.extend((each["from_index"], each["to_index"]) for each in told_of)
        turns.append(place)
        eventually(lambda: chat.is_kept(2 * len(turns)), "the turn is kept, and what it made due is there")
        return any(after < before for before, after in pairwise(totals))

    eventually(fell, "the counter falls")
    assert summaries and len({*summaries}) == len(summaries), "each is told once"
    conversation = f"/v1/conversations/{chat.conversation}"
    listed = chat.http.get(f"{conversation}/summaries", params={"user_id": chat.user}).json()["summaries"]
    assert listed[0]["from_index"] == 0
    exported = chat.http.get(f"{conversation}/export", params={"user_id": chat.user}).text.splitlines()
    first = json.loads(exported[0])
    assert (first["index"], first["is_summarized"]) == (0, True)


def test_nobody_talks_or_listens_in_anothers_conversation(chat: Chat) -> None:
    events = chat.say("I live in Munich.")
    turn = one(events, "turn")["turn_id"]
    eve = Chat(chat.rig, str(chat.http.base_url), "eve")
    eve.conversation = chat.conversation

    # Who is let in once takes part from then on: it is asked when the log knows whose conversation it is.
    eventually(lambda: chat.is_kept(2), "the log knows whose conversation it is")
    assert eve.post("What was said here?").status_code == 404
    assert eve.events(turn).json()["type"].endswith("unknown-turn")
    stop = eve.http.post(f"/v1/turns/{turn}/stop", json={"user_id": "eve"})
    assert stop.status_code == 404


# -- with a model ------------------------------------------------------------------------------------------


def test_two_at_once_are_refused_and_one_can_be_stopped(deployment: ServeRig, model: Model) -> None:
    chat = Chat(deployment, model.api)
    model.fail("slow")  # the turn does not end by itself
    with chat.saying(f"What do you think of the number {uuid.uuid4().hex[:6]}, and why?") as events:
        turn = next(events)[1]["turn_id"]
        second = Chat(deployment, model.api, chat.user)
        second.conversation = chat.conversation
        refused = second.post("And now?")
        assert refused.status_code == 409 and refused.json()["turn_id"] == turn
        # Not before: a fault that no call has had would be the next turn's.
        eventually(lambda: model.failed("slow"), "the model is asked")
        at_another = Chat(deployment, deployment.url, chat.user)  # as behind a balancer
        stopped = at_another.http.post(f"/v1/turns/{turn}/stop", json={"user_id": chat.user})
        assert stopped.json()["status"] == "stopped"
        rest = list(events)
    assert rest[-1][0] == "end" and rest[-1][1]["status"] == "stopped"
    went_on = second.say("I live in Porto, with my sister.")
    assert one(went_on, "end")["status"] == "answered", "the conversation goes on"


@pytest.mark.parametrize(
    ("people", "kills"),
    [(3, 1), pytest.param(20, 30, marks=[pytest.mark.soak, pytest.mark.faults, pytest.mark.timeout(0)])],
)
async def test_serve_killed_at_any_time_loses_and_doubles_nothing(
    deployment: ServeRig, seed: int, people: int, kills: int
) -> None:
    """The topics alone tell.  Beside the one that is killed there is another, where one can go on."""
    deployment.need(*SERVICES)
    model = await asyncio.to_thread(Model, deployment, pause=0.05)
    told, over, chance = Told(), asyncio.Event(), random.Random(seed)
    try:
        async with httpx.AsyncClient(timeout=120, trust_env=False) as client, asyncio.TaskGroup() as group:
            for number in range(people):
                person = Person([model.api, model.api, deployment.url], told, seed + number)
                group.create_task(person.chat(client, over))
            killed = 0
            while killed < kills or not told.ends["cut off"]:
                await told.under_way.wait()  # the group ends with what a person fails of
                await asyncio.sleep(chance.uniform(0.0, 1.0))  # the moment is what is tried
                await asyncio.to_thread(model.kill_serve)
                await asyncio.to_thread(model.start_serve)
                killed += 1
            over.set()
        servers = deployment.settings.bootstrap_servers
        async with asyncio.timeout(2 * PATIENCE):
            while not await check(servers, deployment.catalog, told):
                await asyncio.sleep(1.0)
    finally:
        await asyncio.to_thread(model.close)
    assert told.ends["answered"] >= people, told.ends
