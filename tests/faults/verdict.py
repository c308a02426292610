"""What must be in the topics, computed from the messages alone, and compared with what is there.

Nothing here asks a worker.  The messages are read back from the broker (committed ones only), folded by the
pure processor one conversation at a time, and every window, summary request, dead letter and changelog
entry is accounted for.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import NoReturn

import msgspec
from aiokafka import ConsumerRecord, TopicPartition
from aiokafka.partitioner import DefaultPartitioner
from state_verdict import compare_states, stored_states
from topic_reader import Comparison, dead_letter_of, letter, read_partition, read_topic

from models.errors import InvalidRecord
from models.ids import roll_up_id, summary_id
from models.messages import ChatMessage
from models.summaries import Summary, SummaryRequest
from processors.conversations import token_table
from processors.conversations.fold import Fold
from processors.conversations.message_ids import IdPage
from processors.conversations.state import (
    ConversationPolicy,
    ConversationState,
    Kept,
)
from processors.conversations.token_table import TokenTable
from processors.conversations.windows import WindowSizes
from processors.text.tokens import TokenCounter, message_tokens
from streams.agents.message_log import decode_item
from streams.clients.catalog import Catalog

__all__ = ["Verdict", "read_topic"]

MESSAGES = "chat.messages.v1"
SUMMARIES = "memory.summaries.v1"
COMMANDS = "memory.commands.v1"
WINDOWS = "memory.windows.v1"
REQUESTS = "memory.summary-requests.v1"
CHANGELOG = "switchboard-ingest-conversations-changelog"
DEAD_LETTERS = MESSAGES + ".dlq"

#: What a stage may find wrong with a record that is valid by itself: ``reason``, or ``None``.
Fault = Callable[[ConsumerRecord], str | None]

Records = AsyncIterator[ConsumerRecord]

_encode = msgspec.json.Encoder().encode
_murmur2 = DefaultPartitioner()


@dataclass
class Expected:
    """What the messages of one partition must lead to.

    ``windows``: by id a digest of the record's value, and what to call it.  ``runs``: by conversation the
    ids and token counts of its messages.  ``bodies``: by conversation its messages as state keeps them.
    """

    windows: dict[str, tuple[bytes, str]] = field(default_factory=dict)
    dead_letters: list[tuple] = field(default_factory=list)
    states: dict[bytes, ConversationState] = field(default_factory=dict)
    bodies: dict[bytes, list[Kept]] = field(default_factory=dict)
    runs: dict[bytes, list[tuple[str, int]]] = field(default_factory=dict)
    messages: int = 0
    repeats: int = 0
    rerouted: int = 0


@dataclass
class Totals:
    """What was accounted for in all partitions."""

    messages: int = 0
    repeats: int = 0
    rerouted: int = 0
    windows: int = 0
    requests: int = 0
    stale_writes: int = 0
    dead_letters: list[tuple] = field(default_factory=list)

    def __str__(self) -> str:
        return (
            f"{self.messages} messages ({self.repeats} repeats, {self.rerouted} rerouted), "
            f"{self.windows} windows, {self.requests} summary requests, {len(self.dead_letters)} dead letters, "
            f"{self.stale_writes} stale writes: as expected"
        )


class Verdict(Comparison):
    """Reads the topics of one deployment, partition by partition, and accounts for every record.

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
        super().__init__(servers, catalog)
        self._count = count
        self._policy = policy
        self._max_content_bytes = max_content_bytes
        self._bad = bad
        self._closes: dict[bytes, set[bytes]] = {}
        self.expected = Expected()
        self.totals = Totals()

    async def check(self) -> Totals:
        for partition in range(self._catalog.partitions(MESSAGES)):
            self.expected = Expected()
            await self._fold(self._partition(MESSAGES, partition))
            await self._check_windows(self._partition(WINDOWS, partition))
            summaries = self._partition(SUMMARIES, partition)
            tables = await self._check_requests(self._partition(REQUESTS, partition), summaries)
            await self._check_dead_letters(self._partition(DEAD_LETTERS, partition))
            await self._check_states(self._partition(CHANGELOG, partition), tables)
            self._add_up()
        self._raise()
        return self.totals

    def _partition(self, name: str, partition: int) -> Records:
        return read_partition(self._servers, TopicPartition(self._catalog.name(name), partition))

    def _add_up(self) -> None:
        expected, totals = self.expected, self.totals
        totals.messages += expected.messages
        totals.repeats += expected.repeats
        totals.rerouted += expected.rerouted
        totals.windows += len(expected.windows)
        totals.dead_letters += expected.dead_letters

    # -- what must be ----------------------------------------------------------------------------------

    async def _fold(self, records: Records) -> None:
        partitions = list(range(self._catalog.partitions(MESSAGES)))
        seen: dict[bytes, set[str]] = defaultdict(set)
        folds: dict[bytes, Fold] = {}
        expected = self.expected
        async for record in records:
            if record.key is not None and _murmur2(record.key, partitions, partitions) != record.partition:
                expected.rerouted += 1
                continue
            punctuation = dict(record.headers).get("sw_punctuation")
            if punctuation is not None:
                self._punctuate(folds, punctuation, record)
                continue
            try:
                message = decode_item(record, self._max_content_bytes)
                assert isinstance(message, ChatMessage), "no command is sent here"
            except InvalidRecord as error:
                expected.dead_letters.append(letter(record, error.reason))
                continue
            reason = self._bad(record)
            if reason is not None:
                expected.dead_letters.append(letter(record, reason))
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
            tokens = message_tokens(message.role, message.content, self._count)
            expected.runs.setdefault(key, []).append((message.message_id, tokens))
            fold = folds.get(key)
            if fold is None:
                fold = folds[key] = self._new_fold(record)
            fold.add([(message, record.offset, record.timestamp / 1000)])
        for key, fold in folds.items():
            expected.bodies[key] = fold._bodies.kept.copy()  # before finish() forgets those that no one needs
            for window in fold.windows:
                called = f"{window.conversation_id} [{window.from_index}, {window.to_index}]"
                expected.windows[window.window_id] = (_digest(_encode(window)), called)
            state = fold.finish(0.0)
            assert state is not None, "a conversation that somebody wrote to is not forgotten"
            expected.states[key] = state

    def _punctuate(self, folds: dict[bytes, Fold], punctuation: bytes, record: ConsumerRecord) -> None:
        """What the ingest service wrote among the messages is the log's as much as they are."""
        if punctuation == b"tick":
            if record.key in folds:
                folds[record.key].tick(record.timestamp / 1000)
            return
        fold = folds.get(record.key)
        if fold is None:
            fold = folds[record.key] = self._new_fold(record)
        place = dict(record.headers)["rerouted_from"]
        if place not in self._closes.setdefault(record.key, set()):
            self._closes[record.key].add(place)
            fold.is_second_copy(place.decode(), 0, record.timestamp / 1000, record.timestamp / 1000)
            fold.close(fold.tenant_id, 0)

    def _new_fold(self, record: ConsumerRecord) -> Fold:
        source = (MESSAGES, record.partition)
        state = ConversationState("", "")
        return Fold(record.key.decode(), state, self._policy, self._count, source, _no_page, _no_ids)

    # -- what is ---------------------------------------------------------------------------------------

    async def _check_windows(self, records: Records) -> None:
        """Every window at least once, every copy with the same content, none that must not be, in order."""
        found: set[str] = set()
        latest: dict[bytes, int] = {}
        async for record in records:
            window = msgspec.json.decode(record.value)
            window_id, to_index = window["window_id"], window["to_index"]
            at = f"{window_id} of {record.key!r} up to {to_index} at {record.partition}:{record.offset}"
            expected = self.expected.windows.get(window_id)
            if expected is None:
                self._problem(f"window {at} is not expected")
            elif expected[0] != _digest(record.value):
                self._problem(f"window {at} has the wrong content")
            if window_id not in found:
                found.add(window_id)
                if to_index <= latest.get(record.key, -1):
                    self._problem(f"window {at} comes after a later one")
                latest[record.key] = to_index
        for window_id in self.expected.windows.keys() - found:
            self._problem(f"window {window_id} of {self.expected.windows[window_id][1]} is missing")

    async def _check_requests(self, requests: Records, summaries: Records) -> dict[bytes, TokenTable]:
        """Requests are those that counting from scratch asks for; return each token table at the end.

        A summary counts as accepted from the moment its request was due: ranges depend on the messages and
        the summaries alone, not on when the summary came.
        """
        answers: dict[str, Summary] = {}
        async for record in summaries:
            summary = msgspec.json.decode(record.value, type=Summary)
            answers.setdefault(summary.summary_id, summary)
        due: dict[str, tuple[int, int, int]] = {}
        tables = dict.fromkeys(self.expected.states, TokenTable())
        tables |= {key: self._recount(key, run, answers, due) for key, run in self.expected.runs.items()}
        found = set()
        async for record in requests:
            request = msgspec.json.decode(record.value, type=SummaryRequest)
            found.add(request.request_id)
            is_ = (request.from_index, request.to_index, request.tokens)
            expected = due.get(request.request_id)
            if expected != is_:
                self._problem(f"summary request {is_} of {record.key!r}: {expected or 'none'} is expected")
            run = self.expected.runs.get(record.key, [])
            due_ids = [message_id for message_id, _ in run[request.from_index : request.to_index + 1]]
            ids = [message.message_id for message in request.messages]
            if ids != ([] if request.roll_up else due_ids):
                self._problem(f"summary request {is_} of {record.key!r} holds messages {ids}")
        for request_id in due.keys() - found:
            self._problem(f"summary request {request_id} for {due[request_id]} is missing")
        self.totals.requests += len(due)
        return tables

    def _recount(
        self, key: bytes, run: list[tuple[str, int]], answers: dict[str, Summary], due: dict[str, tuple]
    ) -> TokenTable:
        tenant_id = self.expected.states[key].tenant_id
        table = token_table.add(TokenTable(), [tokens for _, tokens in run])
        while (plan := token_table.due(table, self._policy.token_threshold)) is not None:
            if plan.roll_up:
                request_id = roll_up_id(tenant_id, key.decode(), plan.replaces)
            else:
                first, last = run[plan.from_index][0], run[plan.to_index][0]
                request_id = summary_id(tenant_id, key.decode(), first, last)
            due[request_id] = (plan.from_index, plan.to_index, plan.tokens)
            table = token_table.opened(table, plan, request_id, 0.0)
            answer = answers.get(request_id)
            if answer is None:
                break
            table = token_table.accept(table, answer.request_id, answer.summary_id, answer.tokens)
        return table

    async def _check_dead_letters(self, records: Records) -> None:
        """Each bad record byte for byte at least once, and nothing else."""
        found = {dead_letter_of(record) async for record in records}
        expected = set(self.expected.dead_letters)
        self.problems += [f"dead letter {each[:3]} is not expected" for each in found - expected]
        self.problems += [f"dead letter {each[:3]} is missing or differs" for each in expected - found]

    async def _check_states(self, changelog: Records, tables: dict[bytes, TokenTable]) -> None:
        """The changelog, replayed with the rule for marks, gives the state that the fold ends in."""
        stored, stale_writes = await stored_states(changelog)
        self.totals.stale_writes += stale_writes
        self.problems += compare_states(stored, self.expected.states, self.expected.bodies, tables)


def _no_page(begins: int) -> NoReturn:
    raise LookupError(f"a fold in one go stores no page, yet one at {begins} is asked for")


def _no_ids(page: IdPage) -> NoReturn:
    raise LookupError(f"a fold in one go has its ids at hand, yet page {page} is asked for")


def _digest(value: bytes) -> bytes:
    return blake2b(value, digest_size=16).digest()


def policy(**changes: object) -> ConversationPolicy:
    """Return the policy that workers of these tests follow; ``changes`` by field."""
    return msgspec.structs.replace(ConversationPolicy(sizes=WindowSizes(10, 3)), **changes)
