"""Plots of the recorded figures: ``python -m benchmarks.plots`` draws them, a test compares."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.recorded import read

FOLDER = Path(__file__).parents[1] / "docs" / "images"

_WIDTH, _LEFT, _RIGHT, _ROW = 760, 210, 600, 26
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#8a5a83")  # distinct for the colour-blind, too
_STYLE = (
    '<style>text{font-family:ui-sans-serif,system-ui,"DejaVu Sans",sans-serif;font-size:12.5px;fill:#1b2733}'
    ".t{font-size:15px;font-weight:600}.h{font-weight:600}.s{font-size:11px;fill:#46586a}.e{text-anchor:end}"
    ".m{text-anchor:middle}.g{stroke:#d5dce3}.l{fill:none;stroke-width:2}</style>"
)
_NAMES = {
    "bare": "bare aiokafka loop",
    "switchboard": "Switchboard",
    "kafka-streams": "Kafka Streams",
    "faust": "idiomatic Faust",
    "moved": "1,024 MB and files",
    "in-memory": "all in memory",
}


class Bars(NamedTuple):
    """Bars of one unit under one heading."""

    heading: str
    unit: str
    values: Mapping[str, float]


def bars(title: str, groups: Sequence[Bars], measured: Mapping[str, Any]) -> str:
    """Return a plot of horizontal bars, the longest first; the longest of all groups are as long."""
    shapes, y = [], 40
    for group in groups:
        shapes.append(_text(20, y + 14, group.heading, "h"))
        most = max(group.values.values())
        for name, value in sorted(group.values.items(), key=lambda bar: -bar[1]):
            y += _ROW
            width = max(1.0, value / most * (_RIGHT - _LEFT))
            colour = _COLOURS[0] if name in ("switchboard", "moved") else "#8fa3b5"
            shapes.append(_text(_LEFT - 8, y + 14, _NAMES.get(name, name), "e"))
            shapes.append(f'<rect x="{_LEFT}" y="{y}" width="{width:.1f}" height="18" fill="{colour}"/>')
            shapes.append(_text(_LEFT + width + 6, y + 14, f"{_figure(value)} {group.unit}"))
        y += _ROW + 14
    return _page(title, shapes, y, measured)


def lines(
    title: str, x_title: str, series: Mapping[str, Mapping[float, float]], measured: Mapping[str, Any]
) -> str:
    """Return a plot of seconds by ``x_title``; seconds go up by powers of ten."""
    top, bottom, left, right = 50, 310, 70, 570
    seconds = [value for points in series.values() for value in points.values()]
    low, high = math.floor(math.log10(min(seconds))), math.ceil(math.log10(max(seconds)))
    most = max(x for points in series.values() for x in points)

    def at(x: float, value: float) -> tuple[float, float]:
        up = (math.log10(value) - low) / (high - low)
        return left + x / most * (right - left), bottom - up * (bottom - top)

    shapes = [_text((left + right) / 2, bottom + 38, x_title, "m")]
    for power in range(low, high + 1):
        _, y = at(0, 10.0**power)
        shapes.append(f'<path class="g" d="M{left} {y:.1f} H{right}"/>')
        shapes.append(_text(left - 8, y + 4, f"{10.0**power:g} s", "e"))
    for x in sorted({x for points in series.values() for x in points}):
        shapes.append(_text(at(x, 10.0**low)[0], bottom + 18, f"{x:g}", "m"))
    for colour, (name, points) in zip(_COLOURS, series.items(), strict=False):
        places = [at(x, value) for x, value in points.items()]
        path = " L".join(f"{x:.1f} {y:.1f}" for x, y in places)
        shapes.append(f'<path class="l" stroke="{colour}" d="M{path}"/>')
        for (x, y), value in zip(places, points.values(), strict=True):
            told = f"<title>{escape(name)}: {_figure(value)} s</title>"
            shapes.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{colour}">{told}</circle>')
        key = 60 + 20 * list(series).index(name)
        shapes.append(f'<rect x="{right + 14}" y="{key - 9}" width="12" height="10" fill="{colour}"/>')
        shapes.append(_text(right + 32, key, name))
    return _page(title, shapes, bottom + 50, measured)


def _figure(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _text(x: float, y: float, text: str, style: str = "") -> str:
    return f'<text x="{x:g}" y="{y:g}" class="{style}">{escape(text)}</text>'


def _page(title: str, shapes: Sequence[str], height: int, measured: Mapping[str, Any]) -> str:
    versions = ", ".join(f"{name} {number}" for name, number in measured["versions"].items())
    load = f"load average {measured['load_before']:g} before the run"
    notes = [f"{measured['machine']}; {load}; {measured['date']}, commit {measured['commit']}", versions]
    below = [_text(20, height + 14 + 15 * at, note, "s") for at, note in enumerate(notes)]
    opening = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height + 42}" role="img"'
    ground = f'<rect width="{_WIDTH}" height="{height + 42}" fill="#ffffff"/>'
    inside = [_STYLE, ground, _text(20, 24, title, "t"), *shapes, *below]
    return "\n".join([f'{opening} aria-label="{escape(title)}">', *inside, "</svg>", ""])


def plots(recorded: Mapping[str, Any]) -> dict[str, str]:
    """Return each plot by its file's name."""
    trivial, whole, loads, state = (recorded[part] for part in ("trivial", "conversations", "loads", "state"))
    stages = {
        "A trivial stage": trivial,
        "The whole conversations stage (bare loop and Kafka Streams: windows alone)": whole,
    }
    rates = sorted((float(rate), of) for rate, of in loads["figures"].items())
    by_load = {
        f"{kind}, {percentile}": {rate: of[kind][percentile] for rate, of in rates}
        for kind in ("turn", "fact")
        for percentile in ("p50", "p95")
    }
    modes = {mode: state["figures"][mode] for mode in ("moved", "in-memory")}
    memory = {mode: of["peak_bytes"] / 1e9 for mode, of in modes.items()}
    restart = {mode: of["restart_seconds"] for mode, of in modes.items()}
    cpu = {mode: of["restart_cpu_seconds"] for mode, of in modes.items()}
    return {
        "throughput.svg": bars(
            "Throughput of one process, catching up",
            [Bars(stage, "messages/s", of["figures"]["rates"]) for stage, of in stages.items()],
            whole["measured"],
        ),
        "time-to-searchable.svg": lines(
            "From a message until a search finds it", "messages a second", by_load, loads["measured"]
        ),
        "a-million-conversations.svg": bars(
            "A million conversations, ten million messages, in one worker",
            [
                Bars("Most memory", "GB", memory),
                Bars("Processing again after kill -9", "s", restart),
                Bars("CPU of that", "s", cpu),
            ],
            state["measured"],
        ),
    }


if __name__ == "__main__":
    for _name, _plot in plots(read()).items():
        (FOLDER / _name).write_text(_plot)
