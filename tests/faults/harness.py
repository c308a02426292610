"""One deployment for one test: its topics, its workers, its load and its verdict."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Self

from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaError
from chat_load import Load, Shape, conversations
from topic_reader import undrained
from verdict import COMMANDS, MESSAGES, SUMMARIES, Fault, Totals, Verdict, policy
from workers import PATIENCE, Worker, eventually, misbehaving_command, worker_command

from streams.admin.topics import admin
from streams.admin.topics.rights import topics_of
from streams.clients.catalog import Catalog, load_catalog
from streams.config.settings import Settings
from streams.llm.tokenizer import cl100k_counter

#: A request for a summary is due in every conversation that is not short.
TOKEN_THRESHOLD = 300

#: Longer than a busy machine keeps a worker from its heartbeats; else its group would rightly give it up.
SESSION_SECONDS = 20

#: The shortest that is allowed, where a test waits until the group has given a worker up.
SHORT_SESSION = {"session_timeout_seconds": 6}


class Deployment:
    """``async with``: topics with a prefix of their own on a broker; what was started is ended with them.

    ``services``: those that run; the topics of others take a broker time to make and to delete.
    """

    services: tuple[str, ...] = ("ingest",)
    sources: tuple[str, ...] = (MESSAGES, SUMMARIES, COMMANDS)

    def __init__(self, servers: str, prefix: str, folder: Path, logs, seed: int) -> None:
        self.servers = servers
        self.catalog = _topics_of(self.services, prefix)
        self.prefix = prefix
        self.folder = folder
        self.seed = seed
        self.workers: list[Worker] = []
        self._logs = logs
        self._loads: list[Load] = []
        print(f"seed of this test: {seed}")

    @property
    def group(self) -> str:
        return f"{self.prefix}switchboard-{self.services[0]}"

    @property
    def topic(self) -> str:
        return self.catalog.name(MESSAGES)

    async def __aenter__(self) -> Self:
        applied = await admin.apply(self.catalog, Settings(bootstrap_servers=self.servers))
        assert not applied.remaining
        return self

    async def __aexit__(self, *_: object) -> None:
        for worker in self.workers:
            worker.end()
        for load in self._loads:
            load.ask_to_stop()
        await self.delete([spec.name for spec in self.catalog.all()])

    async def delete(self, topics: list[str]) -> None:
        """Delete topics, until the broker shows them no more; those that are not there are passed over."""
        client = AIOKafkaAdminClient(bootstrap_servers=self.servers)
        async with asyncio.timeout(PATIENCE):
            await client.start()
            try:
                await client.delete_topics(topics)
                while not set(topics).isdisjoint(await client.list_topics()):
                    await asyncio.sleep(0.05)
            finally:
                await client.close()

    def settings(self, instance: str, **changes: object) -> dict[str, object]:
        return {
            "bootstrap_servers": self.servers,
            "topic_prefix": self.prefix,
            "instance_id": instance,
            "data_dir": self.folder / f"data-{instance}",
            "metrics_port": 0,
            "log_format": "json",
            "session_timeout_seconds": SESSION_SECONDS,
            "heartbeat_seconds": 1,
            "token_threshold": TOKEN_THRESHOLD,
        } | changes

    def worker(self, instance: str = "a", *, how: str = "", host: str = "", **changes: object) -> Worker:
        """Start a worker: the real one, or one that misbehaves (see misbehaving.py), on ``host``."""
        command = misbehaving_command(how, self.control) if how else worker_command("ingest")
        return self.start(command, instance, host=host, **changes)

    def start(self, command: list[str], instance: str, *, host: str = "", **changes: object) -> Worker:
        log = self._logs.register(self.folder / f"worker-{instance}-{len(self.workers)}.log")
        place = self.folder / f"host-{host}" if host else None
        if place is not None:
            place.mkdir(exist_ok=True)
        self.workers.append(Worker(command, self.settings(instance, **changes), log, place))
        return self.workers[-1]

    @property
    def control(self) -> Path:
        """The folder through which a misbehaving worker is switched."""
        folder = self.folder / "control"
        folder.mkdir(exist_ok=True)
        return folder

    def messages(self, shape: Shape | None = None, name: str = "c") -> Iterator[tuple[bytes, bytes]]:
        return conversations(self.seed, shape or Shape(), name=name)

    def load(self, total: int | None = None, *, rate: float = 4000, records=None, **options) -> Load:
        load = Load(self.servers, self.topic, records or self.messages(), rate=rate, total=total, **options)
        self._loads.append(load)
        return load

    async def behind(self) -> object:
        """What the group has not committed yet: ``{}`` when it is at the end of all its sources."""
        try:
            return await undrained(self.servers, self.catalog, self.group, self.sources)
        except KafkaError as error:  # the broker's own topic for commits may not be there yet
            return error

    async def drained(self, timeout: float = 180.0) -> None:
        latest: object = None

        async def empty() -> bool:
            nonlocal latest
            latest = await self.behind()
            return latest == {}

        try:
            await eventually(empty, "all records are processed and committed", timeout, poll=0.2)
        except AssertionError as error:
            raise AssertionError(f"{error}; behind by {latest!r}") from None

    async def verdict(self, bad: Fault = lambda record: None) -> Totals:
        """Wait until everything is processed, then account for every record in every topic."""
        await self.drained()
        verdict = Verdict(
            self.servers,
            self.catalog,
            cl100k_counter(),
            policy=policy(token_threshold=TOKEN_THRESHOLD),
            bad=bad,
        )
        totals = await verdict.check()
        print(totals)
        return totals


def _topics_of(services: Iterable[str], prefix: str) -> Catalog:
    whole = load_catalog(prefix)
    used = {spec.name for service in services for spec in topics_of(service, whole)}
    return Catalog([spec for spec in whole if spec.name in used], prefix)
