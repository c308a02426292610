"""Plans, states and comparisons of replays, as text."""

from __future__ import annotations

from collections.abc import Mapping

from streams.cli.output import count, print_table, printable
from streams.server.replays.comparing import Compared
from streams.server.replays.comparison import Comparison
from streams.server.replays.contexts import Contexts
from streams.server.replays.costs import Paid
from streams.server.replays.plan import Plan


def print_plan(made: Plan) -> None:
    """Print a plan."""
    since = f", since {made.since:%Y-%m-%d %H:%M} UTC" if made.since else ""
    print(f"reads     {count(made.messages, 'message')} ({made.bytes:,} bytes) of ", end="")
    print(f"{count(made.conversations, 'conversation')}{since}; {count(made.commands, 'command')}")
    print(f"takes     about {made.minutes:,.1f} minutes at {made.rate:g} messages/s ({made.rate_is})")
    for name, number in made.partitions.items():
        print(f"grows     {name} to {count(number, 'partition')}")
    if made.calls is None:
        print("asks      no language model")
    else:
        cost = "at no known price" if made.calls.cost_usd is None else f"for about ${made.calls.cost_usd:,.2f}"
        print(
            f"asks      {made.calls.model} at most about {count(made.calls.to_ask, 'question')} {cost}: "
            f"{made.calls.questions:,} in all, {made.calls.known:,} answers are in the memo"
        )
    if made.gone:
        print(
            f"gone      {count(made.gone.messages, 'record')} of messages, "
            f"{count(made.gone.commands, 'command')}; "
            f"{count(made.gone.conversations, 'conversation')} without their beginning"
        )


def status_row(row: Mapping[str, object]) -> list[object]:
    """Return the cells of a replay in the table of ``status``."""
    numbers = [f"{row[each]:,}" for each in ("messages", "total", "left")]
    caught_up = "yes" if row["caught_up"] else "no"
    state = f"{row['state']}, serves" if row["serves"] else row["state"]
    changed = row["with"]
    told = ", ".join(f"{key}={value}" for key, value in changed.items()) if isinstance(changed, dict) else ""
    return [row["generation"], state, caught_up, *numbers, f"{row['started_at']:%Y-%m-%d %H:%M}", told]


def print_comparison(made: Comparison) -> None:
    """Print a replay beside the live generation."""
    if not made.caught_up:
        left = count(made.left, "record")
        print(f"{made.generation} has not caught up: {left} left, which makes a difference")
    for each in made.topics:
        _print_compared(each)
    _print_contexts(made.contexts)
    _print_paid(made.paid)


def _print_compared(compared: Compared) -> None:
    """Print a comparison: the digests, the differences by kind, and examples."""
    if compared.equal:
        print(f"{compared.topic}: equal, {count(compared.live_keys, 'key')}, digest {compared.live_digest}")
        return
    print(
        f"{compared.topic}: {compared.live_keys:,} live (digest {compared.live_digest}), "
        f"{compared.replayed_keys:,} replayed (digest {compared.replayed_digest})"
    )
    print_table(
        ("kind", "created", "removed", "changed", "traced"),
        [
            (kind, *(f"{number:,}" for number in (each.created, each.removed, each.changed, each.traced)))
            for kind, each in compared.kinds.items()
        ],
        right=(1, 2, 3, 4),
    )
    for kind, each in compared.kinds.items():
        for what, examples in each.examples.items():
            for example in examples:
                said = " -> ".join(filter(None, (example.live, example.replayed)))
                fields = f" [{', '.join(example.fields)}]" if example.fields else ""
                print(printable(f"{what} {kind} {example.key}: {said}{fields}"))


def _print_contexts(told: Contexts) -> None:
    """Print how contexts differ: in all, and the lines that only one generation has."""
    print(
        f"contexts after the latest turn of {count(told.compared, 'conversation')}: {told.same:,} the same, "
        f"{told.compared - told.same:,} differ; {told.live_tokens:,} tokens live, "
        f"{told.replayed_tokens:,} replayed"
        + (f"; {told.missing:,} have none there yet" if told.missing else "")
    )
    for each in told.differences:
        print(printable(f"{each.conversation_id} ({each.user_id}): {each.live_tokens:,} tokens live, "
                        f"{each.replayed_tokens:,} replayed"))  # fmt: skip
        for sign, lines in (("-", each.only_live), ("+", each.only_replayed)):
            for line in lines:
                print(printable(f"  {sign} {line.tier.value}: {line.text}"))


def _print_paid(paid: Mapping[str, Paid]) -> None:
    """Print what both generations have paid for language models, if anything."""
    if any(each.answers for each in paid.values()):
        told = (
            f"{name} ${each.cost_usd:,.4f} for {count(each.answers, 'answer')}" for name, each in paid.items()
        )
        print(f"paid for language models: {'; '.join(told)}. An answer is paid once, by who asked first")
