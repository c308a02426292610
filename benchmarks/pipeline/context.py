"""How long after its request a context is made, and how long reading it takes.

``python -m benchmarks.pipeline.context [--facts N] [--turns N] [--rounds N]``, with the real embedder, indexes
and Valkey: one turn at a time; with the embedder busy; and requests of many conversations at once, as the stage
takes them from a backlog.  The two hops through the broker (request, context) are not in it: a worker observes
them in ``switchboard_context_seconds``.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import tempfile
import time
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path

from models import ids
from models.context import ContextRequest
from models.facts import Fact, FactChange, FactStatus
from models.index import VectorSpace
from models.messages import Role
from models.statements import Kind
from models.turns import Turn, TurnSource
from streams.agents.contexts.making import ContextMaker
from streams.agents.vectors.queue import VectorQueue
from streams.config.settings import Settings
from streams.llm.onnx_embedder import OnnxEmbedder
from streams.llm.tokenizer import cl100k_counter
from streams.queries.contexts.reading import ContextReader
from streams.stores.index_factory import open_index
from streams.stores.log_factory import open_views
from streams.stores.qdrant_kinds import FACTS, TURNS

_THINGS = (
    "tea",
    "sailing",
    "old maps",
    "the cello",
    "running",
    "sourdough",
    "chess",
    "gardens",
    "trains",
    "bees",
)
_NOW = datetime.now(UTC)


def _text(number: int) -> str:
    thing, other = _THINGS[number % 10], _THINGS[number // 10 % 10]
    return f"Number {number}: the morning went by with {thing}, the evening with {other}, week {number % 53}."


def _turn(number: int, text: str, conversation: str = "old") -> Turn:
    at = _NOW - timedelta(minutes=number)
    return Turn(
        turn_id=ids.turn_id("default", conversation, f"m{number}"),
        message_id=f"m{number}",
        conversation_id=conversation,
        user_id="ada",
        role=Role.USER,
        text=text,
        sent_at=at,
        arrived_at=at,
        began_at=_NOW,
        index=number,
        source=TurnSource(topic="chat.messages.v1", partition=0, offset=number),
    )


def _fact(number: int) -> Fact:
    said = f"Likes {_THINGS[number % 10]} in week {number % 53}, number {number}"
    return Fact(
        fact_id=ids.text_fact_id("default", "ada", said),
        slot_id=ids.slot_id("default", "ada", "", ""),
        user_id="ada",
        kind=Kind.INSTRUCTION if number % 200 == 0 else Kind.PREFERENCE,
        statement=said,
        confidence=0.9,
        status=FactStatus.ACTIVE,
        change=FactChange.CREATED,
        version=1,
        evidence_count=1,
        provenance=(),
        valid_from=_NOW,
        learned_at=_NOW,
        changed_at=_NOW,
        last_evidence_at=_NOW,
    )


def _request(conversation: str, index: int, text: str) -> ContextRequest:
    return ContextRequest(turns=(_turn(index, text, conversation),), conversation_id=conversation)


def _percentiles(seconds: list[float]) -> dict[str, float]:
    cuts = statistics.quantiles(seconds, n=100)
    return {"p50_ms": round(cuts[49] * 1e3, 2), "p95_ms": round(cuts[94] * 1e3, 2), "n": len(seconds)}


async def measure(folder: Path, facts: int, turns: int, rounds: int) -> dict[str, dict[str, float]]:
    """Return percentiles of making and reading, at one and under load."""
    async with AsyncExitStack() as resources:
        embedder = OnnxEmbedder()
        resources.push_async_callback(embedder.close)
        space = VectorSpace(embedder.model, embedder.dimensions)
        settings = Settings(data_dir=folder)
        known, said = open_index(settings, FACTS, space), open_index(settings, TURNS, space)
        resources.push_async_callback(known.close)
        resources.push_async_callback(said.close)
        log, contexts, *_ = open_views(settings, resources)
        queue = VectorQueue(embedder)
        resources.push_async_callback(queue.close)
        some_facts, some_turns = [_fact(n) for n in range(facts)], [_turn(n, _text(n)) for n in range(turns)]
        await known.upsert(some_facts)
        await said.upsert(some_turns)
        vectors = await embedder.embed([each.statement for each in some_facts])
        await known.store_vectors([each.fact_id for each in some_facts], vectors, embedder.model)
        vectors = await embedder.embed([each.text for each in some_turns])
        await said.store_vectors([each.turn_id for each in some_turns], vectors, embedder.model)
        maker = ContextMaker(known, said, queue, log, cl100k_counter())
        patience = settings.context_patience_ms / 1000
        reader = ContextReader(contexts, log, known, cl100k_counter())

        async def one(name: str, number: int) -> tuple[float, bool]:
            request = _request(
                name, number % 7, f"Shall I go for {_THINGS[number % 10]} tomorrow, plan {number}?"
            )
            began = time.perf_counter()
            (made,) = await maker.make([request], patience)
            assert made is not None
            took = time.perf_counter() - began
            await log.write([(request.turns[-1], number)])
            await contexts.write([made])
            return took, made.by_meaning

        await one("warm", 0)
        alone = [await one("c", number) for number in range(rounds)]
        reading = []
        for _ in range(rounds * 5):
            began = time.perf_counter()
            await reader.read("default", "ada", "c")
            reading.append(time.perf_counter() - began)

        async def busy() -> None:
            number = 10**6
            while True:
                number += 32
                await embedder.embed([_text(number + each) for each in range(32)])

        others = [asyncio.create_task(busy()) for _ in range(2)]
        loaded = [await one("d", 10**5 + number) for number in range(rounds)]
        began = time.perf_counter()
        batch = [_request(f"b{number}", 0, _text(2 * 10**6 + number)) for number in range(256)]
        made = await maker.make(batch, patience)
        took = time.perf_counter() - began
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        return {
            "one at a time": _percentiles([s for s, _ in alone])
            | {"by_meaning": statistics.mean(b for _, b in alone)},
            "embedder busy": _percentiles([s for s, _ in loaded])
            | {"by_meaning": statistics.mean(b for _, b in loaded)},
            "256 conversations at once": {
                "seconds": round(took, 2),
                "contexts_per_second": round(256 / took),
                "by_meaning": statistics.mean(each is not None and each.by_meaning for each in made),
            },
            "reading": _percentiles(reading),
        }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pipeline.context", description=__doc__)
    parser.add_argument("--facts", type=int, default=1000)
    parser.add_argument("--turns", type=int, default=5000)
    parser.add_argument("--rounds", type=int, default=200)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="switchboard-context-") as folder:
        figures = asyncio.run(measure(Path(folder), given.facts, given.turns, given.rounds))
    print(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
