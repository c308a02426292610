"""Plots of the documentation: drawn from the recorded figures, and not by hand."""

from __future__ import annotations

import pytest

from benchmarks import plots, recorded


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
