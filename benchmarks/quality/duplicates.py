"""Measure duplicate detection: ``python -m benchmarks.quality.duplicates FOLDER``.

Reads from the folder ``stsb-*.csv`` (sentence, sentence, similarity 0 to 5), ``mrpc-*.txt`` (tab-separated,
label first and sentences last) and ``dialogsum-*.jsonl`` (``dialogue``); what is absent is named and left out.

* STS-B: pairs that people scored 4 ("mostly equivalent") or higher are duplicates.
* MRPC: the same for pairs that are labelled paraphrases.
* Time: one sentence against fifty remembered ones, in CPU time, which other work on the machine leaves alone.

What the filter does with whole answers is measured by :mod:`benchmarks.quality.responses`.
"""

from __future__ import annotations

import csv
import json
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from processors.responses.duplicates import find_duplicate, similarity
from processors.responses.filter_state import FilterPolicy
from processors.text.sentences import sentences

THRESHOLD = FilterPolicy().threshold
WINDOW = FilterPolicy().window_sentences
EQUIVALENT = 4.0
MEASURED = 2000


class Pair(NamedTuple):
    first: str
    second: str
    score: float


def read_stsb(path: Path) -> list[Pair]:
    with path.open(newline="", encoding="utf-8") as file:
        return [Pair(row[0], row[1], float(row[2])) for row in csv.reader(file)]


def read_mrpc(path: Path) -> list[Pair]:
    rows = [line.split("\t") for line in path.read_text(encoding="utf-8-sig").splitlines()[1:]]
    return [Pair(row[3], row[4], float(row[0])) for row in rows if len(row) == 5]


def read_responses(path: Path) -> list[str]:
    """Return one text per dialogue, a paragraph per turn."""
    dialogues = [json.loads(line)["dialogue"] for line in path.read_text(encoding="utf-8").splitlines()]
    turns = ([line.partition(": ")[2].replace(" ' ", "'") for line in text.splitlines()] for text in dialogues)
    return ["\n\n".join(filter(None, said)) for said in turns]


def precision(pairs: list[Pair], same: float) -> None:
    scores = np.array([similarity(pair.first, pair.second) for pair in pairs])
    truth = np.array([pair.score >= same for pair in pairs])
    for threshold in (THRESHOLD, 0.9, 0.95):
        found = scores >= threshold
        right = int((found & truth).sum())
        print(
            f"  threshold {threshold:.2f}: precision {right / max(1, found.sum()):.3f} "
            f"({right} of {found.sum()} found; {truth.sum()} of {len(pairs)} pairs say the same)"
        )


def milliseconds(calls: Iterator[Callable[[], object]]) -> list[float]:
    """Return the CPU time of each call."""
    taken = []
    for call in calls:
        start = time.thread_time()
        call()
        taken.append((time.thread_time() - start) * 1e3)
    return taken


def timing(responses: list[str]) -> None:
    """Every sentence is compared with those before it."""
    said = [sentence for text in responses for sentence in sentences(text) if len(sentence) >= 12][:MEASURED]

    taken = milliseconds(
        partial(find_duplicate, said[at], said[at - WINDOW : at], THRESHOLD) for at in range(WINDOW, len(said))
    )
    p50, p99 = np.percentile(taken, (50, 99))
    print(f"  p50 {p50:.3f} ms   p99 {p99:.3f} ms   ({len(taken)} against {WINDOW})")


def main(arguments: list[str]) -> int:
    """Print the figures."""
    folder = Path(arguments[0]) if arguments else Path()
    patterns = ("stsb-*.csv", "mrpc-*.txt", "dialogsum-*.jsonl")
    found = {pattern: sorted(folder.glob(pattern)) for pattern in patterns}
    if not arguments or not any(found.values()):
        print(
            f"usage: python -m benchmarks.quality.duplicates FOLDER   (with {', '.join(patterns)})",
            file=sys.stderr,
        )
        return 2
    for path in found["stsb-*.csv"]:
        print(f"{path.name}: the same if people scored {EQUIVALENT:.0f} of 5 or more")
        precision(read_stsb(path), EQUIVALENT)
    for path in found["mrpc-*.txt"]:
        print(f"{path.name}: the same if labelled a paraphrase")
        precision(read_mrpc(path), 1.0)
    for path in found["dialogsum-*.jsonl"]:
        responses = read_responses(path)
        print(f"{path.name}: {len(responses)} responses")
        timing(responses)
    for pattern in (pattern for pattern, paths in found.items() if not paths):
        print(f"left out: no {pattern} in {folder}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
