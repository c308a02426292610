"""How long a search takes: ``python -m benchmarks.quality.recall.scale [--sizes N ...] [--askers N ...]``.

Facts and turns, half of each, of people who have 1,000 of them (``--one``: all of one person), in embedded
indexes; queries that were never asked before, by the real embedder, answered by the real search without the
log of conversations.  Prints the median and the 95th percentile for each size and number of askers, and the
longest that the event loop stood still.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np

from benchmarks.quality.recall.memory import Memory, opened
from models import ids
from models.facts import Fact, FactChange, FactStatus
from models.messages import Role
from models.statements import Kind
from models.turns import Turn, TurnSource
from streams.search import MemorySearch, Wanted

_EACH, _BATCH, _SEARCHES = 1_000, 1_000, 200
_WORDS = [
    "garden",
    "bicycle",
    "coffee",
    "deadline",
    "violin",
    "harbour",
    "invoice",
    "recipe",
    "mountain",
    "painting",
    "dentist",
    "sister",
    "meeting",
    "ticket",
    "library",
    "soup",
    "train",
    "window",
    "battery",
    "contract",
    "holiday",
    "forest",
    "printer",
    "jacket",
    "lesson",
    "bridge",
    "market",
]
_BEGAN = datetime(2026, 1, 1, tzinfo=UTC)


class Took(NamedTuple):
    """Seconds of the searches: median, 95th percentile; and the longest that the event loop stood still."""

    median: float
    p95: float
    blocked: float


def _sentence(chance: random.Random, words: int) -> str:
    return " ".join(chance.choice(_WORDS) + str(chance.randrange(40)) for _ in range(words))


def _fact(number: int, person: str, chance: random.Random) -> Fact:
    text, now = f"likes {_sentence(chance, 3)}", datetime.now(UTC)
    return Fact(
        fact_id=ids.text_fact_id("default", person, f"{text} {number}"),
        slot_id=ids.slot_id("default", person, "user", "like"),
        user_id=person,
        kind=Kind.PREFERENCE,
        statement=text,
        confidence=0.8,
        status=FactStatus.ACTIVE,
        change=FactChange.CREATED,
        version=1,
        evidence_count=1,
        provenance=(),
        valid_from=now,
        learned_at=now,
        changed_at=now,
        last_evidence_at=now,
    )


def _turn(number: int, person: str, chance: random.Random) -> Turn:
    at = _BEGAN + timedelta(minutes=number)
    return Turn(
        turn_id=ids.turn_id("default", person, f"m{number}"),
        message_id=f"m{number}",
        conversation_id=f"{person}-{number // 200}",
        user_id=person,
        role=Role.ASSISTANT if number % 2 else Role.USER,
        text=_sentence(chance, 20),
        sent_at=at,
        arrived_at=at,
        began_at=_BEGAN,
        index=number % 200,
        source=TurnSource(topic="chat.messages.v1", partition=0, offset=number),
    )


async def fill(memory: Memory, size: int, one: bool, chance: random.Random) -> list[str]:
    """Store so many facts and turns, with vectors that are drawn; return whose they are."""
    model, dimensions = memory.embedder.model, memory.embedder.dimensions
    drawn = np.random.default_rng(chance.randrange(2**32))
    people = [f"p{at}" for at in range(1 if one else max(1, size // _EACH))]
    for start in range(0, size // 2, _BATCH):
        numbers = range(start, min(start + _BATCH, size // 2))
        facts = [_fact(number, people[number % len(people)], chance) for number in numbers]
        turns = [_turn(number // len(people), people[number % len(people)], chance) for number in numbers]
        await memory.facts.upsert(facts)
        await memory.turns.upsert(turns)
        for index, names in (
            (memory.facts, [fact.fact_id for fact in facts]),
            (memory.turns, [turn.turn_id for turn in turns]),
        ):
            vectors = drawn.standard_normal((len(names), dimensions), dtype=np.float32)
            await index.store_vectors(names, vectors, model)
    return people


async def time_searches(
    search: MemorySearch, people: Sequence[str], askers: int, chance: random.Random
) -> Took:
    """Search in so many loops at once."""
    seconds: list[float] = []
    left, longest = count(), 0.0

    async def ask() -> None:
        while next(left) < _SEARCHES:
            wanted = Wanted(query=f"what about {_sentence(chance, 4)}?", user_id=chance.choice(people))
            began = time.perf_counter()
            await search.search(wanted)
            seconds.append(time.perf_counter() - began)

    async def watch() -> None:
        nonlocal longest
        while True:
            before = time.perf_counter()
            await asyncio.sleep(0.001)
            longest = max(longest, time.perf_counter() - before - 0.001)

    watching = asyncio.create_task(watch())
    await asyncio.gather(*(ask() for _ in range(askers)))
    watching.cancel()
    return Took(float(np.median(seconds)), float(np.quantile(seconds, 0.95)), longest)


async def measure(sizes: Sequence[int], askers: Sequence[int], one: bool) -> dict[str, Took]:
    """Return what each size and number of askers took."""
    found = {}
    for size in sizes:
        chance = random.Random(size)
        with tempfile.TemporaryDirectory(prefix="switchboard-scale-") as folder:
            async with opened(Path(folder)) as memory:
                people = await fill(memory, size, one, chance)
                search = MemorySearch(memory.facts, memory.embedder, memory.turns)
                await time_searches(search, people, 1, chance)  # what is loaded with the first ones
                for number in askers:
                    took = await time_searches(search, people, number, chance)
                    found[f"{size} with {number}"] = took
                    print(
                        f"{size:>7,} facts and turns, {number:>2} at once: median {took.median * 1e3:6.1f} ms, "
                        f"p95 {took.p95 * 1e3:6.1f} ms, loop blocked {took.blocked * 1e3:5.1f} ms",
                        flush=True,
                    )
    return found


def main(arguments: list[str]) -> int:
    """Measure."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality.recall.scale")
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--askers", type=int, nargs="+", default=[1, 8, 32])
    parser.add_argument("--one", action="store_true")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args(arguments)
    found = asyncio.run(measure(given.sizes, given.askers, given.one))
    if given.json:
        given.json.write_bytes(msgspec.json.encode({name: took._asdict() for name, took in found.items()}))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
