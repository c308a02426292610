"""What must be in the topics, computed from the messages alone, and compared with what is there.

Nothing here asks a worker.  The messages are read back from the broker (committed ones only), folded by the
pure processor one conversation at a time, and every window, summary request, dead letter and changelog
entry is accounted for.
"""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NoReturn

import msgspec
from aiokafka import AIOKafkaConsumer, ConsumerRecord, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.partitioner import DefaultPartitioner

from models.errors import InvalidRecord
from models.ids import summary_id
from models.messages import ChatMessage
from models.summaries import Summary, SummaryRequest
from processors import token_table
from processors.conversation_fold import Fold
from processors.conversations import (
    ConversationPolicy,
    ConversationState,
    Kept,
    decode_page,
    decode_state,
    is_page,
    page_key,
)
from processors.token_table import TokenTable
from processors.tokens import TokenCounter, message_tokens
from processors.validation import decode_chat_message
from processors.windows import WindowSizes
from streams.runtime import marks
from streams.topics.catalog import Catalog

MESSAGES = "chat.messages.v1"
SUMMARIES = "memory.summaries.v1"
WINDOWS = "memory.windows.v1"
REQUESTS = "memory.summary-requests.v1"
CHANGELOG = "switchboard-ingest-conversations-changelog"
DEAD_LETTERS = MESSAGES + ".dlq"

#: Marks of the conversations stage: one per source (messages, summaries).
_SOURCES = 2

#: What a stage may find wrong with a record that is valid by itself: ``reason``, or ``None``.
Fault = Callable[[ConsumerRecord], str | None]

_encode = msgspec.json.Encoder().encode
_murmur2 = DefaultPartitioner()


async def read_topic(servers: str, topic: str, partitions: int) -> list[ConsumerRecord]:
    """Return all committed records of a topic, partition by partition, in offset order."""
    consumer = AIOKafkaConsumer(
        bootstrap_servers=servers,
        isolation_level="read_committed",
        auto_offset_reset="earliest",
        max_partition_fetch_bytes=8 << 20,
        fetch_max_wait_ms=50,
    )
    await consumer.start()
    try:
        tps = [TopicPartition(topic, number) for number in range(partitions)]
        consumer.assign(tps)
        ends = await consumer.end_offsets(tps)
        begins = await consumer.beginning_offsets(tps)
        found: dict[TopicPartition, list[ConsumerRecord]] = defaultdict(list)
        waiting = {tp for tp in tps if ends[tp] > begins[tp]}
        while waiting:
            for tp, records in (await consumer.getmany(*waiting, timeout_ms=200)).items():
                found[tp] += [record for record in records if record.offset < ends[tp]]
            waiting = {tp for tp in waiting if await consumer.position(tp) < ends[tp]}
        return [record for tp in tps for record in found[tp]]
    finally:
        await consumer.stop()


async def undrained(servers: str, catalog: Catalog, group: str, sources: Sequence[str]) -> dict[str, int]:
    """Return how many records the group has not committed, for the partitions where it is not at the end."""
    consumer = AIOKafkaConsumer(bootstrap_servers=servers, isolation_level="read_committed")
    admin = AIOKafkaAdminClient(bootstrap_servers=servers)
    await asyncio.gather(consumer.start(), admin.start())
    try:
        tps = [
            TopicPartition(catalog.name(source), number)
            for source in sources
            for number in range(catalog.partitions(source))
        ]
        committed = await admin.list_consumer_group_offsets(group)
        ends = await consumer.end_offsets(tps)
        behind = {}
        for tp in tps:
            offset = committed[tp].offset if tp in committed else 0
            if offset != ends[tp]:
                behind[f"{tp.topic}-{tp.partition}"] = ends[tp] - offset
        return behind
    finally:
        await asyncio.gather(consumer.stop(), admin.close())


@dataclass
class Expected:
    """What the messages must lead to."""

    windows: dict[str, bytes] = field(default_factory=dict)
    dead_letters: list[tuple] = field(default_factory=list)
    states: dict[bytes, ConversationState] = field(default_factory=dict)
    bodies: dict[bytes, tuple[Kept, ...]] = field(default_factory=dict)
    runs: dict[bytes, list[ChatMessage]] = field(default_factory=dict)
    stale_writes: int = 0
    messages: int = 0
    repeats: int = 0
    rerouted: int = 0


class Verdict:
    """Reads the topics of one deployment and accounts for every record.

    ``bad`` says which valid records the stage under test fails on.
    """

    def __init__(
        self,
        servers: str,
        catalog: Catalog,
        count: TokenCounter,
        *,
        policy: ConversationPolicy,
        max_content_bytes: int = 65_536,
        bad: Fault = lambda record: None,
    ) -> None:
        self._servers = servers
        self._catalog = catalog
        self._count = count
        self._policy = policy
        self._max_content_bytes = max_content_bytes
        self._bad = bad
        self.problems: list[str] = []
        self.expected = Expected()

    async def check(self) -> Expected:
        """Compare; raise AssertionError that names what is missing, wrong or invented."""
        messages, windows, requests, summaries, letters, changelog = [
            await self._read(name) for name in (MESSAGES, WINDOWS, REQUESTS, SUMMARIES, DEAD_LETTERS, CHANGELOG)
        ]
        self._fold(messages)
        self._check_windows(windows)
        answered = self._check_requests(requests, summaries)
        self._check_dead_letters(letters)
        self._check_states(changelog, answered)
        if self.problems:
            raise AssertionError("\n".join([f"{len(self.problems)} problems:", *self.problems[:40]]))
        return self.expected

    async def _read(self, name: str) -> list[ConsumerRecord]:
        spec = self._catalog.get(name)
        return await read_topic(self._servers, spec.name, spec.partitions)

    # -- what must be ----------------------------------------------------------------------------------

    def _fold(self, records: list[ConsumerRecord]) -> None:
        partitions = list(range(self._catalog.partitions(MESSAGES)))
        seen: dict[bytes, set[str]] = defaultdict(set)
        folds: dict[bytes, Fold] = {}
        expected = self.expected
        for record in records:
            if record.key is not None and _murmur2(record.key, partitions, partitions) != record.partition:
                expected.rerouted += 1
                continue
            try:
                message = decode_chat_message(
                    record.key,
                    record.value,
                    max_content_bytes=self._max_content_bytes,
                    arrived_ms=record.timestamp,
                )
            except InvalidRecord as error:
                expected.dead_letters.append(_letter(record, error.reason))
                continue
            reason = self._bad(record)
            if reason is not None:
                expected.dead_letters.append(_letter(record, reason))
                continue
            if record.key is None:
                expected.rerouted += 1
                continue
            key = record.key
            if message.message_id in seen[key]:
                expected.repeats += 1
                continue
            seen[key].add(message.message_id)
            expected.messages += 1
            expected.runs.setdefault(key, []).append(message)
            fold = folds.get(key)
            if fold is None:
                fold = folds[key] = Fold(
                    message.conversation_id,
                    ConversationState(message.tenant_id, message.user_id),
                    self._policy,
                    self._count,
                    (MESSAGES, record.partition),
                    _no_page,
                )
            fold.add(message, record.offset, record.timestamp / 1000)
        for key, fold in folds.items():
            expected.bodies[key] = tuple(fold._kept)  # before finish() forgets those that no one needs
            for window in fold.windows:
                expected.windows[window.window_id] = _encode(window)
            expected.states[key] = fold.finish(0.0)

    # -- what is ---------------------------------------------------------------------------------------

    def _check_windows(self, records: list[ConsumerRecord]) -> None:
        """Every window at least once, every copy with the same content, none that must not be, in order."""
        found: dict[str, bytes] = {}
        latest: dict[bytes, int] = {}
        for record in records:
            window = msgspec.json.decode(record.value)
            window_id = window["window_id"]
            expected = self.expected.windows.get(window_id)
            at = f"at {record.partition}:{record.offset}"
            if expected is None:
                self._problem(f"window {window_id} of {_span(window)} {at} is not expected")
            elif expected != record.value:
                self._problem(f"window {window_id} of {_span(window)} {at} has the wrong content")
            if window_id not in found:
                found[window_id] = record.value
                if window["to_index"] <= latest.get(record.key, -1):
                    self._problem(f"window {window_id} of {_span(window)} {at} comes after a later one")
                latest[record.key] = window["to_index"]
        for window_id in self.expected.windows.keys() - found.keys():
            window = msgspec.json.decode(self.expected.windows[window_id])
            self._problem(f"window {window_id} of {_span(window)} from {window['source']} is missing")

    def _check_requests(
        self, requests: list[ConsumerRecord], summaries: list[ConsumerRecord]
    ) -> dict[bytes, TokenTable]:
        """Requests are those that counting from scratch asks for; return each token table at the end.

        A summary counts as accepted from the moment its request was due: ranges depend on the messages and
        the summaries alone, not on when the summary came.
        """
        answers = {}
        for record in summaries:
            summary = msgspec.json.decode(record.value, type=Summary)
            answers.setdefault(summary.summary_id, summary)
        due: dict[str, tuple[int, int, int]] = {}
        tables = {}
        for key, run in self.expected.runs.items():
            tables[key] = self._recount(key, run, answers, due)
        found = set()
        for record in requests:
            request = msgspec.json.decode(record.value, type=SummaryRequest)
            key = record.key.decode()
            found.add(request.request_id)
            expected = due.get(request.request_id)
            if expected is None:
                self._problem(
                    f"summary request {request.request_id} of {key} [{request.from_index}, {request.to_index}] "
                    "is not expected"
                )
            elif expected != (request.from_index, request.to_index, request.tokens):
                self._problem(f"summary request {request.request_id} of {key}: {expected} is expected")
            run = self.expected.runs.get(record.key, [])
            due_ids = [message.message_id for message in run[request.from_index : request.to_index + 1]]
            ids = [message.message_id for message in request.messages]
            if ids != ([] if request.roll_up else due_ids):
                self._problem(f"summary request {request.request_id} of {key} holds messages {ids}")
        for request_id in due.keys() - found:
            self._problem(f"summary request {request_id} for {due[request_id]} is missing")
        return tables

    def _recount(
        self, key: bytes, run: list[ChatMessage], answers: dict[str, Summary], due: dict[str, tuple]
    ) -> TokenTable:
        counts = [message_tokens(message.role, message.content, self._count) for message in run]
        table = token_table.add(TokenTable(), counts)
        while (plan := token_table.due(table, self._policy.token_threshold)) is not None:
            request_id = summary_id(run[0].tenant_id, key.decode(), plan.from_index, plan.to_index)
            due[request_id] = (plan.from_index, plan.to_index, plan.tokens)
            table = token_table.opened(table, plan, 0.0)
            answer = answers.get(request_id)
            if answer is None:
                break
            table = token_table.accept(
                table, answer.summary_id, answer.from_index, answer.to_index, answer.tokens
            )
        return table

    def _check_dead_letters(self, records: list[ConsumerRecord]) -> None:
        """Each bad record byte for byte at least once, and nothing else."""
        found = Counter(_buried(record) for record in records)
        expected = set(self.expected.dead_letters)
        for letter in found.keys() - expected:
            self._problem(f"dead letter {letter[:3]} is not expected")
        for letter in expected - found.keys():
            self._problem(f"dead letter {letter[:3]} is missing or differs")

    def _check_states(self, changelog: list[ConsumerRecord], tables: dict[bytes, TokenTable]) -> None:
        """The changelog, replayed with the rule for marks, gives the state that the fold ends in."""
        values: dict[bytes, bytes] = {}
        for record in changelog:
            current = values.get(record.key)
            if record.value is None:
                values.pop(record.key, None)
            elif current is None or not marks.is_stale(record.value, current, _SOURCES):
                values[record.key] = record.value
            else:
                self.expected.stale_writes += 1
        payloads = {key: marks.payload(value, _SOURCES) for key, value in values.items()}
        found = {key: decode_state(payload) for key, payload in payloads.items() if not is_page(key)}
        for key in found.keys() - self.expected.states.keys():
            self._problem(f"state of {key!r} is not expected")
        for key, expected in self.expected.states.items():
            state = found.get(key)
            if state is None:
                self._problem(f"state of {key!r} is missing")
                continue
            for name, (is_, must_be) in _comparable(state, expected, tables[key]).items():
                if is_ != must_be:
                    self._problem(f"state of {key!r}: {name} is {is_}, expected {must_be}")
            self._check_bodies(key, state, payloads)

    def _check_bodies(self, key: bytes, state: ConversationState, payloads: dict[bytes, bytes]) -> None:
        """The messages that a window or a summary may still need are there, in the state or in its pages."""
        bodies: dict[int, Kept] = {}
        for begins in state.pages:
            page = payloads.get(page_key(key, begins))
            if page is None:
                self._problem(f"state of {key!r} names a page at {begins} that is not there")
            else:
                bodies.update(enumerate(decode_page(page), begins))
        bodies.update(enumerate(state.kept, state.kept_from))
        needed = range(min(state.cursor.from_index, state.tokens.from_index), state.next_index)
        kept = dict(enumerate(self.expected.bodies[key]))
        for index in needed:
            if bodies.get(index) != kept.get(index):
                self._problem(
                    f"state of {key!r}: message {index} is {bodies.get(index)}, not {kept.get(index)}"
                )

    def _problem(self, what: str) -> None:
        self.problems.append(what)


def _comparable(state: ConversationState, folded: ConversationState, table: TokenTable) -> dict[str, tuple]:
    """Pair what is with what must be.  When a request was asked depends on batches, so it is left out."""
    opened = (state.tokens.open.from_index, state.tokens.open.to_index) if state.tokens.open else None
    must_open = (table.open.from_index, table.open.to_index) if table.open else None
    return {
        "next_index": (state.next_index, folded.next_index),
        "cursor": (state.cursor, folded.cursor),
        "end_mark": (state.end_mark, folded.end_mark),
        "recent_ids": (state.recent_ids, folded.recent_ids),
        "sent_at": (state.sent_at, folded.sent_at),
        "token counts": (state.tokens.counts, table.counts),
        "first unsummarized": (state.tokens.from_index, table.from_index),
        "summaries": (
            [summary.summary_id for summary in state.tokens.summaries],
            [summary.summary_id for summary in table.summaries],
        ),
        "open request": (opened, must_open),
    }


def _letter(record: ConsumerRecord, reason: str) -> tuple:
    return (reason, record.partition, record.offset, record.topic, record.key, record.value, record.headers)


def _buried(record: ConsumerRecord) -> tuple:
    """The bad record as its dead letter keeps it."""
    why = {name: value.decode() for name, value in record.headers if name.startswith("dlq_")}
    headers = tuple(header for header in record.headers if not header[0].startswith("dlq_"))
    return (
        why.get("dlq_reason"),
        int(why.get("dlq_partition", -1)),
        int(why.get("dlq_offset", -1)),
        why.get("dlq_topic"),
        record.key,
        record.value,
        headers,
    )


def _span(window: dict) -> str:
    return f"{window['conversation_id']} [{window['from_index']}, {window['to_index']}]"


def policy(**changes: object) -> ConversationPolicy:
    """Return the policy that workers of these tests follow; ``changes`` by field."""
    return msgspec.structs.replace(ConversationPolicy(sizes=WindowSizes(10, 3)), **changes)


def _no_page(begins: int) -> NoReturn:
    raise LookupError(f"a fold in one go stores no page, yet one at {begins} is asked for")
