"""Messages in over HTTP, and what is seen and forgotten of their conversations; the services run."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections import Counter
from collections.abc import Iterator
from contextlib import AsyncExitStack
from typing import Any
from unittest.mock import Mock
from urllib.parse import quote

import httpx
import pytest
from aiokafka import AIOKafkaProducer
from serve_rig import ServeRig
from waiting import eventually

from streams.clients import kafka
from streams.clients.remote.client import Remote
from streams.server.api.app import create_api
from streams.server.api.catalog import OPERATIONS
from streams.server.serve.opening import open_all
from streams.telemetry.metrics import process_metrics
from tests.topic_records import records_of

pytestmark = pytest.mark.kafka

LINES = [
    ("user", "By the way, I'm allergic to peanuts."),
    ("assistant", "Good to know! Where do you live?"),
    ("user", "I live in Porto."),
]


@pytest.fixture(scope="module")
def rig(deployment: ServeRig) -> ServeRig:
    deployment.need("ingest", "memory", "recall")
    return deployment


@pytest.fixture
def client(rig: ServeRig) -> Iterator[httpx.Client]:
    with rig.client() as made:
        yield made


@pytest.fixture
def person() -> str:
    return f"ada-{uuid.uuid4().hex[:8]}"


def talk(person: str, **more: Any) -> dict[str, Any]:
    name = f"talk/of {person}"
    lines = [{"conversation_id": name, "role": role, "content": text} for role, text in LINES]
    return {"messages": lines, "user_id": person, **more}


def path_of(person: str) -> str:
    return f"/v1/conversations/talk%2Fof%20{person}"


def seen(client: httpx.Client, person: str) -> Any:
    """The conversation, once ingest and recall have read all of it."""

    def whole() -> Any:
        answer = client.get(path_of(person), params={"user_id": person})
        told = answer.json()
        done = answer.is_success and len(told["messages"]) == told["total"] == len(LINES)
        return told if done and read_by_ingest(told) == len(LINES) else None

    return eventually(whole, "the conversation is there")


def read_by_ingest(told: dict[str, Any]) -> int:
    return max((each["to_index"] + 1 for each in told["ranges"]), default=0)


def test_messages_are_confirmed_and_a_repeat_counts_once(client: httpx.Client, person: str) -> None:
    sent = [
        client.post("/v1/messages", json=talk(person), headers={"idempotency-key": person}) for _ in range(2)
    ]
    assert [answer.status_code for answer in sent] == [202, 202], sent[0].text
    first, again = (answer.json()["messages"] for answer in sent)
    assert [each["message_id"] for each in first] == [each["message_id"] for each in again]
    assert [each["offset"] for each in first] == sorted(each["offset"] for each in first)
    assert first[0]["position"] == f"{first[0]['partition']}:{first[0]['offset']}"
    told = seen(client, person)
    assert [(each["role"], each["content"]) for each in told["messages"]] == LINES
    assert [each["offset"] for each in told["messages"]] == [each["offset"] for each in first]
    assert told["open_window"]["messages"] == 3 and told["open_window"]["size"] == 10
    assert told["tokens"]["total"] == sum(each["token_count"] for each in told["messages"])
    assert not any(each["is_summarized"] for each in told["messages"])


def of_trace(rig: ServeRig, trace: str, *topics: str) -> set[tuple[str, bytes | None]]:
    """Topics and keys of the records without a value that are of a trace."""
    partitions = {rig.catalog.name(topic): rig.catalog.get(topic).partitions for topic in topics}
    found = asyncio.run(records_of(rig.settings.bootstrap_servers, partitions))
    return {
        (topic, record.key)
        for topic in topics
        for record in found[rig.catalog.name(topic)]
        if record.value is None and ("ce_traceparent", trace.encode()) in record.headers
    }


def test_a_conversation_that_is_closed_becomes_facts(rig: ServeRig, client: httpx.Client, person: str) -> None:
    client.post("/v1/messages", json=talk(person)).raise_for_status()
    seen(client, person)
    assert client.post(f"{path_of(person)}/close").status_code == 202

    def found() -> Any:
        answer = client.post("/v1/search", json={"q": "what must she not eat?", "user_id": person})
        return answer.json()["results"] if answer.is_success else None

    best = eventually(lambda: [each for each in found() or () if each["kind"] == "fact"], "a fact is found")[0]
    assert "peanuts" in best["text"] and best["parts"]
    exported = [json.loads(line) for line in client.get(f"/v1/people/{person}/export").text.splitlines()]
    assert best["fact"]["fact_id"] in {line["fact"]["fact_id"] for line in exported if line["type"] == "fact"}
    lines = [line for line in exported if line["type"] == "message"]
    assert [(line["role"], line["content"]) for line in lines] == LINES
    assert {line["user_id"] for line in lines} == {person}
    assert client.get(f"/v1/people/{person}-2/export").status_code == 404
    whole = client.get(f"/v1/facts/{best['fact']['fact_id']}", params={"user_id": person, "uses": True}).json()
    assert all(use["conversation_id"] == f"talk/of {person}" for use in whole["uses"])
    whom = client.get(f"/v1/people/{person}").json()
    assert whom["conversations"] == 1 and whom["facts"]["active"] >= 1
    assert client.get(f"{path_of(person)}/summaries", params={"user_id": person}).json()["summaries"] == []

    trace = f"00-{uuid.uuid4().hex}-00f067aa0ba902b7-01"
    fact_id = best["fact"]["fact_id"]
    forgotten = client.delete(
        f"/v1/facts/{fact_id}", params={"user_id": person}, headers={"traceparent": trace}
    )
    assert forgotten.status_code == 202, forgotten.text
    left = forgotten.json()
    assert "search" in left["gone"] and left["compacted"] and "chat.messages.v1" in " ".join(left["kept"])
    assert of_trace(rig, trace, "memory.facts.v1") == {("memory.facts.v1", fact_id.encode())}

    trace = f"00-{uuid.uuid4().hex}-00f067aa0ba902b7-01"
    gone = client.delete(f"/v1/people/{person}", headers={"traceparent": trace})
    erased_in = {topic for topic, _ in of_trace(rig, trace, "memory.facts.v1", "models.memo.v1")}
    assert erased_in == {"memory.facts.v1", "models.memo.v1"}
    assert gone.status_code == 202, gone.text
    assert gone.json()["conversation_ids"] == [f"talk/of {person}"]
    assert "chat.messages.v1" in " ".join(gone.json()["kept"])
    eventually(lambda: client.get(f"/v1/people/{person}").status_code == 404, "nothing is known any more")


def test_provenance_leads_to_what_was_said(rig: ServeRig, client: httpx.Client, person: str) -> None:
    client.post("/v1/messages", json=talk(person)).raise_for_status()
    seen(client, person)
    client.post(f"{path_of(person)}/close").raise_for_status()

    def facts() -> list[Any]:
        return list(client.get("/v1/facts", params={"user_id": person}).json()["facts"])

    known = eventually(lambda: len(facts()) >= 2 and facts(), "both are known")
    spec = rig.catalog.get("chat.messages.v1")
    records = asyncio.run(records_of(rig.settings.bootstrap_servers, {spec.name: spec.partitions}))[spec.name]
    log = {(record.partition, record.offset): record.value for record in records}
    for source in (source for fact in known for source in fact["provenance"]):
        said = [json.loads(log[source["partition"], offset]) for offset in source["offsets"]]
        assert [each["message_id"] for each in said] == list(source["message_ids"])
        assert (
            {each["conversation_id"] for each in said} == {source["conversation_id"]} == {f"talk/of {person}"}
        )
        assert all(any(line in each["content"] for each in said) for line in source["quote"].splitlines())


def test_the_next_context_is_ready_after_the_last_turn(client: httpx.Client, person: str) -> None:
    client.post("/v1/messages", json=talk(person)).raise_for_status()

    def made() -> Any:
        asked = {"user_id": person, "conversation_id": f"talk/of {person}"}
        answer = client.get("/v1/context", params=asked)
        found = answer.json()["context"] if answer.is_success else None
        return found if found and found["after_index"] == 2 and found["by_meaning"] else None

    context = eventually(made, "there is a context after the last message, by meaning")
    recent = [each["text"] for each in context["items"] if each["tier"] == "recent" and "left_out" not in each]
    assert recent == [text for _, text in LINES]
    assert 0 < context["tokens"] <= context["budget"]


def test_how_far_a_message_has_come(rig: ServeRig, client: httpx.Client, person: str) -> None:
    sent = client.post("/v1/messages", json=talk(person)).json()["messages"]
    positions = [each["position"] for each in sent]

    def state(position: str, **more: Any) -> Any:
        answer = client.get("/v1/progress", params={"position": position, **more})
        assert answer.is_success, answer.text
        return answer.json()

    waiting = eventually(
        lambda: (found := state(positions[0]))["state"] == "in_window" and found, "it waits in the window"
    )
    assert waiting["window"]["size"] == 10 and waiting["window"]["closes_at"]
    assert waiting["message_id"] == sent[0]["message_id"]
    client.post(f"{path_of(person)}/close").raise_for_status()
    assert eventually(lambda: state(positions[0], wait=5)["fact_ids"], "what was learned of it is there")
    assert eventually(lambda: state(positions[1], wait=5)["state"] == "extracted", "nothing was learned of it")
    assert (
        client.get("/v1/progress", params={"position": positions[0], "user_id": "mallory"}).status_code == 404
    )

    async def spoil() -> str:
        async with AIOKafkaProducer(bootstrap_servers=rig.settings.bootstrap_servers) as producer:
            at = await producer.send_and_wait(rig.catalog.name("chat.messages.v1"), b"{", b"c")
            return f"{at.partition}:{at.offset}"

    bad = asyncio.run(spoil())
    refused = eventually(lambda: (found := state(bad))["state"] == "dead_lettered" and found, "it is refused")
    assert refused["reason"].startswith("invalid_json")


def test_nobody_sees_or_touches_what_is_another_persons(client: httpx.Client, person: str) -> None:
    client.post("/v1/messages", json=talk(person)).raise_for_status()
    seen(client, person)
    for method, path in (
        ("GET", path_of(person)),
        ("GET", f"{path_of(person)}/summaries"),
        ("DELETE", path_of(person)),
    ):
        answer = client.request(method, path, params={"user_id": "mallory"})
        assert (answer.status_code, answer.json()["type"]) == (
            404,
            "urn:switchboard:problem:unknown-conversation",
        )
        assert "peanut" not in answer.text
    assert client.get("/v1/conversations", params={"user_id": "mallory"}).json()["conversations"] == []
    assert len(seen(client, person)["messages"]) == 3, "and it is still there"
    deleted = client.delete(path_of(person), params={"user_id": person})
    assert deleted.status_code == 202, deleted.text
    eventually(lambda: client.get(path_of(person)).status_code == 404, "it is gone")


def test_a_person_s_token_writes_in_no_other_s_conversation(
    rig: ServeRig, client: httpx.Client, person: str
) -> None:
    client.post("/v1/messages", json=talk(person)).raise_for_status()
    seen(client, person)
    stranger, theirs = f"mallory-of-{person}", f"talk/of {person}"

    def line(name: str) -> dict[str, str]:
        return {"conversation_id": name, "role": "user", "content": "I was here, too."}

    with rig.token(stranger) as text, rig.client(headers={"authorization": f"Bearer {text}"}) as own:
        refused = own.post("/v1/messages", json={"messages": [line(f"of {stranger}"), line(theirs)]})
        assert (refused.status_code, refused.json()["type"]) == (
            404,
            "urn:switchboard:problem:unknown-conversation",
        )
        assert theirs in refused.json()["detail"]
        assert own.get("/v1/conversations").json()["conversations"] == [], "nothing of it was sent"
        for _ in range(2):  # a new one is the person's own, and stays so
            own.post("/v1/messages", json={"messages": [line(f"of {stranger}")]}).raise_for_status()
            eventually(lambda: own.get("/v1/conversations").json()["conversations"], "it is known")
    with rig.token(person) as text, rig.client(headers={"authorization": f"Bearer {text}"}) as own:
        own.post("/v1/messages", json={"messages": [line(theirs)]}).raise_for_status()
    # Without a person of its own a token lets several talk in one conversation.
    client.post("/v1/messages", json={"messages": [line(theirs)], "user_id": stranger}).raise_for_status()

    def both() -> bool:
        told = client.get(path_of(person), params={"user_id": stranger})
        return told.is_success and told.json()["total"] == len(LINES) + 2

    eventually(both, "whoever is let in by all takes part")


#: Of what views are asked for over the socket: all but these is reading.
_WRITES = {"claim", "release", "begin", "poll_cancellations", "stop", "end"}


async def test_a_get_changes_nothing(
    rig: ServeRig, client: httpx.Client, person: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each GET, against what is really there: none makes a producer, or asks for what changes a view."""
    sent = await asyncio.to_thread(client.post, "/v1/messages", json=talk(person))
    place = sent.json()["messages"][0]
    await asyncio.to_thread(seen, client, person)
    producers, asked = Mock(wraps=kafka.make_producer), list[str]()
    monkeypatch.setattr(kafka, "make_producer", producers)
    ask = Remote._call

    async def noted(self: Remote, name: str, method: str, arguments: Any) -> Any:
        asked.append(method)
        return await ask(self, name, method, arguments)

    monkeypatch.setattr(Remote, "_call", noted)
    own = {"user_id": person, "conversation_id": f"talk/of {person}", "turn_id": "t", "fact_id": "f"}
    own |= {"position": place["position"], "message_id": place["message_id"]}
    own |= {"partition": place["partition"], "offset": place["offset"]}
    statuses: dict[str, int] = {}
    stopping = asyncio.Event()
    stopping.set()  # streams end at once
    async with AsyncExitStack() as resources:
        opened = await open_all(rig.settings, process_metrics(), resources)
        app = create_api(opened.parts, stopping=stopping)
        http = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=rig.url, timeout=60)
        await resources.enter_async_context(http)
        for each in (each for each in OPERATIONS if each.method == "GET"):
            given = {name: own.get(name, value) for name, value in each.example.items()}
            path = each.path.format(**{name: quote(str(value), safe="") for name, value in given.items()})
            query = {name: value for name, value in given.items() if f"{{{name}}}" not in each.path}
            statuses[each.path] = (await http.get(path, params=query)).status_code
        assert set(statuses.values()) <= {200, 404}, statuses
        assert Counter(statuses.values())[200] > len(statuses) * 2 / 3, statuses
        assert asked and not _WRITES & set(asked), asked
        assert not producers.called, producers.call_args_list
        await http.post("/v1/messages", json=talk(person))
        assert producers.called  # what writes is seen
