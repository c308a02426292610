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
    ("recovery", ("rate",), "state recovery", ">=", 150_000.0, "records/s"),
    ("restart", ("seconds",), "processing again after kill -9", "<=", 10.0, "s"),
    ("latency", ("p95",), "message to searchable fact, p95", "<=", 1.0, "s"),
    ("memory", ("bytes",), "100,000 conversations in memory", "<=", 400e6, "bytes"),
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
        lines.append(f"{what:<40} {value:>14,.2f} {unit:<10} {relation} {target:>12,.2f}  {verdict}")
    for part in ("trivial", "conversations"):
        if part in figures:
            rates = ", ".join(f"{name} {rate:,.0f}" for name, rate in figures[part]["rates"].items())
            lines.append(f"{part}, messages/s: {rates}")
    if "conversations" in figures:
        lines += ["", "profile of the conversations stage (main thread):", figures["conversations"]["profile"]]
    return "\n".join(lines)
