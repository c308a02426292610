"""One run of the demo on parts that run: send, watch, ask, report."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError

from deploy.local import demo_report as report
from deploy.local.demo_input import EXAMPLES, InputMessage
from deploy.local.demo_parts import Parts
from deploy.local.demo_watch import CHUNKS, MESSAGES, View, Watcher
from models.errors import ConfigurationError, DependencyUnavailable
from models.ids import deterministic_id
from models.messages import DEFAULT_TENANT
from models.responses import ResponseChunk
from streams import cloudevents
from streams.cli import broker, search, services
from streams.runtime.partitioner import partition_of
from streams.topics import load_catalog

_SOURCE = "/switchboard/demo"
_RESPONSE_CONVERSATION = "amara-birthday"

#: Questions about the people of the examples; the first whose person is known is asked.
_QUESTIONS = (("amara", "what does she like for breakfast?"), ("tomas", "which programming language?"))
_ANY_QUESTION = "what do they like?"

#: No change of anything for so long, with work left, means that something is stuck.
_PATIENCE_SECONDS = 60.0
_LOOK_SECONDS = 0.5
_API_SECONDS = 10.0


class Run:
    """Sends what was not sent before and waits until everything that follows from it has happened."""

    def __init__(
        self, parts: Parts, messages: Sequence[InputMessage], progress: report.Progress, response: str
    ) -> None:
        self._parts = parts
        self._settings = parts.settings
        self._catalog = load_catalog(parts.settings.topic_prefix)
        self._messages = messages
        self._progress = progress
        self._response = response
        self._response_id = deterministic_id("demo-response", response)
        self._view = View((line.message for line in messages), self._response_id)
        self._sent = 0
        self._announced: set[str] = set()

    async def run(self) -> None:
        """Do everything and print it.

        Raises :class:`DependencyUnavailable` when a part ends by itself or nothing moves any more.
        """
        async with broker.reading(self._settings) as consumer:
            watcher = Watcher(consumer, self._catalog, self._view)
            self._progress.update("reading what is there already")
            await watcher.catch_up(self._settings)
            self._announced |= self._view.summaries.keys()
            following = asyncio.create_task(watcher.follow())
            try:
                rates = await self._send_and_settle()
                await self._filter_a_response()
            finally:
                following.cancel()
                await asyncio.gather(following, return_exceptions=True)
        report.print_facts(self._view)
        await self._ask()
        report.print_response(self._response, list(self._view.duplicates.values()))
        report.print_rates(rates)

    async def _send_and_settle(self) -> report.Rates:
        view = self._view
        fresh = [
            line
            for line in self._messages
            if (line.message.conversation_id, line.message.message_id) not in view.messages
        ]
        windows, facts, summaries = len(view.windows), len(view.facts), len(view.summaries)
        began = time.monotonic()
        await self._send(fresh)
        sending = time.monotonic() - began
        await self._settle(fresh)
        return report.Rates(
            sent=len(fresh),
            there_before=len(self._messages) - len(fresh),
            sending=sending,
            windows=len(view.windows) - windows,
            facts=len(view.facts) - facts,
            summaries=len(view.summaries) - summaries,
            settling=time.monotonic() - began,
        )

    async def _send(self, lines: Sequence[InputMessage]) -> None:
        """Publish in order, keyed by conversation, confirmed by all replicas."""
        topic = self._catalog.get(MESSAGES)
        async with self._producing() as producer:
            confirmations = []
            for line in lines:
                message = line.message
                headers = cloudevents.outgoing("chat.message.v1", _SOURCE, message.message_id)
                key = message.conversation_id.encode()
                partition = partition_of(key, topic.partitions)
                confirmations.append(
                    await producer.send(
                        topic.name, key=key, value=line.value, partition=partition, headers=headers
                    )
                )
            for confirmation in confirmations:
                await confirmation
                self._sent += 1
                if self._sent % 1000 == 0:
                    self._show(len(lines), "")

    async def _settle(self, sent: Sequence[InputMessage]) -> None:
        """Wait until each message is in a window, nothing is left to read, and no fact waits for its vector."""
        needed = self._will_be_windowed(sent)
        moved, calm = time.monotonic(), 0
        signature: tuple[int, ...] = ()
        while True:
            self._parts.check()
            lags = await broker.group_lags(self._settings, services.sources_by_group(self._settings))
            self._announce_summaries()
            behind = {row.group.rpartition("-")[2]: 0 for row in lags}
            for row in lags:
                behind[row.group.rpartition("-")[2]] += row.lag
            self._show(len(sent), ", ".join(f"{service} {lag:,}" for service, lag in behind.items()))
            view = self._view
            finished = needed <= view.windowed and not any(behind.values()) and not view.pending
            calm = calm + 1 if finished and await self._ready() else 0
            if calm == 2:
                return
            now = (len(view.windows), len(view.facts), view.pending, *(row.committed for row in lags))
            if now != signature:
                moved, signature = time.monotonic(), now
            elif time.monotonic() - moved > _PATIENCE_SECONDS:
                raise await self._stuck(len(needed - view.windowed), behind)
            await asyncio.sleep(_LOOK_SECONDS)

    async def _ready(self) -> bool:
        reports = await services.ask_services(self._settings, self._parts.metrics_ports)
        return all(row.ready for row in reports)

    def _will_be_windowed(self, sent: Sequence[InputMessage]) -> set[tuple[str, str]]:
        """Return the messages of conversations that have ended; the last ones of a live one stay open."""
        latest: dict[str, datetime] = {}
        for line in sent:
            message = line.message
            latest[message.conversation_id] = max(
                message.sent_at, latest.get(message.conversation_id, message.sent_at)
            )
        now = datetime.now(UTC)
        ended = {
            conversation
            for conversation, at in latest.items()
            if (now - at).total_seconds() > self._settings.idle_seconds
        }
        return {
            (line.message.conversation_id, line.message.message_id)
            for line in sent
            if line.message.conversation_id in ended
        }

    async def _stuck(self, missing: int, behind: dict[str, int]) -> DependencyUnavailable:
        reports = await services.ask_services(self._settings, self._parts.metrics_ports)
        reasons = [f"{row.service}: {'; '.join(row.reasons) or 'ready'}" for row in reports]
        return DependencyUnavailable(
            "the demo",
            f"nothing has moved for {_PATIENCE_SECONDS:.0f} s; {missing:,} messages are in no window, left to "
            f"read: {behind}; {' | '.join(reasons)}. The logs in {self._parts.folder / 'logs'} say more",
        )

    def _announce_summaries(self) -> None:
        for summary_id in self._view.summaries.keys() - self._announced:
            self._announced.add(summary_id)
            self._progress.say(f"  {report.summary_line(self._view.summaries[summary_id])}")

    def _show(self, total: int, behind: str) -> None:
        view = self._view
        waiting = f" ({view.pending:,} not embedded)" if view.pending else ""
        sent = f"sent {self._sent:,}/{total:,}" if total else "nothing new to send"
        self._progress.update(
            f"  {sent} | windows {len(view.windows):,} | facts {len(view.facts):,}"
            f"{waiting} | summaries {len(view.summaries):,} | to read: {behind}"
        )

    async def _filter_a_response(self) -> None:
        """Stream a response as a model would, unless a run before has, and wait until it has come back."""
        if not self._view.response_is_complete:
            topic = self._catalog.get(CHUNKS)
            partition = partition_of(self._response_id.encode(), topic.partitions)
            async with self._producing() as producer:
                for chunk in self._chunks():
                    await producer.send_and_wait(
                        topic.name,
                        key=self._response_id.encode(),
                        value=msgspec.json.encode(chunk),
                        partition=partition,
                    )
        self._progress.update("  streaming a response")
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while not self._view.response_is_complete:
            self._parts.check()
            if time.monotonic() > deadline:
                raise await self._stuck(0, {"respond": 1})
            await asyncio.sleep(_LOOK_SECONDS)
        self._progress.clear()

    def _chunks(self) -> Iterator[ResponseChunk]:
        """Cut the response as a model streams it: some characters at a time, anywhere."""
        sizes = random.Random(self._response_id)
        at = sequence = 0
        while at < len(self._response):
            size = sizes.randint(2, 14)
            end = min(at + size, len(self._response))
            yield ResponseChunk(
                response_id=self._response_id,
                conversation_id=_RESPONSE_CONVERSATION,
                sequence=sequence,
                text=self._response[at:end],
                final=end == len(self._response),
            )
            at, sequence = end, sequence + 1

    async def _ask(self) -> None:
        people = {fact.user_id for fact in self._view.known}
        if not people:
            return
        questions = [(user, query) for user, query in _QUESTIONS if user in people]
        user, query = questions[0] if questions else (min(people), _ANY_QUESTION)
        report.print_search(query, user, (await self._search(query, user)).results)

    async def _search(self, query: str, user: str) -> search.Answer:
        """Ask the API, which opens a moment after its service is ready."""
        deadline = time.monotonic() + _API_SECONDS
        while True:
            try:
                return await search.search(self._settings, query, user, DEFAULT_TENANT, 5)
            except (ConfigurationError, DependencyUnavailable):
                self._parts.check()
                if time.monotonic() > deadline:
                    raise
            await asyncio.sleep(_LOOK_SECONDS)

    def _producing(self) -> _Producing:
        return _Producing(self._settings.bootstrap_servers)


class _Producing:
    """A producer that waits for all replicas and repeats nothing; its failures are a dependency's."""

    def __init__(self, servers: str) -> None:
        self._servers = servers
        self._producer = AIOKafkaProducer(
            bootstrap_servers=servers, acks="all", enable_idempotence=True, client_id="switchboard-demo"
        )

    async def __aenter__(self) -> AIOKafkaProducer:
        await self._producer.start()
        return self._producer

    async def __aexit__(self, kind: object, error: object, trace: object) -> None:
        await self._producer.stop()
        if isinstance(error, KafkaError):
            raise DependencyUnavailable("kafka", f"{self._servers} took no messages: {error!r}") from error


def response_text(folder: Path = EXAMPLES / "responses") -> str:
    """Return the text of the response that the demo streams."""
    return (folder / "party.txt").read_text()
