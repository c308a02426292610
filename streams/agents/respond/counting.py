"""Metrics of the response filter: of the respond service, and of the turns of ``serve``."""

from __future__ import annotations

from collections.abc import Iterator

from processors.responses.sequence import Sequenced


def counts_of(done: Sequenced) -> Iterator[tuple[str, tuple[str, ...], int]]:
    """Yield what a step of a response adds to counters: their names, labels, and how much."""
    for metric, labels, n in (
        ("content_duplicates_detected_total", (), sum(not event.kept for event in done.duplicates)),
        ("content_detection_errors_total", (), len(done.errors)),
        ("response_held_characters_total", (), done.held),
        ("response_irregularities_total", ("repeated",), done.repeated),
        ("response_irregularities_total", ("missing",), done.missing),
        ("response_irregularities_total", ("late",), len(done.late)),
        ("response_irregularities_total", ("silent",), int(done.silent)),
    ):
        if n:
            yield metric, labels, n
