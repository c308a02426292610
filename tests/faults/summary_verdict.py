"""What must hold between messages, summary requests, summaries and token tables, read from the topics alone.

:mod:`verdict` counts from scratch which requests are due.  Here each request is answered again by the
summarizer itself, and every summary is followed down to the messages that it stands for.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Mapping

import msgspec
from aiokafka import ConsumerRecord
from state_verdict import stored_states
from topic_reader import Comparison
from verdict import CHANGELOG, MESSAGES, REQUESTS, SUMMARIES

from models.ids import roll_up_id, summary_id
from models.messages import ChatMessage
from models.ports import Summarizer
from models.summaries import Summary, SummaryRequest
from processors.conversations import token_table
from processors.conversations.state import ConversationState, is_page
from processors.conversations.token_table import RangeState, TokenTable
from processors.summaries.building import build_summary
from processors.text.tokens import TokenCounter, message_tokens
from streams.agents.ingest.conversations import STATE
from streams.clients.catalog import Catalog


class SummaryVerdict(Comparison):
    """Reads the topics of one deployment; ``summarizer`` is the one that its workers use."""

    def __init__(self, servers: str, catalog: Catalog, summarizer: Summarizer, count: TokenCounter) -> None:
        super().__init__(servers, catalog)
        self._summarizer = summarizer
        self._count = count
        self._requests: dict[str, SummaryRequest] = {}
        self._summaries: dict[str, Summary] = {}
        self.accepted = 0
        self.roll_ups = 0
        self.repeats = 0

    async def check(self) -> None:
        tokens = self._recount(await self._read(MESSAGES))
        self._take_requests(await self._read(REQUESTS))
        await self._take_summaries(await self._read(SUMMARIES))
        states = await self._states()
        self._check_no_message_is_asked_for_twice(states)
        for conversation, counts in tokens.items():
            self._check_table(conversation, states[conversation].tokens, counts)
        self._raise()
        requests, summaries = len(self._requests), len(self._summaries)
        print(
            f"{requests} requests (repeated {self.repeats} times), {summaries} summaries, "
            f"{self.accepted} in the tables at the end ({self.roll_ups} rolled up): as expected"
        )

    async def _states(self) -> dict[str, ConversationState]:
        records = await self._read(CHANGELOG)

        async def changelog() -> AsyncIterator[ConsumerRecord]:
            for record in records:
                yield record

        stored, _ = await stored_states(changelog())
        return {key.decode(): STATE.decode(value) for key, value in stored.items() if not is_page(key)}

    def _recount(self, records: Iterable[ConsumerRecord]) -> dict[str, list[int]]:
        """Return the tokens of each message, by conversation, a repeated message once."""
        seen: set[tuple[str, str]] = set()
        tokens: dict[str, list[int]] = defaultdict(list)
        for record in records:
            message = msgspec.json.decode(record.value, type=ChatMessage)
            name = (message.conversation_id, message.message_id)
            if name not in seen:
                seen.add(name)
                counted = message_tokens(message.role, message.content, self._count)
                tokens[message.conversation_id].append(counted)
        return tokens

    # -- requests and summaries ----------------------------------------------------------------------------

    def _take_requests(self, records: Iterable[ConsumerRecord]) -> None:
        """One id per range, one range per id; a repeated request differs in its attempt alone."""
        for record in records:
            request = msgspec.json.decode(record.value, type=SummaryRequest)
            name = f"request {request.request_id} of {request.conversation_id}"
            if request.request_id != _id(request):
                self._problem(f"{name}: the id is not that of what it asks about")
            first = self._requests.setdefault(request.request_id, msgspec.structs.replace(request, attempt=1))
            if first != msgspec.structs.replace(request, attempt=1):
                self._problem(f"{name}: attempt {request.attempt} asks for something else than the first")
            if request.attempt > 1:
                self.repeats += 1
            if request.tokens <= request.threshold and not request.roll_up:
                self._problem(f"{name}: {request.tokens} tokens are not above {request.threshold}")

    async def _take_summaries(self, records: Iterable[ConsumerRecord]) -> None:
        """Each is what the summarizer answers to its request; a second copy differs in its time alone."""
        for record in records:
            summary = msgspec.json.decode(record.value, type=Summary)
            name = f"summary {summary.summary_id} of {summary.conversation_id}"
            request = self._requests.get(summary.request_id)
            if request is None:
                self._problem(f"{name} answers no request")
                continue
            first = self._summaries.get(summary.summary_id)
            if first is None:
                content = (await self._summarizer.summarize(request)).summary
                first = build_summary(request, content, self._count, self._summarizer.name)
                self._summaries[summary.summary_id] = first
            if first != summary:
                self._problem(f"{name} is {summary}, expected {first}")
        for request_id in self._requests.keys() - {summary.request_id for summary in self._summaries.values()}:
            self._problem(f"request {request_id} was never answered")

    def _check_no_message_is_asked_for_twice(self, states: Mapping[str, ConversationState]) -> None:
        """The ranges of all requests for messages follow each other without a hole."""
        ends: dict[str, int] = defaultdict(int)
        ranges = [request for request in self._requests.values() if not request.roll_up]
        for request in sorted(ranges, key=lambda request: request.from_index):
            conversation = request.conversation_id
            if request.from_index != ends[conversation]:
                self._problem(
                    f"request {request.request_id} of {conversation} begins at {request.from_index}, "
                    f"the one before ends before {ends[conversation]}"
                )
            ends[conversation] = request.to_index + 1
        for conversation, end in ends.items():
            if states[conversation].tokens.from_index != end:
                summarized = states[conversation].tokens.from_index
                self._problem(f"{conversation}: asked for 0 to {end - 1}, summarized to {summarized - 1}")

    # -- token tables --------------------------------------------------------------------------------------

    def _check_table(self, conversation: str, table: TokenTable, counts: list[int]) -> None:
        """Rows tile the messages, and count what a recount counts."""
        end = 0
        for row in token_table.ranges(table):
            if row.from_index != end:
                self._problem(
                    f"{conversation}: a row begins at {row.from_index}, the one before ends at {end - 1}"
                )
            end = row.to_index + 1
            if row.state is RangeState.SUMMARIZED:
                continue
            tokens = sum(counts[row.from_index : row.to_index + 1])
            if row.tokens != tokens:
                self._problem(f"{conversation}: {row.state} row of {row.tokens} tokens, recounted {tokens}")
        if end != len(counts):
            self._problem(f"{conversation}: the table ends before message {end}, there are {len(counts)}")
        for accepted in table.summaries:
            self.accepted += 1
            name = f"{conversation}: accepted summary {accepted.summary_id}"
            summary = self._summaries.get(accepted.summary_id)
            if summary is None:
                self._problem(f"{name} was never published")
                continue
            claims = (accepted.from_index, accepted.to_index, accepted.tokens, accepted.replaces)
            if claims != (summary.from_index, summary.to_index, summary.tokens, summary.replaces):
                self._problem(f"{name} is {claims} in the table, published as {summary}")
            self.roll_ups += bool(summary.replaces)
            self._check_provenance(name, summary)

    def _check_provenance(self, name: str, summary: Summary) -> None:
        """A roll-up leads down to summaries of messages that tile its range, and to their offsets."""
        leaves = sorted(self._leaves(name, summary), key=lambda leaf: leaf.from_index)
        end = summary.from_index
        for leaf in leaves:
            if leaf.from_index != end:
                self._problem(f"{name}: {leaf.summary_id} begins at {leaf.from_index}, expected {end}")
            end = leaf.to_index + 1
        if end != summary.to_index + 1:
            self._problem(f"{name}: what it replaces ends at {end - 1}, it claims {summary.to_index}")
        first = min(leaf.source.first_offset for leaf in leaves)
        last = max(leaf.source.last_offset for leaf in leaves)
        if (summary.source.first_offset, summary.source.last_offset) != (first, last):
            self._problem(f"{name}: comes from {summary.source}, its messages lie at {first} to {last}")

    def _leaves(self, name: str, summary: Summary) -> list[Summary]:
        if not summary.replaces:
            return [summary]
        replaced = [self._summaries.get(replaced) for replaced in summary.replaces]
        if None in replaced:
            self._problem(f"{name} replaces summaries that were never published")
        return [leaf for part in replaced if part is not None for leaf in self._leaves(name, part)]


def _id(request: SummaryRequest) -> str:
    made_of = (request.tenant_id, request.conversation_id)
    if request.roll_up:
        return roll_up_id(*made_of, request.replaces)
    return summary_id(*made_of, request.messages[0].message_id, request.messages[-1].message_id)
