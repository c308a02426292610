"""Print the Notebook's table of the recorded answers beside the built-in extractor's, without a broker.

``python -m benchmarks.notebook.beside``: the people of ``dev/`` go through the stages of
:mod:`.stepped` twice; ``score.py`` counts the facts of both.  What it says of contexts and of searches needs a
running system: ``python -m benchmarks.notebook --recorded``.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.notebook import score
from benchmarks.notebook.labels import HERE, Person, people
from benchmarks.notebook.recorded import recordings
from benchmarks.notebook.replaying import Replay, replaying
from benchmarks.notebook.stepped import SteppedMemory
from streams.llm.builtin_extractor import BuiltinExtractor
from streams.llm.onnx_embedder import OnnxEmbedder
from streams.llm.onnx_reader import OnnxReader
from streams.telemetry.metrics import Metrics

#: The rows of ``score.py`` that facts decide about, and what they count.
ROWS: Mapping[str, str] = {
    "kept_3": "notes that must not be forgotten, kept",
    "kept_2": "notes worth having, kept",
    "kept_1": "notes nice to have, kept",
    "ended_right": "ended notes that do not stand as if they held",
    "ended_told": "… of whose own sentences none stands so",
    "ended_known": "ended notes that are known with their end",
    "noise": "facts from what is no note (lower is better)",
    "unasked": "facts that no note asks for (read them)",
}

Scores = dict[str, Any]


async def by_recordings(person: Person, embedder: OnnxEmbedder) -> Scores:
    """Score a person whose windows a model reads as recorded; ``dropped``: what checks left out, by why."""
    metrics, replay = Metrics(), Replay(each for _, each in recordings())
    with tempfile.TemporaryDirectory(prefix="notebook-") as folder:
        async with (
            SteppedMemory(Path(folder), embedder) as memory,
            replaying(replay, embedder, memory.known, metrics) as extractor,
        ):
            memory.read_by(extractor)
            found = await _score(person, memory)
    dropped = {
        each.labels["reason"]: int(each.value)
        for family in metrics.registry.collect()
        for each in family.samples
        if each.name.endswith("statements_dropped_total")
    }
    return found | {"dropped": dropped, "missed": replay.missed}


async def by_builtin(person: Person, embedder: OnnxEmbedder) -> Scores:
    """Score a person whose windows the built-in extractor reads."""
    with tempfile.TemporaryDirectory(prefix="notebook-") as folder:
        async with SteppedMemory(Path(folder), embedder) as memory:
            memory.read_by(BuiltinExtractor(OnnxReader()))
            return await _score(person, memory)


def total(scores: Sequence[Scores], row: str) -> tuple[int, int]:
    """Return how many of how many a row counts of all people."""
    return sum(each[row][0] for each in scores), sum(each[row][1] for each in scores)


async def _score(person: Person, memory: SteppedMemory) -> Scores:
    await memory.feed(person)
    facts = {status: await memory.facts(person["person"], status) for status in ("active", "any")}

    def api(method: str, path: str, body: Any = None, **query: Any) -> dict[str, Any]:
        return {"facts": facts[query["status"]]} if path == "/v1/facts" else {"results": []}

    count: Callable[..., Scores] = score.score
    return count(api, person, "", {})


async def _compare(given: Iterable[Person]) -> None:
    embedder = OnnxEmbedder()
    recorded: list[Scores] = []
    builtin: list[Scores] = []
    for person in given:
        recorded.append(await by_recordings(person, embedder))
        builtin.append(await by_builtin(person, embedder))
        print(f"{person['person']}: {len(recorded[-1]['missed'])} windows without a recording", flush=True)
    await embedder.close()
    print(f"{'':12} {'built-in':>17} {'recorded':>17}")
    for row, words in ROWS.items():
        figures = []
        for scores in (builtin, recorded):
            found, of = total(scores, row)
            figures.append(f"{found:4} of {of:4} {found / max(1, of):6.3f}")
        print(f"{row:12} {figures[0]} {figures[1]}  {words}")
    dropped: Counter[str] = Counter()
    for each in recorded:
        dropped.update(each["dropped"])
    print(f"notes of recordings that a check left out: {dict(dropped)}")


def main() -> None:
    """Entry point of ``python -m benchmarks.notebook.beside``."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.notebook.beside", description=__doc__.split("\n")[0]
    )
    parser.add_argument("people", nargs="*", type=Path, help="files (default: dev/)")
    files = parser.parse_args().people
    given = [json.loads(file.read_text(encoding="utf-8")) for file in files] or people(HERE / "dev")
    asyncio.run(_compare(given))


if __name__ == "__main__":
    main()
