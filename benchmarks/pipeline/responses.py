"""The response filter: what a sentence costs, what waits in a stream, and chunks a second through the service.

``filter`` measures in this process: CPU time of each sentence as it streams in against fifty remembered ones,
and what a stream of pieces of four characters every 20 ms holds back.  ``fill COUNT`` sends chunks; ``service
COUNT`` processes them.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack
from itertools import cycle
from pathlib import Path

import msgspec
from aiokafka import AIOKafkaProducer

from benchmarks.pipeline.report import Stopwatch
from models.responses import ResponseChunk
from processors.responses.duplicates import find_duplicate
from processors.responses.filter import ResponseFilter
from processors.responses.filter_state import FilterPolicy, FilterState
from processors.responses.history import SeenElement
from processors.text.sentences import sentences
from streams.clients.catalog import catalog_for
from streams.config.settings import load_settings
from streams.runtime.service import ServiceRuntime
from streams.server.process.services import open_service
from streams.telemetry.health import HealthState
from streams.telemetry.metrics import Metrics

EXAMPLES = Path(__file__).parents[2] / "examples"

#: How a model streams: so many characters, so many seconds apart.
PIECE_CHARACTERS, PIECE_SECONDS = 4, 0.020

#: Messages that make up one response, a paragraph each; and the share of sentences that it says twice.
PARAGRAPHS = 12
REPEATED = 0.2

CONCURRENT = 500


def responses(repeated: float = REPEATED) -> list[str]:
    """Return lifelike responses: the example conversations, with some sentences said again later on."""
    chance = random.Random(0)
    said = [json.loads(line)["content"] for file in sorted(EXAMPLES.glob("*.jsonl")) for line in file.open()]
    texts = []
    for first in range(0, len(said) - PARAGRAPHS, PARAGRAPHS):
        paragraphs = said[first : first + PARAGRAPHS]
        for at, paragraph in enumerate(list(paragraphs)):
            for sentence in sentences(paragraph):
                if chance.random() < repeated:
                    paragraphs[chance.randrange(at, PARAGRAPHS)] += " " + sentence
        texts.append("\n\n".join(paragraphs))
    return texts


def pieces(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the text as a model streams it, and whether that is the end."""
    for at in range(0, len(text), PIECE_CHARACTERS):
        yield text[at : at + PIECE_CHARACTERS], at + PIECE_CHARACTERS >= len(text)


def sentence_seconds(texts: list[str]) -> tuple[list[float], list[float]]:
    """Return the CPU time of each sentence: of the comparison as a whole, and with those of all its pieces."""
    policy = FilterPolicy()
    said = [sentence for text in texts for sentence in sentences(text)]
    window = policy.window_sentences
    response_filter = ResponseFilter(policy)
    whole, streamed = [], []
    for at in range(window, len(said)):
        sentence, remembered = said[at], said[at - window : at]
        began = time.thread_time()
        find_duplicate(sentence, remembered, policy.threshold)
        complete = time.thread_time()
        state = FilterState(said=tuple(map(SeenElement, remembered)))
        for piece, final in pieces(sentence):
            state = response_filter.push(state, piece, 0.0, final=final).state
        whole.append(complete - began)
        streamed.append(time.thread_time() - complete)
    return whole, streamed


def held(texts: list[str]) -> dict[str, float]:
    """Return the share of visible characters held back in a stream, and for how long (seconds)."""
    waits: list[float] = []
    characters = duplicates = 0
    for text in texts:
        response_filter, state, left = ResponseFilter(), FilterState(), 0
        for number, (piece, final) in enumerate(pieces(text)):
            now = number * PIECE_SECONDS
            due = response_filter.wake_at(state)
            steps = [(due, "")] if due is not None and due <= now else []
            for moment, part in [*steps, (now, piece)]:
                if part:
                    step = response_filter.push(state, part, moment, final=final)
                else:
                    step = response_filter.tick(state, moment)
                state = step.state
                duplicates += sum(not each.kept for each in step.duplicates)
                # A character leaves, or is taken out, at the first step that is done with it.
                done = state.position + state.sent if state.held_since is None else state.held_at
                for place in range(left, done):
                    waited = moment - place // PIECE_CHARACTERS * PIECE_SECONDS
                    if waited > 0 and not text[place].isspace():
                        waits.append(waited)
                left = max(left, done)
        characters += sum(not character.isspace() for character in text)
    return {
        "share": len(waits) / characters,
        "p95": _percentiles(sorted(waits) or [0.0])["p95"],
        "mean": sum(waits) / characters,
        "longest": max(waits, default=0.0),
        "duplicates": duplicates,
    }


def measure_filter() -> None:
    """Print what the filter costs and holds back."""
    whole, streamed = (sorted(taken) for taken in sentence_seconds(responses()))
    figures = {
        "whole": _percentiles(whole),
        "streamed": _percentiles(streamed),
        "sentences": len(whole),
        "held": {"nothing repeated": held(responses(0.0)), "a fifth repeated": held(responses())},
    }
    print(json.dumps(figures))


def _percentiles(values: list[float]) -> dict[str, float]:
    return {f"p{p}": values[min(len(values) - 1, len(values) * p // 100)] for p in (50, 95, 99)}


def chunks() -> Iterator[tuple[bytes, bytes]]:
    """Yield (key, value) of chunks for ever, ``CONCURRENT`` responses taking turns."""
    texts = cycle(responses())
    encode = msgspec.json.Encoder().encode
    number = 0

    def response() -> Iterator[tuple[bytes, bytes]]:
        nonlocal number
        number += 1
        name = f"response-{number}"
        for sequence, (piece, final) in enumerate(pieces(next(texts))):
            chunk = ResponseChunk(
                response_id=name, conversation_id=name, sequence=sequence, text=piece, final=final
            )
            yield name.encode(), encode(chunk)

    going_on = [response() for _ in range(CONCURRENT)]
    while True:
        for at, stream in enumerate(going_on):
            chunk = next(stream, None)
            if chunk is None:
                going_on[at] = response()
            else:
                yield chunk


async def fill(count: int) -> None:
    """Send ``count`` chunks."""
    settings = load_settings()
    topic = catalog_for(settings).name("chat.response-chunks.v1")
    producer = AIOKafkaProducer(
        bootstrap_servers=settings.bootstrap_servers, acks="all", max_batch_size=500_000, linger_ms=20
    )
    await producer.start()
    try:
        for (key, value), _ in zip(chunks(), range(count), strict=False):
            await producer.send(topic, value, key)
        await producer.flush()
    finally:
        await producer.stop()
    print(json.dumps({"chunks": count}))


async def serve(count: int) -> None:
    """Process ``count`` chunks in the respond service, then report."""
    settings = load_settings()
    metrics, health = Metrics(), HealthState(60)
    service = await open_service("respond", settings, metrics, AsyncExitStack())
    runtime = ServiceRuntime(
        "respond",
        service.stages,
        settings=settings,
        catalog=catalog_for(settings),
        metrics=metrics,
        health=health,
    )
    await runtime.start()
    records = metrics.records_total.labels("respond", "responses", "chat.response-chunks.v1")
    watch, seen = Stopwatch(count), 0
    while watch.records < count and not runtime.failed.is_set():
        await asyncio.sleep(0.005)
        now = int(records._value.get())
        watch.add(now - seen)
        seen = now
    await runtime.drain(runtime.consumer.epoch)
    watch.report()
    await runtime.stop()
    if runtime.failure is not None:
        raise runtime.failure


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["filter"]:
            measure_filter()
        case ["fill", count]:
            asyncio.run(fill(int(count)))
        case ["service", count]:
            asyncio.run(serve(int(count)))
        case _:
            raise SystemExit(__doc__)
