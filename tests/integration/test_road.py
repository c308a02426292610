"""The whole road: chat messages go in on Kafka, the services run, and what was said can be searched."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import uuid
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest
from aiokafka import AIOKafkaProducer, TopicPartition
from prometheus_client.parser import text_string_to_metric_families
from waiting import eventually

from deploy.local.kafka import LocalKafka
from deploy.local.ports import free_ports
from models import ids
from models.episodes import Episode, EpisodeReason
from models.facts import Fact, FactStatus
from models.messages import ChatMessage, Role
from models.windows import Window, WindowReason
from streams.admin.topics import admin
from streams.clients.catalog import load_catalog
from streams.clients.kafka.broker import ends_of, group_lags, reading, until
from streams.clients.local_valkey import LocalValkey
from streams.clients.records import SourceRecord
from streams.config import child_process
from streams.config.settings import Settings
from streams.queries.services import sources_by_group

pytestmark = pytest.mark.kafka

MESSAGES, WINDOWS, FACTS = "chat.messages.v1", "memory.windows.v1", "memory.facts.v1"
EPISODES, EMBEDDINGS = "memory.episodes.v1", "memory.embeddings.v1"
PATIENCE = 120.0

#: The person, and what was said; the assistant's lines are marked.  The first is the requirement's own.
CONVERSATIONS = {
    "kitchen": (
        "ada",
        """Morning! What's the weather going to be?
        assistant: Sunny, around twenty degrees.
        Perfect for a walk.
        assistant: Indeed.
        By the way, I'm allergic to peanuts.
        assistant: Good to know!
        you know what i like?
        assistant: what?
        blueberries.
        assistant: thats great.
        especially in smoothies.
        assistant: Noted!
        What's on today?
        assistant: Two meetings, at ten and at three.
        Which room?
        assistant: The small one.
        Thanks.""",
    ),
    "evening": (
        "ada",
        """assistant: Welcome back! Where do you live now?
        I live in Porto, so tell me the local time, please.
        assistant: It is nine in the evening.""",
    ),
    "music": (
        "bo",
        """Hello there.
        assistant: Hello! How can I help?
        I play the cello in an orchestra.
        assistant: How lovely! And what do you drink before rehearsals?
        My favourite drink is strong coffee.
        assistant: Who doesn't?
        Can you set a timer?
        assistant: Of course. For how long?
        Twenty minutes.
        assistant: Done.
        I hate being late.
        assistant: You won't be.""",
    ),
    "会話-7": (
        "佐藤葵",
        """I work as a nurse at a children's hospital.
        assistant: That must be demanding. What do you drink on long shifts?
        My favourite drink is green tea. 🍵
        assistant: お茶ですね。""",
    ),
}
STARTED = datetime(2025, 3, 1, 9, 0, tzinfo=UTC)


def messages() -> list[ChatMessage]:
    """What is sent, conversation by conversation."""
    found = []
    for conversation, (user, text) in CONVERSATIONS.items():
        for n, line in enumerate(map(str.strip, text.splitlines())):
            found.append(
                ChatMessage(
                    message_id=f"{conversation}-{n}",
                    conversation_id=conversation,
                    user_id=user,
                    role=Role.ASSISTANT if line.startswith("assistant: ") else Role.USER,
                    content=line.removeprefix("assistant: "),
                    sent_at=STARTED + timedelta(seconds=20 * n),
                )
            )
    return found


def expected_windows() -> dict[str, WindowReason]:
    """Seed 000: ten messages, three of them also in the window before; what is left when it is closed."""
    found = {}
    for conversation, count in Counter(message.conversation_id for message in messages()).items():
        first, done = 0, 0
        while first + 10 <= count:
            found[window_id(conversation, first, first + 9)] = WindowReason.FULL
            first, done = first + 7, first + 10
        if done < count:
            found[window_id(conversation, first, count - 1)] = WindowReason.CLOSED
    return found


def window_id(conversation: str, first: int, last: int) -> str:
    """The id of the window over these messages; all but the first window repeat three."""
    ends = f"{conversation}-{first}", f"{conversation}-{last}"
    return ids.window_id("default", conversation, *ends, 3 if first else 0)


class Worker:
    """``switchboard worker <service>`` as a child process."""

    def __init__(self, service: str, environment: dict[str, str], folder: Path) -> None:
        self.service = service
        self.log = folder / f"{service}-{environment['SWITCHBOARD_INSTANCE_ID']}.log"
        self.health = f"http://127.0.0.1:{environment['SWITCHBOARD_METRICS_PORT']}"
        command = [
            sys.executable,
            "-m",
            "streams.cli",
            *([service] if service == "serve" else ["worker", service]),
        ]
        with self.log.open("ab") as output:
            self._process = child_process.spawn(command, output=output, env=environment, cwd=folder)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def running(self) -> bool:
        return self._process.poll() is None

    def is_ready(self) -> bool:
        assert self.running, f"{self.service} ended with {self._process.returncode}"
        try:
            return httpx.get(f"{self.health}/readyz", timeout=5, trust_env=False).is_success
        except httpx.TransportError:
            return False

    def metric(self, name: str, **labels: str) -> float:
        """Return the sum of a metric's samples with these labels."""
        text = httpx.get(f"{self.health}/metrics", timeout=PATIENCE, trust_env=False).text
        return sum(
            sample.value
            for family in text_string_to_metric_families(text)
            for sample in family.samples
            if sample.name == f"switchboard_{name}" and labels.items() <= sample.labels.items()
        )

    def exit_code(self) -> int:
        """Wait for the end."""
        return self._process.wait(PATIENCE)

    def terminate(self) -> None:
        self._process.send_signal(signal.SIGTERM)

    def end(self) -> None:
        child_process.end(self._process, 0.0)


class Road:
    """Topics with a prefix of their own, their services on them, and what a person would do with them."""

    def __init__(self, servers: str, folder: Path) -> None:
        self.folder = folder
        prefix = f"test-{uuid.uuid4().hex[:8]}-"
        self.catalog = load_catalog(prefix)
        self.settings = Settings(bootstrap_servers=servers, topic_prefix=prefix)
        self.api_port, *self._health_ports = free_ports(6)
        self.workers: list[Worker] = []
        self.logs: list[Path] = []
        applied = asyncio.run(admin.apply(self.catalog, self.settings))
        assert not applied.remaining

    def environment(self, instance: str = "a", **changes: object) -> dict[str, str]:
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("SWITCHBOARD_")}
        own = {
            "bootstrap_servers": self.settings.bootstrap_servers,
            "topic_prefix": self.settings.topic_prefix,
            "data_dir": self.folder / "data",
            "instance_id": instance,
            "api_port": self.api_port,
            "tick_seconds": 0.2,
            "commit_interval_seconds": 0.5,
        } | changes
        return inherited | {f"SWITCHBOARD_{name.upper()}": str(value) for name, value in own.items()}

    def worker(self, service: str, port: int, instance: str = "a", **changes: object) -> Worker:
        started = Worker(service, self.environment(instance, metrics_port=port, **changes), self.folder)
        self.logs.append(started.log)
        return started

    def start(self) -> None:
        """Start the services and wait until they are ready."""
        self.workers = [
            self.worker(service, port)
            for service, port in zip(("ingest", "memory", "recall", "serve"), self._health_ports, strict=False)
        ]
        for worker in self.workers:
            eventually(worker.is_ready, f"{worker.service} is ready")

    def stop(self) -> list[int]:
        """SIGTERM to all; return their exit codes."""
        for worker in self.workers:
            worker.terminate()
        codes = [worker.exit_code() for worker in self.workers]
        self.workers = []
        return codes

    def end(self) -> None:
        for worker in self.workers:
            worker.end()

    def second_recall_worker(self) -> Worker:
        """Start another one on the same folder, with a name and ports of its own."""
        (api_port,) = free_ports(1)
        return self.worker("recall", self._health_ports[4], "b", api_port=api_port)

    def send(self, given: Sequence[ChatMessage] = ()) -> None:
        """Publish messages, by default all, keyed as the contract says."""

        async def publish() -> None:
            async with AIOKafkaProducer(bootstrap_servers=self.settings.bootstrap_servers) as producer:
                for message in given or messages():
                    key, value = message.conversation_id.encode(), msgspec.json.encode(message)
                    await producer.send(self.catalog.name(MESSAGES), value, key)

        asyncio.run(publish())

    def close(self) -> None:
        """``switchboard conversations close``, as a person calls it."""
        command = [sys.executable, "-m", "streams.cli", "conversations", "close", *CONVERSATIONS]
        done = subprocess.run(
            command, env=self.environment(), cwd=self.folder, capture_output=True, timeout=PATIENCE, check=False
        )
        assert done.returncode == 0, done.stderr.decode()
        assert done.stdout.decode().startswith(f"asked to close {len(CONVERSATIONS)} conversations")

    def records(self, topic: str) -> list[SourceRecord]:
        """Return everything that lies in a topic, in order within each partition."""

        async def read() -> list[SourceRecord]:
            name = self.catalog.name(topic)
            places = [TopicPartition(name, number) for number in range(self.catalog.partitions(topic))]
            async with reading(self.settings) as consumer:
                consumer.assign(places)
                ends = await ends_of(consumer, places)
                return [record async for record in until(consumer, ends)]

        return asyncio.run(read())

    def facts(self) -> dict[str, Fact]:
        """Return each fact in the state that its topic says."""
        found: dict[str, Fact] = {}
        for record in self.records(FACTS):
            fact = msgspec.json.decode(record.value or b"", type=Fact)
            before = found.get(fact.fact_id)
            assert fact.version == (before.version + 1 if before else 1), "versions grow by one"
            found[fact.fact_id] = fact
        return found

    def living(self) -> list[Fact]:
        return [fact for fact in self.facts().values() if fact.status is not FactStatus.MERGED_INTO]

    def is_drained(self) -> bool:
        """Whether they have processed every record of every topic that they read."""
        groups = sources_by_group(self.settings)
        groups.pop(self.settings.group("respond"), None)
        lags = asyncio.run(group_lags(self.settings, groups))
        return all(lag.lag == 0 for lag in lags)

    def ask(self, path: str, **parameters: Any) -> Any:
        """Ask the HTTP API."""
        url = f"http://127.0.0.1:{self.api_port}{path}"
        response = httpx.get(url, params=parameters, timeout=PATIENCE, trust_env=False)
        assert response.is_success, response.text
        return response.json()

    def search(self, query: str, user: str) -> dict[str, Any]:
        """``switchboard search``, as a person calls it."""
        command = [
            sys.executable,
            "-m",
            "streams.cli",
            "search",
            query,
            "--user",
            user,
            "--type",
            "facts",
            "--json",
        ]
        done = subprocess.run(
            command, env=self.environment(), cwd=self.folder, capture_output=True, timeout=PATIENCE, check=False
        )
        assert done.returncode == 0, done.stderr.decode()
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer


@pytest.fixture(scope="module")
def shared_road(kafka: LocalKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Road]:
    """The road after the conversations went over it once."""
    road = Road(kafka.bootstrap_servers, tmp_path_factory.mktemp("road"))
    try:
        road.start()
        road.send()
        road.close()
        eventually(
            lambda: len(road.records(WINDOWS)) >= len(expected_windows()) and road.is_drained(),
            "all windows are cut and everything is processed",
        )
        yield road
    finally:
        road.end()


@pytest.fixture
def road(shared_road: Road, worker_logs: Any) -> Road:
    """The road with its services running."""
    if not shared_road.workers:
        shared_road.start()
    for log in shared_road.logs:
        worker_logs.register(log)
    return shared_road


#: Whom one asks what, and words that the best answer must hold.
QUESTIONS = [
    ("ada", "blueberries", ("like", "blueberries")),
    ("ada", "which foods are dangerous for them?", ("peanuts",)),
    ("ada", "where is their home?", ("Porto",)),
    ("bo", "do they play an instrument?", ("cello",)),
    ("bo", "favourite drink", ("coffee",)),
    ("佐藤葵", "what is their profession?", ("nurse",)),
    ("佐藤葵", "tea", ("green tea",)),
]


def test_the_windows_are_the_expected_ones(road: Road) -> None:
    windows = [msgspec.json.decode(record.value or b"", type=Window) for record in road.records(WINDOWS)]
    assert {window.window_id: window.reason for window in windows} == expected_windows()
    assert len(windows) == len(expected_windows()), "each once"


def test_each_conversation_is_an_episode_whose_vector_was_asked_for(road: Road) -> None:
    def formed() -> dict[str, Episode]:
        records = road.records(EPISODES)
        episodes = [msgspec.json.decode(record.value or b"", type=Episode) for record in records]
        return {episode.conversation_id: episode for episode in episodes}

    eventually(lambda: formed().keys() == CONVERSATIONS.keys(), "every conversation is an episode")
    said = Counter(message.conversation_id for message in messages())
    for conversation, episode in formed().items():
        assert episode.message_ids == tuple(f"{conversation}-{n}" for n in range(said[conversation]))
        assert episode.reason is EpisodeReason.CLOSED
    embedded = {record.key for record in road.records(EMBEDDINGS)}
    assert {f"episode/{episode.episode_id}".encode() for episode in formed().values()} <= embedded


def test_the_index_agrees_with_the_topic(road: Road) -> None:
    facts = road.living()
    assert {fact.status for fact in facts} == {FactStatus.ACTIVE}
    assert {fact.user_id for fact in facts} == {"ada", "bo", "佐藤葵"}
    for user in ("ada", "bo", "佐藤葵"):
        listed = msgspec.convert(road.ask("/v1/facts", user_id=user)["facts"], list[Fact])
        told = sorted((fact for fact in facts if fact.user_id == user), key=lambda fact: fact.fact_id)
        assert listed == told


def test_the_seeds_blueberries_are_one_fact_with_their_question(road: Road) -> None:
    (fact,) = [fact for fact in road.living() if "blueberries" in fact.statement]
    assert (fact.user_id, fact.status) == ("ada", FactStatus.ACTIVE)
    assert fact.statement == "you know what i like? – blueberries."
    assert [source.quote for source in fact.provenance] == ["blueberries."]


@pytest.mark.parametrize(("user", "query", "words"), QUESTIONS)
def test_the_api_finds_them(road: Road, user: str, query: str, words: tuple[str, ...]) -> None:
    answer = road.ask("/v1/search", q=query, user_id=user, search_type="facts")
    assert not answer["degraded"]
    best = answer["results"][0]["fact"]
    assert all(word in best["statement"] for word in words), best["statement"]
    assert {found["fact"]["user_id"] for found in answer["results"]} == {user}


def test_provenance_leads_to_what_was_said(road: Road) -> None:
    """Each offset holds the message that is named, and the quote is in their words."""
    log = {(record.partition, record.offset): record for record in road.records(MESSAGES)}
    for fact in road.facts().values():
        for source in fact.provenance:
            assert source.topic == MESSAGES
            records = [log[source.partition, offset] for offset in source.offsets]
            found = [msgspec.json.decode(record.value or b"", type=ChatMessage) for record in records]
            assert tuple(message.message_id for message in found) == source.message_ids
            assert {message.conversation_id for message in found} == {source.conversation_id}
            assert fact.user_id in {message.user_id for message in found}
            for line in source.quote.splitlines():
                assert any(line in message.content for message in found), (line, found)


def test_a_second_recall_worker_on_the_same_folder_is_refused(road: Road) -> None:
    second = road.second_recall_worker()
    try:
        assert second.exit_code() == 78
    finally:
        second.end()
    said = second.log.read_text()
    assert "SWITCHBOARD_QDRANT_URL" in said
    first = road.workers[2]
    assert f"in use by process {first.pid}" in said
    assert "Traceback" not in said
    assert first.is_ready()


def test_the_same_input_again_adds_nothing(road: Road) -> None:
    ingest = road.workers[0]
    windows, facts = len(road.records(WINDOWS)), len(road.records(FACTS))
    seen = ingest.metric("skipped_records_total", reason="duplicate")
    road.send()
    again = seen + len(messages())
    eventually(
        lambda: ingest.metric("skipped_records_total", reason="duplicate") == again and road.is_drained(),
        "every message was seen and known again",
    )
    assert len(road.records(WINDOWS)) == windows
    assert len(road.records(FACTS)) == facts, "not even a new version"


def test_what_was_said_is_found_as_turn_and_fact_and_leads_to_its_window(road: Road) -> None:
    found = {}
    for kind in ("turn", "fact"):
        answer = road.ask("/v1/search", q="peanuts", user_id="ada", search_type=f"{kind}s")
        assert not answer["degraded"]
        found[kind] = answer["results"][0]
    assert found["turn"]["text"] == "By the way, I'm allergic to peanuts."
    assert found["turn"]["message_ids"] == ["kitchen-4"]
    assert "peanuts" in found["fact"]["fact"]["statement"]
    assert "kitchen-4" in found["fact"]["message_ids"]
    turn = found["turn"]["turn"]
    window = road.ask(
        f"/v1/conversations/{turn['conversation_id']}/window",
        user_id="ada",
        first=turn["index"],
        last=turn["index"],
        turns=1,
    )
    assert (window["windowStart"], window["windowEnd"]) == (2, 6)
    said = [message for message in messages() if message.conversation_id == "kitchen"]
    assert [each["text"] for each in window["messages"]] == [message.content for message in said[2:7]]


def test_a_window_whose_log_has_expired_is_read_from_the_topic(road: Road) -> None:
    asked = {"user_id": "ada", "first": 4, "last": 5, "turns": 2}
    before = road.ask("/v1/conversations/kitchen/window", **asked)
    assert [each["index"] for each in before["messages"]] == list(range(10))

    async def expire() -> int:
        folder = road.settings.namespace.folder(road.folder / "data")
        client = LocalValkey(folder, "recall").client()
        try:
            (log,) = await client.keys("*log:*:kitchen")
            return int(await client.delete(log))
        finally:
            await client.aclose()

    assert asyncio.run(expire()) == 1
    assert road.ask("/v1/conversations/kitchen/window", **asked) == before
    behind = road.ask("/v1/conversations/kitchen/window", user_id="ada", first=90, last=91, turns=1)
    assert (behind["messages"], behind["windowStart"], behind["windowEnd"]) == ([], 88, 93)


def test_after_each_message_the_context_for_the_next_turn_is_ready(road: Road) -> None:
    """Made of the last two turns, by meaning, of facts and of what was said in another conversation."""
    said = ["What could I bake?", "Something with fruit?", "Blueberries, but mind my allergy to peanuts!"]
    road.send(
        [
            ChatMessage(
                message_id=f"baking-{n}",
                conversation_id="baking",
                user_id="ada",
                role=Role.ASSISTANT if n % 2 else Role.USER,
                content=text,
                sent_at=STARTED + timedelta(days=1, seconds=20 * n),
            )
            for n, text in enumerate(said)
        ]
    )

    def made() -> Any:
        url = f"http://127.0.0.1:{road.api_port}/v1/context"
        asked = {"user_id": "ada", "conversation_id": "baking"}
        response = httpx.get(url, params=asked, timeout=PATIENCE, trust_env=False)
        if response.status_code == 404:  # until its first message was read
            return None
        assert response.is_success, response.text
        context = response.json()["context"]
        complete = context is not None and context["after_index"] == 2 and context["by_meaning"]
        return response.json() if complete else None

    answer = eventually(made, "there is a context after the last of them, by meaning")
    context = answer["context"]
    assert (answer["status"], answer["behind"]) == ("made", 0)
    assert len(context["made_from"]) == 2
    inside: dict[str, list[str]] = {}
    for item in context["items"]:
        if "left_out" not in item:
            inside.setdefault(item["tier"], []).append(item["text"])
    assert inside["recent"] == said
    assert any("peanuts" in text for text in inside["facts"])
    assert any("I'm allergic to peanuts." in text for text in inside["episodes"])
    assert all(text in answer["prompt"] for texts in inside.values() for text in texts)
    assert 0 < context["tokens"] <= context["budget"] == 1500


def test_nobody_reads_what_is_another_persons(road: Road) -> None:
    """Every path, with whatever one may name of somebody else's."""
    theirs = next(fact for fact in road.living() if fact.user_id == "ada" and "peanuts" in fact.statement)
    secrets = ("peanut", "porto", "blueberr", "allergic")
    for user in ("bo", "nobody"):
        for path, more in (
            ("/v1/search", {"q": "peanuts allergic Porto blueberries"}),
            ("/v1/search", {"q": "peanuts", "conversation_id": "kitchen"}),
            ("/v1/search", {"q": "peanuts", "search_type": "turns"}),
            ("/v1/search", {"q": "peanuts", "search_type": "episodes"}),
            ("/v1/search", {"q": "peanuts", "tenant_id": "acme"}),
            ("/v1/facts", {"status": "any"}),
            ("/v1/facts", {"start": theirs.fact_id}),
            (f"/v1/facts/{theirs.fact_id}", {}),
            (f"/v1/facts/{theirs.fact_id}", {"tenant_id": "acme"}),
            ("/v1/conversations/kitchen/window", {"first": "0", "last": "9"}),
            ("/v1/conversations/kitchen/window", {"first": "0", "last": "9", "tenant_id": "acme"}),
            ("/v1/context", {"conversation_id": "kitchen"}),
            ("/v1/context", {"conversation_id": "kitchen", "tenant_id": "acme"}),
        ):
            url = f"http://127.0.0.1:{road.api_port}{path}"
            response = httpx.get(url, params={"user_id": user, **more}, timeout=PATIENCE, trust_env=False)
            assert response.status_code in (200, 403, 404), response.text
            told = response.json()
            told.pop("query", None)
            assert not [word for word in secrets if word in json.dumps(told).lower()], (path, user, told)


@pytest.mark.long
def test_a_person_with_no_name_and_a_thousand_conversations(road: Road) -> None:
    """Listed whole and each once; what was said in one of them is found and known, and contexts are made."""
    count, user = 1_000, "7f3a9c"
    told = {
        417: "I left my green umbrella at the planetarium.",
        733: "I am allergic to walnuts.",
    }
    names = [f"nameless-{number}" for number in range(count)]
    road.send(
        [
            ChatMessage(
                message_id=f"{name}-0",
                conversation_id=name,
                user_id=user,
                role=Role.USER,
                content=told.get(number, f"Is the {number}th lane open to lorries?"),
                sent_at=STARTED + timedelta(minutes=number),
            )
            for number, name in enumerate(names)
        ]
    )

    def listed() -> list[str]:
        found, cursor = list[str](), ""
        while True:
            page = road.ask(
                "/v1/conversations", user_id=user, limit=200, **({"cursor": cursor} if cursor else {})
            )
            found += [each["conversation_id"] for each in page["conversations"]]
            if not (cursor := page.get("next")):
                return found

    found = eventually(lambda: len(found := listed()) >= count and found, "all of them are listed")
    assert sorted(found) == sorted(names)
    done = subprocess.run(
        [sys.executable, "-m", "streams.cli", "conversations", "close", names[733]],
        env=road.environment(), cwd=road.folder, capture_output=True, timeout=PATIENCE, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr.decode()

    def facts() -> list[str]:
        return [each["statement"] for each in road.ask("/v1/facts", user_id=user)["facts"]]

    assert eventually(facts, "what they said of themselves is a fact") == ["I am allergic to walnuts."]
    for query in ("green umbrella", "Where did I leave my umbrella?"):
        # Each service goes at its own pace: turns may be searchable later than facts.
        best = eventually(
            lambda q=query: road.ask("/v1/search", user_id=user, q=q, search_type="turns", limit=3)["results"],
            query,
        )[0]
        assert best["message_ids"] == ["nameless-417-0"], query
    allergy = road.ask("/v1/search", user_id=user, q="walnuts", search_type="facts")["results"][0]
    assert allergy["message_ids"] == ["nameless-733-0"]

    def context() -> Any:
        answer = road.ask("/v1/context", user_id=user, conversation_id=names[-1])
        return answer if answer["status"] == "made" else None

    made = eventually(context, "there is a context of the last of them")["context"]
    assert made["after_index"] == 0 and 0 < made["tokens"] <= made["budget"]
    assert sum("left_out" not in each for each in made["items"]) > 1, "more than its own turn"


def test_the_command_line_finds_the_same_whether_the_service_runs_or_not(road: Road) -> None:
    """While it runs it is asked; then the command opens the folder, which a clean stop has let go."""
    user, query, words = QUESTIONS[0]
    running = road.search(query, user)
    assert all(word in running["results"][0]["fact"]["statement"] for word in words)
    assert road.stop() == [0, 0, 0, 0]
    stopped = road.search(query, user)
    assert [found["fact"] for found in stopped["results"]] == [found["fact"] for found in running["results"]]
    assert not stopped["degraded"]
