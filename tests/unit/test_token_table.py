"""The token table, example by example (requirement 5.1)."""

from __future__ import annotations

import msgspec

from processors.conversations.token_table import (
    MAXIMUM_REFUSALS,
    AcceptedSummary,
    RangeState,
    RequestPlan,
    TokenTable,
    accept,
    add,
    context_tokens,
    due,
    opened,
    ranges,
    repeat_due,
)

THRESHOLD = 1200


def ask(table: TokenTable, threshold: int = THRESHOLD, now: float = 0.0) -> TokenTable:
    """Open the request that is due."""
    plan = due(table, threshold)
    assert plan is not None
    return opened(table, plan, f"request-{plan.from_index}-{plan.to_index}", now)


def answer(table: TokenTable, tokens: int) -> TokenTable:
    """Accept a summary of the open request."""
    assert table.open is not None
    first, last = table.open.from_index, table.open.to_index
    accepted = accept(table, table.open.request_id, f"summary-{first}-{last}", tokens)
    assert accepted is not table
    return accepted


def test_the_example_of_the_seed() -> None:
    table = add(TokenTable(), [122] * 9)
    assert context_tokens(table) == 1098
    assert due(table, THRESHOLD) is None

    table = add(table, [122])
    assert due(table, THRESHOLD) == RequestPlan(from_index=0, to_index=9, tokens=1220)
    table = answer(ask(table), tokens=80)
    assert context_tokens(table) == 80
    assert due(table, THRESHOLD) is None

    table = add(table, [115] * 10)
    assert due(table, THRESHOLD) == RequestPlan(from_index=10, to_index=19, tokens=1230)
    table = answer(ask(table), tokens=80)
    assert context_tokens(table) == 160
    assert [(row.from_index, row.to_index, row.state) for row in ranges(table)] == [
        (0, 9, RangeState.SUMMARIZED),
        (10, 19, RangeState.SUMMARIZED),
    ]


def test_a_repeat_has_the_same_range_and_a_higher_attempt() -> None:
    table = add(ask(add(TokenTable(), [1300]), now=100.0), [40])
    assert repeat_due(table, now=159.9, retry_after=60) is None
    plan = repeat_due(table, now=160.0, retry_after=60)
    assert plan == RequestPlan(0, 0, 1300, attempt=2)

    table = opened(table, plan, "request-0-0", now=160.0)
    assert repeat_due(table, now=279.9, retry_after=60) is None, "the second wait is twice as long"
    plan = repeat_due(table, now=280.0, retry_after=60)
    assert plan == RequestPlan(0, 0, 1300, attempt=3)
    assert context_tokens(answer(table, 80)) == 120


def with_summaries(*tokens: int, messages: tuple[int, ...] = ()) -> TokenTable:
    """A table with a summary over ten messages per entry of ``tokens``."""
    summaries = tuple(AcceptedSummary(f"s{i}", 10 * i, 10 * i + 9, n) for i, n in enumerate(tokens))
    return TokenTable(10 * len(tokens), messages, summaries)


def test_summaries_above_half_the_threshold_are_rolled_up_into_one() -> None:
    assert due(with_summaries(300, 300, messages=(500,)), THRESHOLD) is None
    table = with_summaries(300, 301, messages=(500, 90))
    plan = due(table, THRESHOLD)
    assert plan == RequestPlan(0, 19, 601, replaces=("s0", "s1"), roll_up=True)

    table = opened(table, plan, "roll-up", now=0.0)
    assert due(table, THRESHOLD) is None
    assert repeat_due(table, now=60.0, retry_after=60) == msgspec.structs.replace(plan, attempt=2)
    assert [row.state for row in ranges(table)] == ["summarized", "summarized", "unsummarized"]

    table = answer(table, tokens=150)
    assert table.summaries == (AcceptedSummary("summary-0-19", 0, 19, 150, replaces=("s0", "s1")),)
    assert context_tokens(table) == 740
    assert table.open is None
    assert due(table, THRESHOLD) is None


def test_who_never_shortens_does_not_keep_messages_for_ever() -> None:
    table, refused = TokenTable(), 0
    for _ in range(10 * 2**MAXIMUM_REFUSALS):
        if table.summaries:
            break
        table = add(table, [100])
        if due(table, threshold=10) is not None:
            table = ask(table, threshold=10)
            assert table.open is not None
            table = answer(table, tokens=100 * (table.open.to_index + 1))
            refused += not table.summaries
    assert refused == MAXIMUM_REFUSALS
    assert (table.too_few, table.refusals) == (0, 0), "the next range begins anew"
