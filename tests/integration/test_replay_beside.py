"""A replay beside the live services: the same facts, other facts with another setting, nothing left of it."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest
from aiokafka.admin import AIOKafkaAdminClient
from waiting import eventually

from deploy.local.kafka import LocalKafka
from models.facts import Fact
from models.messages import ChatMessage, Role
from models.webhooks import Webhook
from streams.admin.topics import admin
from streams.clients import commands
from streams.clients.catalog import catalog_for
from streams.clients.kafka.broker import group_lags, partitions_of
from streams.config import child_process
from streams.config.service_registry import notes
from streams.config.settings import Settings, load_settings
from streams.queries.erasure.forgetting import Forgetter
from streams.queries.services import ask, sources_by_group
from streams.server.replays import switching
from streams.server.webhooks.endpoints import WEBHOOKS
from tests.topic_records import records_of, write

pytestmark = [pytest.mark.kafka, pytest.mark.long]

MESSAGES, FACTS, WINDOWS = "chat.messages.v1", "memory.facts.v1", "memory.windows.v1"
PATIENCE = 150.0
STARTED = datetime(2025, 3, 1, 9, 0, tzinfo=UTC)

#: What people say of themselves; each says some of it.
SAID = """I'm allergic to peanuts.
I live in Porto, near the river.
My sister Anna works as a nurse in Leeds.
I play the cello in an orchestra.
I don't eat meat any more.
My favourite drink is strong coffee.
I'm training for a marathon in October.
Please always answer me in short sentences.
I have two cats, Biscuit and Moss.
I work at a bakery and start at four in the morning.
I can't stand loud music in restaurants.
I moved to Lisbon last week.""".splitlines()
ANSWERS = ("Good to know!", "Noted.", "How lovely!", "Thanks for telling me.", "I see.")


def messages(conversations: int = 20, length: int = 10) -> list[ChatMessage]:
    """Two hundred messages: person and assistant in turn."""
    return [
        ChatMessage(
            message_id=f"c{c}-{n}",
            conversation_id=f"c{c}",
            # One person has one conversation: nothing orders those in different partitions.
            user_id=f"u{c}",
            role=Role.ASSISTANT if n % 2 else Role.USER,
            content=ANSWERS[(c + n) % len(ANSWERS)] if n % 2 else SAID[(5 * c + n // 2) % len(SAID)],
            sent_at=STARTED + timedelta(minutes=10 * c, seconds=20 * n),
        )
        for c in range(conversations)
        for n in range(length)
    ]


class Deployment:
    """Topics with a prefix of their own, the live services on them, and the command line."""

    def __init__(self, servers: str, folder: Path, worker_logs: Any) -> None:
        self.folder, self._logs = folder, worker_logs
        self.own = {
            "bootstrap_servers": servers,
            "topic_prefix": f"test-{uuid.uuid4().hex[:8]}-",
            "data_dir": str(folder / "data"),
            "instance_id": "a",
            "metrics_port": 0,
            "api_port": 0,
            "token_threshold": 60,
            "tick_seconds": 0.2,
            "commit_interval_seconds": 0.3,
            "session_timeout_seconds": 6,
            "heartbeat_seconds": 1,
        }
        self.settings = load_settings(**self.own)
        self.processes: list[subprocess.Popen[bytes]] = []
        assert not asyncio.run(admin.apply(catalog_for(self.settings), self.settings)).remaining

    def generation(self, name: str) -> Settings:
        return load_settings(**self.own, generation=name)

    def environment(self) -> dict[str, str]:
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("SWITCHBOARD_")}
        return inherited | {f"SWITCHBOARD_{name.upper()}": str(value) for name, value in self.own.items()}

    def start(self, *command: str) -> subprocess.Popen[bytes]:
        log = self._logs.register(self.folder / f"{len(self.processes)}-{'-'.join(command[:3])}.log")
        with log.open("wb") as output:
            process = child_process.spawn(
                [sys.executable, "-m", "streams.cli", *command], output=output, env=self.environment()
            )
        self.processes.append(process)
        return process

    def replay(self, *arguments: str, status: int = 0) -> Any:
        """Run ``switchboard replay`` to its end; return what it printed, read as JSON if that was asked for."""
        done = subprocess.run(
            [sys.executable, "-m", "streams.cli", "replay", *arguments],
            env=self.environment(),
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        assert done.returncode == status, (done.returncode, done.stdout[:9000], done.stderr[-4000:])
        return json.loads(done.stdout) if "--json" in arguments else done.stdout + done.stderr

    def send(self, given: list[ChatMessage]) -> None:
        asyncio.run(write(self.settings, MESSAGES, *((each.conversation_id, each) for each in given)))

    def is_drained(self) -> bool:
        groups = sources_by_group(self.settings)
        groups.pop(self.settings.group("respond"))
        lags = asyncio.run(group_lags(self.settings, groups))
        return all(lag.lag == 0 for lag in lags)

    def drained(self) -> None:
        """Wait until the live services have read everything, five times in a row."""
        calm = 0

        def is_calm() -> bool:
            nonlocal calm
            calm = calm + 1 if self.is_drained() else 0
            return calm == 5  # between two stages nothing is anywhere for a moment

        eventually(is_calm, "all is read")

    def facts(self, settings: Settings) -> dict[str, Fact]:
        name = catalog_for(settings).name(FACTS)
        found: dict[str, Fact] = {}
        names = asyncio.run(partitions_of(settings, [name]))
        for record in asyncio.run(records_of(settings.bootstrap_servers, names))[name]:
            key = record.key.decode()
            if record.value is None:
                found.pop(key, None)
            else:
                found[key] = msgspec.json.decode(record.value, type=Fact)
        return found

    def ends(self) -> int:
        """Return the number of records in the log of messages."""
        name = catalog_for(self.settings).name(MESSAGES)
        groups = {self.settings.group("ingest"): [name]}
        [lag] = asyncio.run(group_lags(self.settings, groups))
        return lag.end

    def left_of(self, generation: str) -> tuple[list[str], list[str]]:
        """Topics and groups on the broker whose names hold a generation's."""

        async def groups() -> list[str]:
            client = AIOKafkaAdminClient(bootstrap_servers=self.settings.bootstrap_servers)
            await client.start()
            try:
                return [name for name, *_ in await client.list_consumer_groups()]
            finally:
                await client.close()

        mark = f"{self.settings.topic_prefix}generation-{generation}."
        topics = asyncio.run(partitions_of(self.settings))
        return [name for name in topics if mark in name], [
            name for name in asyncio.run(groups()) if mark in name
        ]

    def end(self) -> None:
        for process in self.processes:
            child_process.end(process, 10.0)


@pytest.fixture
def live(kafka: LocalKafka, tmp_path: Path, worker_logs: Any) -> Iterator[Deployment]:
    deployment = Deployment(kafka.bootstrap_servers, tmp_path, worker_logs)
    yield deployment
    deployment.end()


@pytest.mark.timeout(900)
def test_replays_repeat_differ_by_setting_and_drop_cleanly(
    live: Deployment,
) -> None:
    for service in ("ingest", "memory", "recall"):
        live.start("worker", service)
    live.send(messages())
    live.drained()
    closing = [commands.closing(f"c{number}") for number in range(20)]
    asyncio.run(commands.send(live.settings, closing))
    live.drained()
    known, log_end = live.facts(live.settings), live.ends()
    assert len(known) > 20

    plan = live.replay("plan", "b", "--json")
    assert (plan["messages"], plan["conversations"], plan["commands"], plan["calls"]) == (200, 20, 20, None)
    assert plan["gone"] == {"messages": 0, "commands": 0, "conversations": 0}

    # The same code and settings, with three times as many partitions.
    live.replay("start", "b", "--partitions", "24", "--until-caught-up")
    assert asyncio.run(partitions_of(live.settings))[catalog_for(live.generation("b")).name(FACTS)] == 24
    compared = live.replay("compare", "b", "--json")
    assert compared["caught_up"]
    assert [(topic["topic"], topic["equal"]) for topic in compared["topics"]] == [
        (FACTS, True),
        ("memory.summaries.v1", True),
    ]
    assert compared["topics"][0]["live_keys"] == len(known)
    assert compared["topics"][1]["live_keys"] > 0, "there are summaries to compare"
    told = compared["contexts"]
    assert (told["compared"] + told["missing"], told["missing"]) == (20, 0)
    assert compared["paid"] == {name: {"answers": 0, "cost_usd": 0.0} for name in ("live", "b")}
    assert live.ends() == log_end, "a replay writes no message, no tick, no copy of a command"
    assert "exists" in live.replay("start", "b", status=78), "two replays of one name"

    # What is erased meanwhile is erased in both, while the replay stands still and once it goes on.
    erased, kept = sorted(known)[:2]
    asyncio.run(Forgetter(live.settings).forget(known[erased]))
    live.drained()
    running = live.start("replay", "resume", "b")
    eventually(lambda: live.replay("status", "b", "--json")[0]["state"] == "runs", "the replay runs")
    assert "runs" in live.replay("drop", "b", "--yes", status=78)
    eventually(lambda: live.replay("status", "b", "--json")[0]["caught_up"], "the erasure is read")
    assert "paused b" in live.replay("pause", "b")
    assert running.wait(30) == 0
    for settings in (live.settings, live.generation("b")):
        assert erased not in live.facts(settings)
        assert kept in live.facts(settings)
    live.replay("compare", "b")

    # Another setting; and what was erased before the replay began stays erased.
    live.replay(
        *("start", "c", "--with", "SWITCHBOARD_WINDOW_SIZE=4", "--with", "SWITCHBOARD_WINDOW_OVERLAP=1"),
        *("--with", 'SWITCHBOARD_MASK_PATTERNS=["peanuts"]'),
        "--until-caught-up",
    )
    assert erased not in live.facts(live.generation("c"))
    told = live.replay("compare", "c", "--json", status=1)
    facts = told["topics"][0]
    assert not facts["equal"]
    assert facts["kinds"]["state"]["removed"] >= 1
    assert any("peanuts" in each["live"] for each in facts["kinds"]["state"]["examples"]["removed"])
    lines = [line for each in told["contexts"]["differences"] for line in each["only_live"]]
    assert any("peanuts" in line["text"] for line in lines)
    assert sum(kind["traced"] for kind in facts["kinds"].values()) > 10, "most were read in other windows"

    _switch_and_back(live)

    for name in ("b", "c"):
        live.replay("drop", name, "--yes")
        assert live.left_of(name) == ([], [])
        assert not live.generation(name).folder.exists()
    assert "there is no generation b" in live.replay("drop", "b", "--yes", status=66)
    assert live.is_drained()
    assert live.facts(live.settings).keys() == known.keys() - {erased}


def _switch_and_back(live: Deployment) -> None:
    """Have c serve, which masks peanuts, and the live generation again."""
    # A worker that has ended stays a member, by its name, until its session is over.
    eventually(lambda: asyncio.run(switching.not_running(live.generation("c"))), "the members of c are gone")
    assert "does not run" in live.replay("switch", "c", status=78)
    assert "no generation d" in live.replay("switch", "d", status=66)
    assert "nothing was ever switched" in live.replay("back", status=78)
    live.start("serve")
    eventually(lambda: any(note.service == "serve" for note in notes(live.settings)), "serve answers")
    slow = live.start("replay", "resume", "c", "--max-rate", "0.5")
    eventually(lambda: not asyncio.run(switching.not_running(live.generation("c"))), "c runs")
    live.send(messages(3, 10))  # said once more: nothing new comes of it
    live.drained()  # until then c is no further behind than the live services
    assert "is behind: it has read" in live.replay("switch", "c", status=78)
    live.replay("pause", "c")
    assert slow.wait(30) == 0
    # The members of before leave with their session: until then nobody knows whether the new ones run.
    eventually(lambda: asyncio.run(switching.not_running(live.generation("c"))), "the members of c are gone")
    live.start("replay", "resume", "c", "--max-rate", "0")
    eventually(lambda: not asyncio.run(switching.not_running(live.generation("c"))), "c runs again")
    eventually(lambda: live.replay("status", "c", "--json")[0]["caught_up"], "c has caught up")
    # Its workers then start again, as live ones run; on a busy machine their sessions end meanwhile.
    log = max(live.folder.glob("*-replay-resume-c.log"), key=lambda path: path.stat().st_mtime)
    eventually(lambda: log.read_text().count("partitions assigned") >= 6, "three workers have started twice")
    eventually(lambda: not asyncio.run(switching.not_running(live.generation("c"))), "c runs once more")
    asyncio.run(WEBHOOKS.put(live.settings, "w", webhook := _webhook()))
    assert "w would not hear of those of c" in live.replay("switch", "c", status=78)
    asyncio.run(WEBHOOKS.put(live.settings, webhook.webhook_id, None))

    for step, serves in ((("switch", "c"), "c"), (("back",), "live"), (("switch", "c"), "c")):
        switched = live.replay(*step, "--json")
        assert switched["switched"] and len(switched["follow"]) == 1 and not switched["do_not_follow"]
        generation, texts = asyncio.run(_search(live))
        told = [text for text in texts if "allergic" in text]
        assert generation == serves and told
        assert all(("peanuts" in text) == (serves == "live") for text in told), (serves, texts)
    assert not live.replay("switch", "c", "--json")["switched"]
    assert "c serves, so it cannot be dropped" in live.replay("drop", "c", "--yes", status=78)
    assert "c serves, so it cannot be paused" in live.replay("pause", "c", status=78)
    assert live.replay("switch", "live", "--json")["serves"] == "live"
    live.replay("pause", "c")


async def _search(live: Deployment) -> tuple[str, list[str]]:
    """Search; return generation and texts of the answer."""
    [here] = [note for note in notes(live.settings) if note.service == "serve"]
    url = str((await ask(live.settings, "serve", here.port)).details["api"])
    asked = {"user_id": "u0", "q": "What am I allergic to?", "limit": 10}
    async with httpx.AsyncClient(base_url=url, trust_env=False, timeout=60.0) as client:
        answer = await client.post("/v1/search", json=asked)
    assert answer.status_code == 200, answer.text
    return answer.headers["switchboard-generation"], [each["text"] for each in answer.json()["results"]]


def _webhook() -> Webhook:
    return Webhook(
        webhook_id="w",
        url="https://hooks.example.com/",
        topic="memory.facts.v1",
        secret="whsec_" + "A" * 44,
        created_at=STARTED,
    )
