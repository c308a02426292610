"""How long a search takes: ``python -m benchmarks.quality.recall.scale [--sizes N ...] [--askers N ...]``.

Facts and turns, half of each, of people who have 1,000 of them, and of one person who has all of ``--one``, in
embedded indexes and a Valkey; questions that were never asked before, by the real embedder, answered by the
real search.  For each size and number of askers: the median and the 95th percentile, the processor's time for
each search, and the longest that the event loop stood still.  And what learning takes about a person of so many
facts.
``--folder``: where the indexes are kept for the next time (the log is filled each time).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.pipeline import one_person
from benchmarks.quality.recall.memory import opened
from models import ids
from models.facts import Fact, FactChange, FactStatus
from models.index import FactIndex
from models.messages import Role
from models.statements import Kind
from models.turns import Turn, TurnSource
from streams.server.process.life import tune_garbage_collection
from streams.stores.conversation_log import ConversationLog
from streams.stores.search import MemorySearch, TurnIndex, Wanted

_EACH, _BATCH, _SEARCHES = 1_000, 500, 200
_NAMES = """
    garden bicycle coffee deadline violin harbour invoice recipe mountain painting dentist sister meeting
    ticket library soup train window battery contract holiday forest printer jacket lesson bridge market
"""
_WORDS = _NAMES.split()
_BEGAN = datetime(2026, 1, 1, tzinfo=UTC)

#: Every question has words that only ask: what it is about is embedded.
_ASKED = ("what about {}?", "Can you remind me what I said about {}?")


class Took(NamedTuple):
    """Seconds of the searches: median, 95th percentile, and of the processor for each; and the longest that the
    event loop stood still.
    """

    median: float
    p95: float
    cpu: float
    blocked: float


def sentence(chance: random.Random, words: int) -> str:
    """Return so many drawn words."""
    return " ".join(chance.choice(_WORDS) + str(chance.randrange(40)) for _ in range(words))


def _fact(number: int, person: str, chance: random.Random) -> Fact:
    text, now = f"likes {sentence(chance, 3)}", datetime.now(UTC)
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
        text=sentence(chance, 20),
        sent_at=at,
        arrived_at=at,
        began_at=_BEGAN,
        index=number % 200,
        source=TurnSource(topic="chat.messages.v1", partition=0, offset=number),
    )


async def fill(
    facts_index: FactIndex,
    turns_index: TurnIndex,
    size: int,
    one: bool,
    chance: random.Random,
    log: ConversationLog | None = None,
) -> list[str]:
    """Store so many facts and turns, with vectors that are drawn; return whose they are.

    Indexes that hold something hold all of it: then only the log is filled.
    """
    drawn = np.random.default_rng(chance.randrange(2**32))
    people = [f"p{at}" for at in range(1 if one else max(1, size // _EACH))]
    is_new = not await facts_index.count()
    for start in range(0, size // 2, _BATCH):
        numbers = range(start, min(start + _BATCH, size // 2))
        facts = [_fact(number, people[number % len(people)], chance) for number in numbers]
        turns = [_turn(number // len(people), people[number % len(people)], chance) for number in numbers]
        if log is not None:
            await log.write((turn, turn.source.offset) for turn in turns)
        if not is_new:
            continue
        await facts_index.upsert(facts)
        await turns_index.upsert(turns)
        for index, names in (
            (facts_index, [fact.fact_id for fact in facts]),
            (turns_index, [turn.turn_id for turn in turns]),
        ):
            vectors = drawn.standard_normal((len(names), index.space.dimensions), dtype=np.float32)
            await index.store_vectors(names, vectors, index.space.model)
    return people


async def time_searches(
    search: MemorySearch, people: Sequence[str], askers: int, chance: random.Random, count: int
) -> Took:
    """Search in so many loops at once."""
    seconds: list[float] = []
    left, longest = iter(range(count)), 0.0

    async def ask() -> None:
        for _ in left:
            query = chance.choice(_ASKED).format(sentence(chance, 4))
            wanted = Wanted(query=query, user_id=chance.choice(people))
            began = time.perf_counter()
            await search.search(wanted)
            seconds.append(time.perf_counter() - began)

    async def watch() -> None:
        nonlocal longest
        while True:
            before = time.perf_counter()
            await asyncio.sleep(0.001)
            longest = max(longest, time.perf_counter() - before - 0.001)

    watching, spent = asyncio.create_task(watch()), time.process_time()
    await asyncio.gather(*(ask() for _ in range(askers)))
    watching.cancel()
    cpu = (time.process_time() - spent) / count
    return Took(float(np.median(seconds)), float(np.quantile(seconds, 0.95)), cpu, longest)


async def measure(
    sizes: Sequence[int], askers: Sequence[int], one: int, count: int, folder: Path
) -> dict[str, Any]:
    """Return the latency by size and number of askers; ``one``: facts and turns of a single person, 0: none."""
    found: dict[str, Any] = {}
    for size, is_one in [*((size, False) for size in sizes), *([(one, True)] if one else [])]:
        chance, name = random.Random(size), "one person" if is_one else str(size)
        async with opened(folder / f"{size}{'-one' if is_one else ''}") as memory:
            people = await fill(memory.facts, memory.turns, size, is_one, chance, memory.log)
            await time_searches(memory.search, people, 1, chance, count // 4)  # loads what is loaded once
            of = found.setdefault(name, {})
            for number in askers:
                took = await time_searches(memory.search, people, number, chance, count)
                of[str(number)] = took._asdict()
                _tell(
                    f"{size:>7,} facts and turns{' of one person' if is_one else ''}, {number:>2} at once: "
                    + ", ".join(f"{what} {seconds * 1e3:.1f} ms" for what, seconds in took._asdict().items())
                )
    if one:
        learning = one_person.measure(one // 2)._asdict()
        found["learning"] = learning
        _tell(
            f"beside {one // 2:,} facts: "
            + ", ".join(f"one more {what} {seconds * 1e3:.2f} ms" for what, seconds in learning.items())
        )
    return found


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def main(arguments: list[str]) -> int:
    """Measure."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality.recall.scale")
    parser.add_argument("--sizes", type=int, nargs="*", default=[1_000, 10_000, 100_000])
    parser.add_argument("--askers", type=int, nargs="+", default=[1, 8, 32])
    parser.add_argument("--one", type=int, default=100_000, help="facts and turns of one person (0: none)")
    parser.add_argument("--searches", type=int, default=_SEARCHES, help="of each size and number of askers")
    parser.add_argument("--folder", type=Path, help="where the indexes are kept for the next time")
    given = parser.parse_args(arguments)
    tune_garbage_collection()  # as every service does
    with tempfile.TemporaryDirectory(prefix="switchboard-scale-") as temporary:
        folder = given.folder or Path(temporary)
        found = asyncio.run(measure(given.sizes, given.askers, given.one, given.searches, folder))
    print(json.dumps(found))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
