"""The token table in any order of messages, requests, answers, repeats, duplicates and crashes.

The machine is a worker over three logs: messages and summaries come in, requests go out.  A crash takes the
worker back to an earlier snapshot of its state and of its positions in the logs, while what it had published
stays published; from there it replays, batched and interleaved differently.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from models.ids import roll_up_id, summary_id
from processors.conversations.token_table import (
    RequestPlan,
    TokenTable,
    accept,
    add,
    context_tokens,
    due,
    is_refused,
    opened,
    ranges,
    repeat_due,
)

THRESHOLD = 100
RETRY_AFTER = 30.0

Range = tuple[int, int]


class Answer(NamedTuple):
    """A record on the log of summaries."""

    request_id: str
    from_index: int
    to_index: int
    tokens: int


class Accepted(NamedTuple):
    """What the worker remembers of a summary that it accepted: the model to compare the table with."""

    tokens: int
    parts: tuple[Range, ...]


class Snapshot(NamedTuple):
    table: TokenTable
    messages_read: int
    answers_read: int
    accepted: dict[str, Accepted]


def name(plan: RequestPlan) -> str:
    if plan.roll_up:
        return roll_up_id("default", "conversation", plan.replaces)
    return summary_id("default", "conversation", f"m{plan.from_index}", f"m{plan.to_index}")


class Worker(RuleBasedStateMachine):
    """Summaries of any size: each answer to a request may differ, as a language model's would."""

    def __init__(self) -> None:
        super().__init__()
        self.messages: list[int] = []
        self.requests: list[RequestPlan] = []
        self.answers: list[Answer] = []
        self.now = 0.0
        self.state = Snapshot(TokenTable(), 0, 0, {})
        self.snapshots = [self.state]

    def tokens_of(self, plan: RequestPlan, drawn: int) -> int:
        return drawn

    def publish_due(self, table: TokenTable) -> TokenTable:
        plan = due(table, THRESHOLD)
        return table if plan is None else self.publish(table, plan)

    def publish(self, table: TokenTable, plan: RequestPlan) -> TokenTable:
        open_before = table.open
        assert open_before is None or (plan.from_index, plan.to_index, plan.attempt) == (
            open_before.from_index,
            open_before.to_index,
            open_before.attempt + 1,
        ), "never two open requests, and a repeat is the same range"
        self.requests.append(plan)
        return opened(table, plan, name(plan), self.now)

    @rule(counts=st.lists(st.integers(5, 60) | st.integers(101, 500), min_size=1, max_size=6))
    def messages_come_in(self, counts: list[int]) -> None:
        self.messages += counts

    @precondition(lambda self: self.state.messages_read < len(self.messages))
    @rule(run=st.integers(1, 8))
    def read_messages(self, run: int) -> None:
        start = self.state.messages_read
        counts = self.messages[start : start + run]
        table = self.publish_due(add(self.state.table, counts))
        self.state = self.state._replace(table=table, messages_read=start + len(counts))

    @precondition(lambda self: self.requests)
    @rule(data=st.data(), drawn=st.integers(0, 40) | st.integers(90, 300))
    def answer(self, data: st.DataObject, drawn: int) -> None:
        """Any request, so answers come late, twice, out of order or never."""
        plan = data.draw(st.sampled_from(self.requests))
        self.answers.append(Answer(name(plan), plan.from_index, plan.to_index, self.tokens_of(plan, drawn)))

    @precondition(lambda self: self.requests)
    @rule(drawn=st.integers(0, 40))
    def answer_the_latest(self, drawn: int) -> None:
        plan = self.requests[-1]
        self.answers.append(Answer(name(plan), plan.from_index, plan.to_index, self.tokens_of(plan, drawn)))

    @precondition(lambda self: self.state.answers_read < len(self.answers))
    @rule()
    def read_answer(self) -> None:
        table, _, position, accepted = self.state
        answer = self.answers[position]
        key = answer.request_id
        refused = is_refused(table, answer.tokens)
        after = accept(table, key, key, answer.tokens)
        if after is not table and refused:
            assert table.open is not None
            range_tokens = sum(table.counts[: table.open.to_index + 1 - table.from_index])
            assert answer.tokens >= range_tokens, "only what is no shorter is refused"
            assert (after.counts, after.summaries) == (table.counts, table.summaries), "nothing is marked"
            after = self.publish_due(after)
        elif after is not table:
            replaced = [s for s in table.summaries if s.from_index >= answer.from_index]
            parts = tuple(part for s in replaced for part in accepted[s.summary_id].parts)
            assert key not in accepted, "no range is summarized twice"
            leaf = ((answer.from_index, answer.to_index),)
            accepted = {**accepted, key: Accepted(answer.tokens, parts or leaf)}
            after = self.publish_due(after)
        self.state = self.state._replace(table=after, answers_read=position + 1, accepted=accepted)

    @rule(seconds=st.floats(0, 100))
    def tick(self, seconds: float) -> None:
        self.now += seconds
        plan = repeat_due(self.state.table, self.now, RETRY_AFTER)
        if plan is not None:
            self.state = self.state._replace(table=self.publish(self.state.table, plan))

    @rule()
    def commit(self) -> None:
        self.snapshots.append(self.state)

    @rule(data=st.data())
    def crash(self, data: st.DataObject) -> None:
        self.state = data.draw(st.sampled_from(self.snapshots[-4:]))

    def teardown(self) -> None:
        """However it went: once inputs are read and requests answered, nothing stays open."""
        while self.state.messages_read < len(self.messages):
            self.read_messages(run=5)
        while self.state.answers_read < len(self.answers):
            self.read_answer()
        limit = 4 * len(self.messages) + 4
        while self.state.table.open is not None and limit:
            limit -= 1
            self.tick(seconds=1e9)
            self.answer_the_latest(drawn=20)
            self.read_answer()
        assert self.state.table.open is None

    @invariant()
    def ranges_have_no_overlap_and_no_hole(self) -> None:
        rows = ranges(self.state.table)
        covered = [index for row in rows for index in range(row.from_index, row.to_index + 1)]
        assert covered == list(range(self.state.messages_read))

    @invariant()
    def no_message_is_summarized_twice_and_all_are_traceable(self) -> None:
        table = self.state.table
        parts = [part for s in table.summaries for part in self.state.accepted[s.summary_id].parts]
        assert [i for first, last in parts for i in range(first, last + 1)] == list(range(table.from_index))

    @invariant()
    def counts_equal_a_recount(self) -> None:
        table, messages_read, _, accepted = self.state
        unsummarized = self.messages[table.from_index : messages_read]
        assert list(table.counts) == unsummarized
        expected = sum(accepted[summary.summary_id].tokens for summary in table.summaries)
        assert context_tokens(table) == expected + sum(unsummarized)
        assert sum(row.tokens for row in ranges(table)) == context_tokens(table)

    @invariant()
    def a_request_is_open_if_and_only_if_one_is_needed(self) -> None:
        table = self.state.table
        if table.open is None:
            summaries = sum(summary.tokens for summary in table.summaries)
            room = THRESHOLD - min(summaries, THRESHOLD // 2)
            assert sum(table.counts) <= max(room, table.too_few)
            assert len(table.summaries) < 2 or summaries <= THRESHOLD // 2
        else:
            assert table.open.to_index < self.state.messages_read


class WorkerWithDeterministicSummaries(Worker):
    """Summaries that depend on the range alone: then requests do too, whatever happens."""

    def tokens_of(self, plan: RequestPlan, drawn: int) -> int:
        return tokens_of_range(plan)

    @invariant()
    def requests_are_those_of_an_undisturbed_run(self) -> None:
        expected = undisturbed_requests(self.messages)
        asked = {(plan.from_index, plan.to_index, plan.roll_up, plan.tokens) for plan in self.requests}
        assert asked <= set(expected)
        first_time = [plan for plan in self.requests if plan.attempt == 1]
        for earlier, later in pairwise(expected):
            if later in asked:
                assert earlier in asked
        assert len({name(plan) for plan in first_time}) == len(asked)


def tokens_of_range(plan: RequestPlan) -> int:
    """Small ones, and one of four as long as what it replaces, or longer."""
    size = (plan.from_index * 31 + plan.to_index * 17) % 60
    return size if size < 45 else 10 * size


def undisturbed_requests(messages: list[int]) -> list[tuple[int, int, bool, int]]:
    """The requests of a worker that reads message by message and is answered at once."""
    table, requests = TokenTable(), []
    for count in messages:
        table = add(table, [count])
        while (plan := due(table, THRESHOLD)) is not None:
            requests.append((plan.from_index, plan.to_index, plan.roll_up, plan.tokens))
            key = name(plan)
            table = accept(opened(table, plan, key, 0.0), key, key, tokens_of_range(plan))
    return requests


TestAnySummaries = Worker.TestCase
TestDeterministicSummaries = WorkerWithDeterministicSummaries.TestCase
