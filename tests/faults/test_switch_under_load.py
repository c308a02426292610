"""Another generation serves, and the one before again, while 50 searches a second are asked: each is whole."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import msgspec
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "integration"))

from serve_rig import ServeRig
from waiting import eventually

from deploy.local.kafka import LocalKafka
from models.messages import ChatMessage, Role
from streams.clients import kafka as clients
from streams.clients.partitioner import partition_of
from streams.clients.topics import MESSAGES
from streams.config import child_process

pytestmark = [pytest.mark.kafka, pytest.mark.faults, pytest.mark.long]

RATE, SECONDS = 50.0, 3.0  # of searches; and how long after each switch

#: At most so many at once: a machine that is too slow for the rate is asked less, not ever later.
MOST_AT_ONCE = 50

#: A replay leaves the processors to whoever else wants them, also to other tests.
CATCHING_UP_SECONDS = 500.0

PEOPLE = [f"u{number}" for number in range(5)]


class Answer(NamedTuple):
    """An answer: when it was asked for, its status, the generation that it names, and its texts."""

    began: float
    status: int
    generation: str
    texts: list[str]

    @property
    def is_of_one(self) -> bool:
        """True if all that it says of the allergy is of the generation that it names: c masks the word."""
        told = [text for text in self.texts if "allergic" in text]
        return bool(told) and all(("peanuts" in text) == (self.generation == "live") for text in told)


class Searches:
    """Asks at a steady rate, in a thread of its own, until it is closed."""

    def __init__(self, url: str) -> None:
        self.answers: list[Answer] = []
        self._url = url
        self._stop = threading.Event()
        self._thread = ThreadPoolExecutor(1)
        self._done = self._thread.submit(asyncio.run, self._run())

    async def _run(self) -> None:
        room = asyncio.Semaphore(MOST_AT_ONCE)
        limits = httpx.Limits(max_connections=MOST_AT_ONCE, max_keepalive_connections=MOST_AT_ONCE)
        async with (
            httpx.AsyncClient(base_url=self._url, limits=limits, timeout=60, trust_env=False) as client,
            asyncio.TaskGroup() as asking,
        ):
            while not self._stop.is_set():
                await room.acquire()
                asking.create_task(self._ask(client, PEOPLE[len(self.answers) % len(PEOPLE)], room))
                await asyncio.sleep(1 / RATE)  # the load: a steady rate

    async def _ask(self, client: httpx.AsyncClient, user: str, room: asyncio.Semaphore) -> None:
        began = time.monotonic()
        asked = {"user_id": user, "q": "What am I allergic to?", "limit": 10}
        try:
            answer = await client.post("/v1/search", json=asked)
            texts = [each["text"] for each in answer.json().get("results", ())]
            generation = answer.headers.get("switchboard-generation", "")
            self.answers.append(Answer(began, answer.status_code, generation, texts))
        except httpx.TransportError as error:
            self.answers.append(Answer(began, 0, "", [repr(error)]))
        finally:
            room.release()

    def close(self) -> None:
        """Wait for the answers to all that was asked."""
        self._stop.set()
        self._done.result()
        self._thread.shutdown()


@pytest.fixture
def rig(kafka: LocalKafka, tmp_path: Path, worker_logs: Any) -> Iterator[ServeRig]:
    made = ServeRig(kafka.bootstrap_servers, tmp_path)
    for service in ("serve", "ingest", "memory", "recall", "replay"):
        worker_logs.register(made.log(service))
    try:
        made.need("ingest", "memory", "recall")
        yield made
    finally:
        made.close()


def send(rig: ServeRig) -> None:
    """Have five people say what they are allergic to."""
    spec = rig.catalog.get(MESSAGES)

    async def publish() -> None:
        async with clients.connected(clients.make_producer(rig.settings, "test"), rig.settings, 30) as producer:
            for user in PEOPLE:
                for number, content in enumerate(["I am allergic to peanuts.", *["I see."] * 9]):
                    message = ChatMessage(
                        message_id=f"{user}-{number}",
                        conversation_id=user,
                        user_id=user,
                        role=Role.ASSISTANT if number % 2 else Role.USER,
                        content=content,
                        sent_at=datetime.now(UTC),
                    )
                    place = partition_of(user.encode(), spec.partitions)
                    await producer.send_and_wait(
                        spec.name, msgspec.json.encode(message), user.encode(), partition=place
                    )

    asyncio.run(publish())


def replay(rig: ServeRig, *arguments: str) -> Any:
    done = rig.command("replay", *arguments, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.timeout(900)
def test_no_search_fails_or_is_mixed_while_generations_change(rig: ServeRig) -> None:
    send(rig)
    with rig.client() as client:

        def is_known(user: str) -> bool:
            found = client.post("/v1/search", json={"user_id": user, "q": "What am I allergic to?"})
            return any("peanuts" in each["text"] for each in found.json().get("results", ()))

        eventually(lambda: all(map(is_known, PEOPLE)), "all five are found")
    masked = ("--with", 'SWITCHBOARD_MASK_PATTERNS=["peanuts"]')
    with rig.log("replay").open("wb") as output:
        command = [sys.executable, "-m", "streams.cli", "replay", "start", "c", *masked]
        running = child_process.spawn(command, output=output, env=rig.environment(), cwd=rig.folder)
    try:
        eventually(lambda: rig.command("replay", "status", "c").returncode == 0, "c is there")
        eventually(lambda: replay(rig, "status", "c")[0]["caught_up"], "c has caught up")
        searches = Searches(rig.url)
        followed: list[tuple[float, str]] = []
        try:
            for step, serves in (("switch", "c"), ("back", "live"), ("switch", "c"), ("back", "live")):
                switched = replay(rig, step, *([serves] if step == "switch" else []))
                followed.append((time.monotonic(), serves))
                assert switched["serves"] == serves and not switched["do_not_follow"]
                time.sleep(SECONDS)  # searches go on: their answers in this time are compared
        finally:
            searches.close()
    finally:
        child_process.end(running, 30)
    answers = searches.answers
    assert not [each for each in answers if each.status != 200]
    assert not [each for each in answers if not each.is_of_one]
    assert {each.generation for each in answers} == {"live", "c"}
    for at, serves in followed:
        after = [each.generation for each in answers if at < each.began < at + SECONDS]
        assert after and set(after) == {serves}, f"what was asked after the switch is answered by {serves}"
    print(f"{len(answers)} searches, {len(followed)} switches")
