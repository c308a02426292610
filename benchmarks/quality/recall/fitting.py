"""Fits the weights of the ranking, and the chance that anything answers, to made-up people.

``python -m benchmarks.quality.recall.fitting PEOPLE [--test OTHERS] [--write]``.  PEOPLE and OTHERS are folders
of people (``benchmarks/notebook``); only PEOPLE are fitted to, and the questions without an answer in
``unanswerable.jsonl`` beside them.  Prints which share of their questions is answered among the first five
results, each person with weights that were fitted without them, that share without each feature, and for some
floors how many questions without an answer come back empty.  ``--write``: writes the weights where the package
has them.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Mapping
from pathlib import Path
from statistics import fmean

from benchmarks.notebook.labels import people
from benchmarks.quality.recall import chance
from benchmarks.quality.recall.cases import DIGITS, FITTED, RESULTS, Case, answered, cases, fit, left_out
from models.ports import Embedder
from processors.retrieval.recall import weights as shipped
from processors.retrieval.recall.features import Feature

#: Shares of answers that a floor may lose; the trade-off is printed for each.
_LOST = (0.0, 0.005, chance.LOST, 0.015, 0.02, 0.03, 0.05)


async def run(folder: Path, test: Path | None, embedder: Embedder, *, writes: bool) -> None:
    """Fit, print what it is worth, and write it if asked to."""
    those = people(folder)
    asked = await cases(those, embedder, chance.unanswerable(those, folder.with_name("unanswerable.jsonl")))
    own = [each for each in asked if not each.kind]
    weights = fit(own)
    print(f"{len(those)} people, {len(own)} questions; left out: answered {left_out(own):.3f}")
    for name in FITTED:
        without = left_out(own, [other for other in FITTED if other != name])
        print(f"  {name:14} weight {weights[name].weight:6.3f}; without it answered {without:.3f}")
    rows = chance.judged(asked)
    apart = chance.left_out_odds(rows)
    for lost in _LOST:
        print(f"left out, {lost:.3f} lost: {chance.told(apart, lost)}")
    print(f"the same with few messages, {chance.LOST:.3f} lost: {chance.told(apart, chance.LOST, is_few=True)}")
    odds = chance.shifted(chance.fit_odds(rows), rows)
    if test is not None:
        others = await cases(people(test), embedder)
        known = [each for each in others if each.has_answer]
        print(
            f"{test}: answered {fmean(answered(each, weights) for each in known):.3f} without a floor", end="; "
        )
        print(f"nearest own turns alone {fmean(map(_nearest, known)):.3f}")
        print(f"{test}: {chance.line(chance.shares(odds, chance.judge(others, weights)))}")
    if writes:
        write(weights, odds)


def write(weights: Mapping[str, Feature], odds: chance.Odds) -> None:
    """Write the weights where the package has them."""
    path = Path(shipped.__file__)
    text = path.read_text(encoding="utf-8")
    features = {name: f"({', '.join(f'{value:.{DIGITS}f}' for value in weights[name])})" for name in FITTED}
    text = _replaced(text, "WEIGHTS", features)
    text = _replaced(text, "CHANCE", {name: f"{value:.{DIGITS}f}" for name, value in odds.by.items()})
    head, start, _ = text.partition("START: float = ")
    path.write_text(f"{head}{start}{odds.start}\n", encoding="utf-8")


def _replaced(text: str, name: str, rows: Mapping[str, str]) -> str:
    head, table, rest = text.partition(f"{name}: ")
    kind, _, rest = rest.partition("{\n")
    _, _, tail = rest.partition("}\n")
    made = "".join(f'    "{key}": {value},\n' for key, value in rows.items())
    return f"{head}{table}{kind}{{\n{made}}}\n{tail}"


def _nearest(case: Case) -> bool:
    own = [each for each in case.candidates if each.index is not None and each.role == "user"]
    return case.asked.is_answered_by(sorted(own, key=lambda each: -(each.cosine or 0.0))[:RESULTS])


async def _main(given: argparse.Namespace) -> None:
    from streams.llm.onnx_embedder import OnnxEmbedder

    embedder = OnnxEmbedder(threads=2, cache_size=20_000)
    await embedder.start()
    try:
        await run(given.people, given.test, embedder, writes=given.write)
    finally:
        await embedder.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality.recall.fitting")
    parser.add_argument("people", type=Path)
    parser.add_argument("--test", type=Path)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    if not given.people.is_dir():
        sys.exit(f"{given.people} is no folder: name one with people (benchmarks/notebook/people)")
    asyncio.run(_main(given))
