"""``python -m benchmarks.quality.recall FOLDER [--json FILE] [--cache FOLDER] [--only SET ...]``.

Fills a memory with the data sets in FOLDER by the project's own stages, in embedded indexes, asks it all
questions and prints which share of the evidence the first 5 and 10 distinct messages hold that the results
rest on, in order: of turns alone, facts alone and both, of BM25 and of cosines alone, and what was published.
LoCoMo counts categories 1 to 4 and BEAM all kinds but abstention; the others are questions that nothing
answers: how many come back empty, and what that costs of the others.

The shipped weights were fitted to none of these (:mod:`.fitting`).  ``--cache`` keeps vectors between runs.
``--sample N``: only the first N people of each set.  Exits 2 if no set is there.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.quality.recall import baselines
from benchmarks.quality.recall.measures import Outcome, distinct, figures, worst
from benchmarks.quality.recall.memory import Memory, opened
from benchmarks.quality.recall.sets import SETS, Person, load
from streams.stores.search import SearchType, Wanted

TYPES = (SearchType.TURNS, SearchType.FACTS, SearchType.BOTH)
_RESULTS = 30


async def measure(folder: Path, names: Sequence[str], cache: Path | None, sample: int) -> dict[str, Any]:
    """Return all figures."""
    sets = {name: people[: sample or None] for name, people in load(folder, names).items()}
    found: dict[str, Any] = {"sets": {}}
    outcomes: list[Outcome] = []
    began = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="switchboard-recall-") as place:
        async with opened(Path(place), cache and cache / "vectors.npz") as memory:
            for name, people in sets.items():
                started = time.perf_counter()
                for person in people:
                    await memory.remember(person.messages)
                asked = {kind: await ask(memory, name, people, kind) for kind in TYPES}
                ours = {str(kind): figures(outcomes_of) for kind, outcomes_of in asked.items()}
                both = asked[SearchType.BOTH]
                of: dict[str, Any] = {"ours": ours, "published": baselines.PUBLISHED.get(name, {})}
                outcomes += both
                of["bm25"] = figures(baselines.by_words(name, people))
                of["cosine"] = figures(await baselines.by_meaning(name, people, memory.embedder))
                of["seconds"] = time.perf_counter() - started
                found["sets"][name] = of
    found["worst"] = worst(outcomes)
    found["seconds"] = time.perf_counter() - began
    return found


async def ask(memory: Memory, name: str, people: Sequence[Person], kind: SearchType) -> list[Outcome]:
    """Ask all questions of a set."""
    found = []
    for person in people:
        for asked in person.questions:
            wanted = Wanted(query=asked.query, user_id=person.name, search_type=kind, limit=_RESULTS)
            results = await memory.search.search(wanted)
            found.append(Outcome(name, asked, distinct([each.message_ids for each in results])))
    return found


def _line(title: str, of: dict[str, Any]) -> str:
    more = "".join(
        f"  {said} {of[key]:.3f}"
        for key, said in (
            ("empty", "unanswerable ones empty"),
            ("newest_first", "newest value first"),
        )
        if key in of
    )
    return f"{title:34} {of['r5']:6.3f} {of['r10']:6.3f}{more}"


def table(found: dict[str, Any]) -> str:
    """Return the figures for people."""
    lines = [f"{'':34} {'R@5':>6} {'R@10':>6}"]

    for name, of in found["sets"].items():
        for kind, ours in of["ours"].items():
            lines.append(_line(f"{name}, ours, {kind}", ours))
        for other in ("bm25", "cosine"):
            if other in of:
                lines.append(_line(f"{name}, {other}", of[other]))
        for title, (five, ten) in of["published"].items():
            lines.append(_line(f"{name}, {title}, published", {"r5": five, "r10": ten}))
        ours = of["ours"]["both"]
        kinds = (f"{kind} {each['r5']:.2f}/{each['r10']:.2f}" for kind, each in ours["kinds"].items())
        if len(ours["kinds"]) <= 12:
            lines.append("    " + ", ".join(kinds))
        lines.append(f"    {of['seconds']:.0f} s")
    for each in found["worst"]:
        lines.append(
            f"worst: {each['kind']}, R@10 {each['r10']:.3f} of {each['questions']}: {', '.join(each['missed'])}"
        )
    lines.append(f"{found['seconds']:.0f} s")
    return "\n".join(lines)


def main(arguments: list[str]) -> int:
    """Measure what is there."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality.recall")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--only", nargs="*", choices=[*SETS], default=[*SETS])
    parser.add_argument("--sample", type=int, default=0)
    given = parser.parse_args(arguments)
    if not any((given.folder / SETS[name][0]).is_file() for name in given.only):
        files = ", ".join(SETS[name][0] for name in given.only)
        print(f"none of {files} is in {given.folder}", file=sys.stderr)
        return 2
    found = asyncio.run(measure(given.folder, given.only, given.cache, given.sample))
    print(table(found))
    if given.json:
        given.json.write_text(json.dumps(found, indent=2), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
