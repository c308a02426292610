"""Renders the figures as a table for people, with what is to be reached beside what was."""

from __future__ import annotations

from typing import Any

#: (part, path to the figure, what it is, how it must compare, target, unit); the targets are the design's.
TARGETS = [
    ("trivial", ("ratios", "switchboard / bare"), "trivial stage / bare aiokafka loop", ">=", 0.8, "x"),
    ("trivial", ("ratios", "switchboard / quixstreams"), "trivial stage / quixstreams", ">=", 2.5, "x"),
    ("trivial", ("ratios", "switchboard / faust"), "trivial stage / idiomatic Faust", ">=", 30.0, "x"),
    ("conversations", ("ratios", "switchboard / bare"), "conversations stage / bare loop", ">=", 0.4, "x"),
    ("conversations", ("ratios", "switchboard / quixstreams"), "conversations / quixstreams", ">=", 1.2, "x"),
    ("cores", ("all", "ratios", "switchboard / bare"), "the same on all cores / bare loop", ">=", 0.5, "x"),
    ("cores", ("all", "ratios", "switchboard / quixstreams"), "all cores / quixstreams", ">=", 3.0, "x"),
    ("cores", ("peak_bytes",), "peak memory of a process, catching up", "<=", 500e6, "bytes"),
    ("recovery", ("rate",), "state recovery", ">=", 150_000.0, "records/s"),
    ("restart", ("seconds",), "processing again after kill -9", "<=", 10.0, "s"),
    ("latency", ("p95",), "message to searchable fact, p95", "<=", 1.0, "s"),
    ("latency", ("turn", "p95"), "message to turn found by words, p95", "<=", 0.3, "s"),
    ("beside", ("ratio", "facts"), "message to fact, p95, beside a replay / alone", "<=", 1.1, "x"),
    ("beside", ("ratio", "turns"), "message to turn, p95, beside a replay / alone", "<=", 1.1, "x"),
    (
        "fairness",
        ("builtin", "ratio", "turns"),
        "calm tenant beside a flood / alone: turn, p95",
        "<=",
        1.2,
        "x",
    ),
    ("fairness", ("builtin", "ratio", "facts"), "the same: fact, p95", "<=", 1.2, "x"),
    ("fairness", ("model", "ratio", "answers"), "of it, window to a model's answer, p95", "<=", 1.2, "x"),
    ("fairness", ("model", "ratio", "turns"), "with a language model: turn, p95", "<=", 1.2, "x"),
    ("fairness", ("model", "ratio", "facts"), "the same: fact, p95", "<=", 1.2, "x"),
    ("scale", ("largest", "1", "p95"), "search in the largest index, p95", "<=", 0.04, "s"),
    ("scale", ("largest", "32", "p95"), "the same, 32 at once, p95", "<=", 0.15, "s"),
    ("scale", ("one person", "1", "p95"), "search of one who has all of it, p95", "<=", 0.04, "s"),
    ("scale", ("one person", "1", "blocked"), "event loop blocked by that, longest", "<=", 0.05, "s"),
    ("scale", ("learning", "candidate"), "one more statement about them", "<=", 0.005, "s"),
    ("scale", ("learning", "vector"), "its vector", "<=", 0.005, "s"),
    ("http", ("search", "p95"), "search over HTTP, p95", "<=", 0.04, "s"),
    ("http", ("http",), "of it HTTP", "<=", 0.003, "s"),
    ("http", ("post", "p95"), "POST of one message, p95", "<=", 0.03, "s"),
    ("http", ("batch_rate",), "POST of batches", ">=", 5_000.0, "messages/s"),
    ("mcp", ("added", "p95"), "call of a tool beyond its search, p95", "<=", 0.015, "s"),
    ("chats", ("most", "first", "p50"), "added to the first piece, p50", "<=", 0.1, "s"),
    ("chats", ("most", "first", "p95"), "added to the first piece, p95", "<=", 0.3, "s"),
    ("chats", ("most", "piece", "p50"), "added to a piece, p50", "<=", 0.06, "s"),
    ("chats", ("most", "piece", "p95"), "added to a piece, p95", "<=", 0.2, "s"),
    ("page", ("arrival", "p95"), "topic to browser, p95", "<=", 0.25, "s"),
    ("page", ("usable", "p95"), "page usable, p95", "<=", 0.5, "s"),
    ("page", ("heap_bytes",), "heap of a page after live events", "<=", 100e6, "bytes"),
    ("live", ("idle_bytes",), "idle streams in memory", "<=", 150e6, "bytes"),
    ("live", ("watched",), "ingest watched / unwatched", ">=", 0.95, "x"),
    ("live", ("stop_seconds",), "stop with streams open", "<=", 2.0, "s"),
    ("memory", ("bytes",), "100,000 conversations in memory", "<=", 400e6, "bytes"),
    ("state", ("moved", "peak_bytes"), "1,000,000 conversations: memory of the worker", "<=", 2e9, "bytes"),
    ("state", ("ratio",), "CPU a message, state in files / in memory", "<=", 1.25, "x"),
    ("state", ("moved", "restart_seconds"), "their state is back after kill -9", "<=", 10.0, "s"),
    ("consolidation", ("seconds",), "300 new facts of one person consolidated", "<=", 30.0, "s"),
    ("consolidation", ("people_a_second",), "people with three new facts each", ">=", 50.0, "people/s"),
    ("consolidation", ("ingest_kept",), "ingest beside that / alone", ">=", 0.9, "x"),
    ("consolidation", ("ingest_kept_at_night",), "the same, spread over the night's hour", ">=", 0.9, "x"),
    ("costs", ("memory",), "a week of memory with Gemini, a person", "<=", 0.1, "US$"),
    ("responses", ("whole", "p99"), "response filter, p99 of a sentence", "<=", 0.002, "s"),
]


def render(figures: dict[str, Any]) -> str:
    """Return the table; parts that were not measured are left out."""
    lines = []
    for part, path, what, relation, target, unit in TARGETS:
        value: Any = figures.get(part)
        if value is None:
            continue
        for step in path:
            value = value[step]
        reached = value >= target if relation == ">=" else value <= target
        verdict = "reached" if reached else "NOT reached"
        decimals = 2 if target >= 0.1 else 4
        measured, wanted = f"{value:>14,.{decimals}f}", f"{target:>12,.{decimals}f}"
        lines.append(f"{what:<40} {measured} {unit:<10} {relation} {wanted}  {verdict}")
    for part in ("trivial", "conversations"):
        if part in figures:
            rates = ", ".join(f"{name} {rate:,.0f}" for name, rate in figures[part]["rates"].items())
            lines.append(f"{part}, messages/s: {rates}")
            lines += _ratios(figures[part])
    if "cores" in figures:
        lines += _cores(figures["cores"])
    if "partitions" in figures:
        lines += _partitions(figures["partitions"])
    if "scale" in figures:
        lines += _scale(figures["scale"])
    if "footprint" in figures:
        lines += _footprint(figures["footprint"])
    if "loads" in figures:
        lines += _loads(figures["loads"])
    if "chats" in figures:
        lines += _chats(figures["chats"])
    if "responses" in figures:
        lines += _responses(figures["responses"])
    if "costs" in figures:
        lines += _costs(figures["costs"])
    if "summaries" in figures:
        seconds = figures["summaries"]
        lines.append(
            f"threshold crossed to summary accepted: p50 {seconds['p50']:.2f} s, p95 {seconds['p95']:.2f} s"
        )
    if "conversations" in figures:
        lines += ["", "profile of the conversations stage (main thread):", figures["conversations"]["profile"]]
    return "\n".join(lines)


def _cores(figures: dict[str, Any]) -> list[str]:
    lines = []
    for processes in ("one", "all"):
        if processes not in figures:
            continue
        of = figures[processes]
        for name, figure in of["contenders"].items():
            lines.append(
                f"{name}, {'one process' if processes == 'one' else 'a process per core'}: "
                f"{figure['rate']:,.0f} messages/s; CPU per message {figure['cpu_microseconds']:.1f} µs, "
                f"of the broker {figure['broker_cpu_microseconds']:.1f} µs; "
                f"peak {figure['peak_bytes'] / 1e6:,.0f} MB"
            )
        lines += _ratios(of)
    return [*lines, *figures["left_out"]]


def _partitions(figures: dict[str, Any]) -> list[str]:
    return [
        *(
            f"conversations stage, one process, {count} partitions: {of['rate']:,.0f} messages/s; CPU "
            f"per message {of['cpu_microseconds']:.1f} µs, of the broker {of['broker_cpu_microseconds']:.1f} µs"
            for count, of in figures["measured"].items()
        ),
        *(
            f"by the model, {brokers} brokers: {of['messages']:,.0f} messages/s, "
            f"{of['replicated']:,.0f} with up to three copies"
            for brokers, of in figures["brokers"].items()
        ),
    ]


def _ratios(figures: dict[str, Any]) -> list[str]:
    ratios = ", ".join(f"{ratio} {value:.2f}" for ratio, value in figures["ratios"].items())
    return [f"  {ratios}", *figures.get("left_out", [])]


def _scale(figures: dict[str, Any]) -> list[str]:
    lines = [
        f"search, {size}{'' if size == 'one person' else ' facts and turns'}, {askers} at once: "
        f"median {took['median'] * 1e3:.1f} ms, p95 {took['p95'] * 1e3:.1f} ms, of the processor "
        f"{took['cpu'] * 1e3:.1f} ms, event loop blocked {took['blocked'] * 1e3:.1f} ms"
        for size, of in figures.items()
        if size not in ("largest", "learning")
        for askers, took in of.items()
    ]
    if "learning" in figures:
        seconds = figures["learning"]["consolidation"]
        lines.append(f"one consolidation of them, in a thread of its own: {seconds * 1e3:.0f} ms")
    return lines


def _footprint(figures: dict[str, Any]) -> list[str]:
    return [
        f"bytes of a {kind}: " + ", ".join(f"{where} {size:,.0f}" for where, size in figures[kind].items())
        for kind in ("turn", "fact")
    ]


def _loads(figures: dict[str, Any]) -> list[str]:
    def told(kind: dict[str, float]) -> str:
        return f"p50 {kind['p50'] * 1e3:,.0f} ms, p95 {kind['p95'] * 1e3:,.0f} ms"

    return [
        f"{rate} messages/s: to the turn {told(of['turn'])}; to the fact {told(of['fact'])}; "
        f"{of['cores']:.2f} cores busy with the services"
        for rate, of in figures.items()
    ]


def _chats(figures: dict[str, Any]) -> list[str]:
    return [
        f"{chats} chats at once: added to the first piece p50 {of['first']['p50'] * 1e3:.0f} ms, "
        f"p95 {of['first']['p95'] * 1e3:.0f} ms; to a piece p50 {of['piece']['p50'] * 1e3:.0f} ms, "
        f"p95 {of['piece']['p95'] * 1e3:.0f} ms; {of['lost']:.1%} of the pieces and "
        f"{of['unanswered']:.1%} of the answers did not come; "
        "of the way to the first piece, p50: "
        + ", ".join(f"{step} {took['p50'] * 1e3:.0f}" for step, took in of["steps"].items())
        + " ms; CPU of a turn: "
        + ", ".join(f"{name} {took * 1e3:.0f}" for name, took in of["cpu_seconds_per_turn"].items())
        + " ms"
        for chats, of in figures.items()
        if chats != "most"
    ]


def _costs(figures: dict[str, Any]) -> list[str]:
    lines = [
        f"a week of {figures['people']} people with Gemini, {purpose}: {of['calls']:,} calls, "
        f"{of['input_tokens']:,} tokens in, {of['output_tokens']:,} out; US$ {of['usd']:.4f} a person"
        for purpose, of in figures["purposes"].items()
    ]
    return [
        *lines,
        f"the same if all that they say is understood and answered: US$ {figures['chat']:.4f} besides",
    ]


def _responses(figures: dict[str, Any]) -> list[str]:
    streamed, rate = figures["streamed"]["p99"], figures["service"]["rate"]
    lines = [
        f"a sentence of a response with all its pieces: p99 {streamed * 1e3:.1f} ms of CPU time; "
        f"{rate:,.0f} chunks/s through the service"
    ]
    for what, held in figures["held"].items():
        lines.append(
            f"responses, {what}: {held['share']:.0%} of the characters wait, {held['mean'] * 1e3:.0f} ms per "
            f"character on average, p95 of those that wait {held['p95'] * 1e3:.0f} ms, the longest "
            f"{held['longest'] * 1e3:.0f} ms"
        )
    return lines
