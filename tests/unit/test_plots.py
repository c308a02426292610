"""Plots of the documentation: drawn from the recorded figures, and not by hand."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import pytest

from benchmarks import plots, recorded

SVG = "{http://www.w3.org/2000/svg}"

MEASURED: dict[str, Any] = {
    "machine": "m",
    "date": "d",
    "commit": "c",
    "load_before": 1.0,
    "versions": {"Python": "3"},
}


@pytest.fixture(scope="module")
def drawn() -> dict[str, str]:
    return plots.plots(recorded.read())


@pytest.mark.parametrize("name", ["throughput.svg", "time-to-searchable.svg", "a-million-conversations.svg"])
def test_the_plots_are_those_of_the_recorded_figures(drawn: dict[str, str], name: str) -> None:
    """Else: python -m benchmarks.plots."""
    assert (plots.FOLDER / name).read_text() == drawn[name]


def test_each_plot_is_in_the_page_of_benchmarks(drawn: dict[str, str]) -> None:
    page = (plots.FOLDER.parent / "reference" / "benchmarks.md").read_text()
    assert [name for name in drawn if f"(../images/{name})" not in page] == []


def test_a_plot_says_what_was_measured_where_and_when(drawn: dict[str, str]) -> None:
    figures = recorded.read()
    for name, part in (
        ("throughput.svg", "conversations"),
        ("time-to-searchable.svg", "loads"),
        ("a-million-conversations.svg", "state"),
    ):
        text = " ".join(ElementTree.fromstring(drawn[name]).itertext())
        measured = figures[part]["measured"]
        said = [
            measured["machine"],
            measured["date"],
            measured["commit"],
            f"load average {measured['load_before']:g}",
        ]
        said += [f"{library} {version}" for library, version in measured["versions"].items()]
        assert [each for each in said if each not in text] == [], name


def test_all_shapes_lie_within_the_plot(drawn: dict[str, str]) -> None:
    for plot in drawn.values():
        root = ElementTree.fromstring(plot)
        _, _, width, height = map(float, root.attrib["viewBox"].split())
        for shape in [*root.iter(f"{SVG}rect"), *root.iter(f"{SVG}text"), *root.iter(f"{SVG}circle")]:
            x = float(shape.get("x") or shape.get("cx") or 0) + float(shape.get("width", 0))
            if shape.tag == f"{SVG}text" and shape.get("class") not in ("e", "m"):
                width_of_character = 5.8 if shape.get("class") == "s" else 7.3
                x += width_of_character * len(shape.text or "")
            y = float(shape.get("y") or shape.get("cy") or 0) + float(shape.get("height", 0))
            assert 0 <= x <= width, ElementTree.tostring(shape)
            assert 0 <= y <= height, ElementTree.tostring(shape)


def test_the_longest_bar_of_each_group_is_as_long() -> None:
    groups = [plots.Bars("A", "s", {"one": 1.0, "two": 2.0}), plots.Bars("B", "GB & more", {"three": 30.0})]
    drawn = plots.bars("Title <1>", groups, MEASURED)
    widths = [float(bar.get("width", 0)) for bar in ElementTree.fromstring(drawn).iter(f"{SVG}rect")][1:]
    assert widths == [390.0, 195.0, 390.0]


def test_a_point_is_higher_by_the_power_of_ten() -> None:
    drawn = plots.lines("Title", "x", {"p95": {0.0: 0.01, 10.0: 0.1, 20.0: 1.0}}, MEASURED)
    points = [
        (float(point.get("cx", 0)), float(point.get("cy", 0)))
        for point in ElementTree.fromstring(drawn).iter(f"{SVG}circle")
    ]
    assert points == [(70.0, 310.0), (320.0, 180.0), (570.0, 50.0)]
